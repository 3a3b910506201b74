"""`repro`: a folder that compiles one kernel of a root on both sides with nothing but Triton, fit for an issue tracker.

Steps: describe the case, write the kernel's IR without the folders of this machine, copy the modules that the script
needs, say in a README what it is, and run the script once, as whoever gets the folder will.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zl_bench
from zl_bench.analysis.prints import Unreadable, digest_of
from zl_bench.backends.vendors import hidden_cards
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.inside.zl_probe.offline.errors import TargetError
from zl_bench.inside.zl_probe.offline.targets import parse_target
from zl_bench.ir.location_paths import message_without_folders, paths_named, without_folders
from zl_bench.model import SIDES, Side
from zl_bench.running.environment import KNOB, LOGIN, PLACE, SECRET, UNSET
from zl_bench.running.switch import dropped_text
from zl_bench.workflow.judge import StageFingerprints, read_stage
from zl_bench.workflow.reproduce import CASE_FILE
from zl_bench.workflow.subject import KernelSide, Subject

PACKAGE = Path(zl_bench.__file__).parent
SCRIPT = "reproduce.py"
SHIPPED = (
    "__init__.py",
    "errors.py",
    "inside/__init__.py",
    "inside/zl_probe/__init__.py",
    "inside/zl_probe/passes.py",
    "inside/zl_probe/stages.py",
    "ir/__init__.py",
    "ir/amdgcn.py",
    "ir/diff.py",
    "ir/elf.py",
    "ir/fingerprint.py",
    "ir/llvm.py",
    "ir/mlir.py",
    "ir/mlir_tokens.py",
    "ir/mlir_values.py",
    "ir/ptx.py",
    "ir/stages.py",
    "ir/text.py",
    "ir/unreadable.py",
)
"""What the script imports, below this package."""


@dataclass(frozen=True)
class Repro:
    """A folder that was made. `left_out` are variables that named places of this machine, or secrets."""

    folder: Path
    left_out: tuple[str, ...]


def make_repro(subject: Subject, folder: Path) -> Repro:
    """Write the folder, which must be new or empty.

    Raises UsageError where a compile needs files of this machine, EnvironmentUnfit where the disk refuses or what was
    recorded can not be read.
    """
    sources = {side: _source(subject.sides[side]) for side in SIDES}
    names = _names(sources)
    given = {side: _variables(subject, side) for side in SIDES}
    left_out = tuple(sorted({name for side in SIDES for name, value in given[side].items() if not _told(name, value)}))
    case = _case(subject, names, {side: _only_told(given[side]) for side in SIDES})
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for side in SIDES:
            (folder / names[side]).write_text(sources[side], encoding="utf-8", errors="surrogateescape")
        (folder / CASE_FILE).write_text(json.dumps(case, indent=1) + "\n", encoding="utf-8")
        (folder / "README.md").write_text("\n".join(_readme(subject, case, left_out)) + "\n", encoding="utf-8")
        (folder / SCRIPT).write_bytes((PACKAGE / "workflow" / SCRIPT).read_bytes())
        for name in SHIPPED:
            target = folder / PACKAGE.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes((PACKAGE / name).read_bytes())
    except OSError as error:
        raise EnvironmentUnfit(f"{folder} could not be written: {error.strerror or error}.") from error
    return Repro(folder, left_out)


def run_script(subject: Subject, folder: Path, timeout: float) -> tuple[int, str]:
    """(exit status, what it printed) of the folder's script. Raises EnvironmentUnfit where it does not end."""
    interpreters = {side: str(subject.sides[side].interpreter) for side in SIDES}
    named = [word for side in SIDES for word in (f"--{side}", interpreters[side])]
    try:
        done = subprocess.run(
            [interpreters["before"], str(folder / SCRIPT), *named],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentUnfit(f"{folder / SCRIPT} was made, and could not be run here: {error}.") from error
    return done.returncode, done.stdout + done.stderr


def _source(side: KernelSide) -> str:
    content = read_stage(side.source)
    if isinstance(content, Unreadable):
        raise EnvironmentUnfit(f"The kernel's {side.made} can not be read: {content.message}. Nothing was written.")
    text = without_folders(content.decode("utf-8", "surrogateescape"))
    named = [*paths_named(text), *_paths_in(side.options)]
    if named:
        raise UsageError(
            f"The compile of {side.kernel.identity.name} needs {', '.join(named)}, which only this machine has, and a "
            "repro can not carry. Nothing was written."
        )
    return text


def _paths_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from (path for one in value.values() for path in _paths_in(one))
    elif isinstance(value, (list, tuple)):
        yield from (path for one in value for path in _paths_in(one))
    elif isinstance(value, str) and value.startswith("/"):
        yield value


def _names(sources: Mapping[Side, str]) -> dict[Side, str]:
    if sources["before"] == sources["after"]:
        return dict.fromkeys(SIDES, "kernel.mlir")
    return {side: f"kernel_{side}.mlir" for side in SIDES}


def _variables(subject: Subject, side: Side) -> dict[str, str | None]:
    """What a side is given beside what it inherits; None for what must be unset."""
    request = subject.request
    return {
        **dict.fromkeys(hidden_cards(subject.backend, subject.target), ""),
        **subject.backend.environment,
        **request.env,
        **(request.env_before if side == "before" else request.env_after),
        **subject.switch.variables(side),
    }


def _told(name: str, value: str | None) -> bool:
    """Whether others may read it, and can use it."""
    return value is None or not (value.startswith("/") or SECRET.search(name) or LOGIN.search(value))


def _only_told(variables: Mapping[str, str | None]) -> dict[str, str | None]:
    return {name: value for name, value in variables.items() if _told(name, value)}


def _case(
    subject: Subject, names: Mapping[Side, str], variables: Mapping[Side, Mapping[str, str | None]]
) -> dict[str, Any]:
    try:
        target = parse_target(subject.target)
    except TargetError as error:
        raise UsageError(f"A repro for {subject.target} can not be made: {error}. Nothing was written.") from error
    prints = StageFingerprints()
    sides = {
        side: {
            "source": names[side],
            "options": subject.sides[side].options,
            "variables": variables[side],
            "drop_pass": subject.sides[side].dropped_pass,
            "triton": subject.sides[side].triton,
            "stages": _expected(subject.sides[side], prints),
            "failure": _failure(subject.sides[side]),
        }
        for side in SIDES
    }
    two_compilers = subject.switch.kind == "build"
    return {
        "kernel": subject.name,
        "target": subject.target,
        "backend": target.backend,
        "arch": target.arch,
        "warp_size": target.warp_size,
        "max_shared_mem": target.limits.max_shared_mem if target.limits is not None else None,
        "switch": "another build of the compiler" if two_compilers else subject.switch.text,
        "two_compilers": two_compilers,
        "made": subject.sides["before"].made,
        "last": subject.last,
        "ignored": {"names": list(UNSET), "pattern": KNOB.pattern, "but": PLACE.pattern},
        "sides": sides,
    }


def _expected(side: KernelSide, prints: StageFingerprints) -> dict[str, str]:
    """The fingerprint of each stage that was recorded of this side; none where it failed."""
    if side.failed is not None:
        return {}
    found = prints.of(side.kernel.stages)
    taken = ((stage.name, digest_of(found, stage.path)) for stage in side.kernel.stages)
    return {name: digest for name, digest in taken if digest is not None}


def _failure(side: KernelSide) -> dict[str, str] | None:
    if side.failed is None:
        return None
    return {"stage": side.failed.stage.partition(" (")[0], "message": message_without_folders(side.failed.message)}


def _readme(subject: Subject, case: Mapping[str, Any], left_out: tuple[str, ...]) -> Iterator[str]:
    yield f"# {subject.name} for {subject.target}: {case['switch']}"
    yield ""
    yield _what_it_shows(case["sides"])
    yield ""
    if case["two_compilers"]:
        yield "    python reproduce.py --before PYTHON --after PYTHON"
        yield ""
        yield "with the two Pythons that have the two compilers. Neither needs anything but Triton, nor a card."
    else:
        yield "    python reproduce.py"
        yield ""
        yield "with a Python that has Triton. Nothing else is needed, and no card."
    yield ""
    for side in SIDES:
        yield f"- {side}: {_what_a_side_is(case['sides'][side])}"
    yield ""
    yield "It compiles the kernel on both sides, each in a process of its own, says of every stage whether its fingerprint"
    yield "is the recorded one, and shows the difference of the first stage that differs. `case.json` has the options, the"
    yield "variables and the fingerprints. Machine code is compared where pyelftools is installed too."
    yield ""
    yield "It launches nothing: the grid and the arguments of the launch were not recorded."
    if left_out:
        yield ""
        yield (
            f"{', '.join(left_out)} had been set where this was recorded, to a place of that machine or a secret, and "
            "must be set by whoever runs this."
        )


def _what_it_shows(sides: Mapping[Side, Mapping[str, Any]]) -> str:
    failed = next((side for side in SIDES if sides[side]["failure"] is not None), None)
    if failed is not None:
        return f"The kernel compiles on one side of the switch and fails on the other, {failed}."
    before, after = (sides[side]["stages"] for side in SIDES)
    apart = [stage for stage in before if stage in after and before[stage] != after[stage]]
    if not apart:
        return "The recorded stages of the two sides are the same."
    return f"Of the recorded stages these differ between the sides: {', '.join(apart)}."


def _what_a_side_is(side: Mapping[str, Any]) -> str:
    parts = [f"Triton {side['triton'] or 'of a version that was not recorded'}"]
    parts += [f"{name} unset" if value is None else f"{name}={value}" for name, value in side["variables"].items()]
    drop = side["drop_pass"]
    if drop:
        parts.append(f"without the pass {dropped_text(drop)}")
    return ", ".join(parts)
