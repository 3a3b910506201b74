"""The axis `build:`: two Tritons as the two sides, and one Triton installed twice.

The older one is that of this environment. Triton 3.9 is in the environment `triton-3.9` that
`python tools/environments.py triton-3.9` makes in `.envs/`, or in the folder that ZL_BENCH_ENVS names.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import Finished, events, table, zl_bench
from tests.ir.oracle import print_alike, print_all
from zl_bench.model import Kernel, Launch
from zl_bench.store.screened import load_operator
from zl_bench.suites import pytest_suite
from zl_bench.workflow.judge import judge_operator

pytestmark = pytest.mark.matrix
ENVIRONMENTS = Path(os.environ.get("ZL_BENCH_ENVS") or Path(__file__).resolve().parents[2] / ".envs")
OLD, NEW = "3.6.0", "3.9.0"
OPERATORS = pytest_suite.load("builtin").operators
ATEN = "aten_addcmul"
TARGET = "cuda:90"
PRINTED = ("ttir", "ttgir")
"""The stages that Triton's own printer can read back."""


def triton_of(python: Path) -> str:
    script = "import importlib.metadata as m; print(m.version('triton'))"
    return subprocess.run(
        [python, "-c", script], capture_output=True, text=True, check=False, timeout=60
    ).stdout.strip()


@pytest.fixture(scope="module")
def old() -> Path:
    if importlib.util.find_spec("triton") is None or importlib.metadata.version("triton") != OLD:
        pytest.skip(f"the tested environment does not have Triton {OLD}")
    return Path(sys.executable)


@pytest.fixture(scope="module")
def new() -> Path:
    python = ENVIRONMENTS / "triton-3.9" / "bin" / "python"
    if not python.exists():
        pytest.skip("environment triton-3.9 is not there: `python tools/environments.py triton-3.9` makes it")
    if triton_of(python) != NEW:
        pytest.skip(f"environment triton-3.9 does not have Triton {NEW}")
    return python


@pytest.fixture(scope="module")
def old_elsewhere(old: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of its own with a copy of Triton in another place; all else it borrows from this environment."""
    folder = tmp_path_factory.mktemp("second") / "another-environment"
    subprocess.run([old, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
    python = folder / "bin" / "python"
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    packages = Path(subprocess.run([python, "-c", script], check=True, capture_output=True, text=True).stdout.strip())
    spec = importlib.util.find_spec("triton")
    assert spec is not None and spec.origin is not None
    shutil.copytree(Path(spec.origin).parent, packages / "triton", copy_function=link_or_copy)
    # Behind the copy on the path, so that torch, too, finds the copied Triton.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return python


def link_or_copy(source: str, target: str) -> None:
    """A hard link where the file system allows it: a library has hundreds of megabytes."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


@pytest.fixture(scope="module")
def two_builds(old: Path, new: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    root = tmp_path_factory.mktemp("builds") / "root"
    return zl_bench("screen", "--switch", f"build:{old}..{new}", "--target", TARGET, "--root", root), root


@pytest.fixture(scope="module")
def one_build_twice(old: Path, old_elsewhere: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Finished, Path]:
    root = tmp_path_factory.mktemp("twice") / "root"
    switch = f"build:{old}..{old_elsewhere}"
    return zl_bench("screen", "--switch", switch, "--target", TARGET, "--root", root, "--force"), root


def begin(root: Path, operator: str, side: str) -> dict[str, dict[str, str]]:
    return next(event for event in events(root / f"{operator}_{side}") if event["event"] == "begin")


@cache
def launched_pairs(root: Path, operator: str) -> tuple[tuple[Kernel, Kernel, Launch], ...]:
    """The kernels that the two sides' rows launched, matched by position, with what was judged of each."""
    pairs: list[tuple[Kernel, Kernel, Launch]] = []
    loaded = load_operator(root, operator, None)
    judged = judge_operator(operator, None, loaded.nodes)
    for (before, after), node in zip(loaded.nodes, judged.nodes, strict=True):
        rows = [{row.key: row for row in run.rows} for run in (before, after)]
        for paired in node.paired:
            one, other = (side[paired.key].launches for side in rows)
            pairs += zip(one, other, paired.launches, strict=True)
    return tuple(pairs)


def test_two_builds_differ_with_the_first_stage_named(two_builds: tuple[Finished, Path]) -> None:
    done, root = two_builds
    assert done.code == 0, done.out + done.err
    rows = table(root)
    assert set(rows) == set(OPERATORS)
    for operator, row in rows.items():
        assert row["verdict"] in ({"NO_KERNEL"} if operator == ATEN else {"IR_CHANGED", "NO_IR_DIFF"}), row["reason"]
        assert row["status"] == "complete"
        if row["verdict"] == "IR_CHANGED":
            assert row["first_stage"] in PRINTED, operator
    assert [row["verdict"] for row in rows.values()].count("IR_CHANGED") > 0
    assert "is live" in done.out


def test_kernels_are_the_same_kernels_to_both_builds(two_builds: tuple[Finished, Path]) -> None:
    """Were an identity spelled differently by the two, every launch would look added or missing."""
    _, root = two_builds
    for operator in OPERATORS:
        for before, after, launch in launched_pairs(root, operator):
            assert launch.unmatched is None, (operator, before.identity, after.identity)
            assert before.identity == after.identity


def test_each_verdict_agrees_with_the_builds_own_printers(
    two_builds: tuple[Finished, Path], old: Path, new: Path
) -> None:
    """Each side's texts are printed without debug information by the Triton that made them, and compared as such."""
    _, root = two_builds
    pairs = [
        (operator, before.stage(name), after.stage(name), name, launch)
        for operator in OPERATORS
        for before, after, launch in launched_pairs(root, operator)
        for name in PRINTED
    ]
    assert len(pairs) >= 160
    printed = {
        **print_all({before.path for _, before, _, _, _ in pairs if before}, old),
        **print_all({after.path for _, _, after, _, _ in pairs if after}, new),
    }
    same = dict.fromkeys(OPERATORS, True)
    for operator, before, after, name, launch in pairs:
        assert before is not None and after is not None
        one, other = printed[before.path], printed[after.path]
        assert one and other, f"{before.path} or {after.path} is refused by the Triton that made it"
        alike = print_alike(one, other)
        assert alike == (name not in launch.changed_stages), (operator, name, before.path, after.path)
        same[operator] &= alike or name != "ttgir"
    for operator, row in table(root).items():
        assert (row["verdict"] != "IR_CHANGED") == same[operator], operator


def test_each_run_records_version_and_hash_of_its_native_library(two_builds: tuple[Finished, Path]) -> None:
    _, root = two_builds
    for side, version in (("before", OLD), ("after", NEW)):
        tritons = [begin(root, operator, side)["triton"] for operator in OPERATORS]
        assert {triton["version"] for triton in tritons} == {version}
        assert len({triton["library_sha256"] for triton in tritons}) == 1
        assert all(len(triton["library_sha256"]) == 64 for triton in tritons)
    before, after = (begin(root, OPERATORS[0], side)["triton"] for side in ("before", "after"))
    assert before["library_sha256"] != after["library_sha256"]


def test_one_library_in_two_places_is_refused_by_name(old: Path, old_elsewhere: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = zl_bench("screen", "--switch", f"build:{old}..{old_elsewhere}", "--target", TARGET, "--root", root)
    assert done.code == 4
    words = " ".join(done.err.split())
    assert "same native library" in words
    assert OLD in words
    assert str(old_elsewhere.parents[1]) in words
    assert "--force" in words
    assert not list(root.glob("*_before"))


def test_one_build_in_two_places_differs_in_nothing(
    one_build_twice: tuple[Finished, Path], old_elsewhere: Path
) -> None:
    done, root = one_build_twice
    assert done.code == 0, done.out + done.err
    assert "skip it" not in done.out  # the axis was not shown to be live
    for operator, row in table(root).items():
        expected = ("NO_KERNEL", "-") if operator == ATEN else ("NO_IR_DIFF", "same")
        assert (row["verdict"], row["machine_code"]) == expected, operator
        assert row["first_stage"] == "-"
        before, after = (begin(root, operator, side)["triton"] for side in ("before", "after"))
        assert before["path"] != after["path"]
        assert Path(after["path"]).is_relative_to(old_elsewhere.parents[1])
        assert before["library_sha256"] == after["library_sha256"]
