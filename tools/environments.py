"""Makes the extra environments in which the probe's tests run: other Tritons, other Pythons.

    python tools/environments.py [NAME…]        all of them without a name; run again, it makes only what is missing

Each becomes a virtual environment `.envs/NAME`. What can not be made here (no such interpreter, no wheel) is named with
the reason, and the tests that want it skip. Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / ".envs"
STAMP = "zl-environment.json"
TORCH = "torch==2.13.0"
TOOLS = ("pytest>=8", "setuptools")


@dataclass(frozen=True)
class Environment:
    """One environment: its interpreter's version and what pip installs. `torch` may be missing in the end."""

    name: str
    python: str
    triton: str
    torch: bool


NEWEST = "triton>=3.6,<3.10"
ENVIRONMENTS = (
    Environment("triton-3.1", "3.11", "triton==3.1.0", torch=True),
    Environment("triton-3.3", "3.11", "triton==3.3.1", torch=True),
    Environment("triton-3.6", "3.11", "triton==3.6.0", torch=True),
    Environment("triton-3.9", "3.11", "triton==3.9.0", torch=True),
    Environment("python-3.10", "3.10", NEWEST, torch=False),
    Environment("python-3.12", "3.12", NEWEST, torch=False),
    Environment("python-3.13", "3.13", NEWEST, torch=False),
)


class CanNotMake(Exception):
    """Why an environment can not be made on this machine."""


class NoInterpreter(CanNotMake):
    """The machine does not have that version of Python."""


def candidates(version: str) -> Iterator[Path]:
    """Interpreters that may be of that version: this one, those on PATH, those that pyenv has built."""
    yield Path(sys.executable)
    for name in (f"python{version}", "python3"):
        found = shutil.which(name)
        if found:
            yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)


def can_make_environments(interpreter: Path, version: str) -> bool:
    """Whether it starts (a shim may not), has that version, and can make an environment with pip."""
    script = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])"
    try:
        done = subprocess.run([interpreter, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == version


def find_interpreter(version: str) -> Path:
    """An interpreter of that version. Raises NoInterpreter."""
    for interpreter in candidates(version):
        if can_make_environments(interpreter, version):
            return interpreter
    raise NoInterpreter(f"there is no Python {version} on PATH or among pyenv's versions")


def run(command: list[str | Path]) -> None:
    """Run a command. Raises CanNotMake with its last words."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        telling = [line for line in words if line.startswith("ERROR:")]
        raise CanNotMake((telling or words)[-1])


def make(environment: Environment, folder: Path) -> list[str]:
    """Make one environment afresh and return what it has to do without. Raises CanNotMake."""
    interpreter = find_interpreter(environment.python)
    run([interpreter, "-m", "venv", "--clear", folder])
    install: list[str | Path] = [
        folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
    ]  # fmt: skip
    missing = []
    run([*install, *TOOLS])
    if environment.torch:
        try:
            run([*install, TORCH, "numpy"])
        except CanNotMake as error:
            missing.append(f"{TORCH} ({error})")
            run([*install, "numpy"])
    # After torch, which may bring a Triton of its own that this one replaces.
    run([*install, "--only-binary", "triton", environment.triton])
    stamp = {"recipe": asdict(environment), "missing": missing}
    (folder / STAMP).write_text(json.dumps(stamp, indent=1) + "\n", encoding="utf-8")
    return missing


def is_made(environment: Environment, folder: Path) -> bool:
    """Whether the folder holds this environment, finished by the same recipe."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return bool(stamp.get("recipe") == asdict(environment)) and (folder / "bin" / "python").exists()


def main(arguments: list[str] | None = None) -> int:
    """Make the environments and say of each what became of it; 1 when pip failed, 0 otherwise, skips included."""
    names = [environment.name for environment in ENVIRONMENTS]
    parser = argparse.ArgumentParser(description="Make the extra environments in which the probe's tests run.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(names)} (default: all)")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where they are made (default: %(default)s)")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.names if name not in names]
    if unknown:
        parser.error(f"there is no environment {unknown[0]!r}; there are {', '.join(names)}")
    failed = False
    for environment in ENVIRONMENTS:
        if given.names and environment.name not in given.names:
            continue
        folder = given.folder / environment.name
        if is_made(environment, folder):
            outcome = "is there"
        else:
            try:
                missing = make(environment, folder)
                outcome = f"made, without {' and '.join(missing)}" if missing else "made"
            except CanNotMake as error:
                failed = failed or not isinstance(error, NoInterpreter)
                outcome = f"skipped: {error}"
                shutil.rmtree(folder, ignore_errors=True)
        print(f"{environment.name}: {outcome}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
