"""The probe's own tests under other Pythons and other Tritons.

`python tools/environments.py` makes the environments in `.envs/`; one that is not there is skipped by name. To use
environments of your own, name a folder of virtual environments in ZL_BENCH_ENVS: every `<folder>/<name>/bin/python` in it
that has pytest and triton is used instead.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.matrix
PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 560
"""Seconds for one environment; it takes two to three minutes beside another one."""


def environments_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("zl_bench_environments", PROJECT / "tools" / "environments.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


TOOL = environments_tool()
OWN_FOLDER = os.environ.get("ZL_BENCH_ENVS")
FOLDER = Path(OWN_FOLDER) if OWN_FOLDER else TOOL.FOLDER
NAMES = (
    sorted(path.parents[1].name for path in FOLDER.glob("*/bin/python"))
    if OWN_FOLDER
    else [environment.name for environment in TOOL.ENVIRONMENTS]
)


def has_module(python: Path, name: str) -> bool:
    script = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({name!r}) is None)"
    return subprocess.run([python, "-c", script], check=False, timeout=60).returncode == 0


def own_environment() -> str:
    """The name that this interpreter's Triton would have among the environments; it counts only with the same Python."""
    same_python = sys.version_info[:2] == (3, 11)
    try:
        version = importlib.metadata.version("triton")
    except importlib.metadata.PackageNotFoundError:
        return ""
    return f"triton-{'.'.join(version.split('.')[:2])}" if same_python and not OWN_FOLDER else ""


def why_not(name: str) -> str:
    """Why the probe's tests can not, or need not, run in that environment; empty if they are to."""
    python = interpreter(name)
    if name == own_environment():
        return f"this interpreter is like {name} itself: tests/probe runs in it as it is"
    if not python.exists():
        return f"environment {name} is not there: `python tools/environments.py {name}` makes it or says why not"
    missing = [module for module in ("pytest", "triton") if not has_module(python, module)]
    return f"environment {name} has no {' and no '.join(missing)}" if missing else ""


def interpreter(name: str) -> Path:
    return FOLDER / name / "bin" / "python"


def run_probe_tests(name: str) -> subprocess.CompletedProcess[str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "PYTHON", "TRITON_"))}
    return subprocess.run(
        [
            interpreter(name),
            "-m",
            "pytest",
            "-c",
            "tests/probe/pytest.ini",
            "-p",
            "no:cacheprovider",
            "-rs",
            "tests/probe",
        ],
        cwd=PROJECT,
        env={**kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[dict[str, Future[subprocess.CompletedProcess[str]]]]:
    """Of the environments that were selected, as many at a time as there are cores: each keeps one busy."""
    functions = [item for item in request.session.items if item.path == request.path]
    chosen = [item.callspec.params["name"] for item in functions]  # type: ignore[attr-defined]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield {name: pool.submit(run_probe_tests, name) for name in chosen if not why_not(name)}


@pytest.mark.parametrize("name", NAMES)
def test_the_probe_s_tests_pass(name: str, runs: dict[str, Future[subprocess.CompletedProcess[str]]]) -> None:
    reason = why_not(name)
    if reason:
        pytest.skip(reason)
    done = runs[name].result()
    print(f"{name}:\n{done.stdout[-6000:]}")  # with the reasons of its skips, for `pytest -rP` and failures
    assert done.returncode == 0, done.stderr[-2000:]
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) > 100
    if has_module(interpreter(name), "torch"):
        assert "needs torch" not in done.stdout
