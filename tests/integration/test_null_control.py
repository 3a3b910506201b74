"""The null control over the whole built-in suite, between two checkouts of it, and a planted difference that is found."""

from __future__ import annotations

import shutil
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import NULL, Finished, events, table, zl_bench
from zl_bench.model import JudgedOperator, Verdict
from zl_bench.store.screened import load_operator
from zl_bench.suites import pytest_suite
from zl_bench.workflow.judge import judge_operator

BUILTIN = pytest_suite.BUILTIN
OPERATORS = pytest_suite.load("builtin").operators
ATEN = "aten_addcmul"
TARGETS = ("cuda:90", "hip:gfx942")

COLLECT_NOTHING = "ZL_TEST_COLLECT_NOTHING"
HOOK = f"""

def pytest_collection_modifyitems(items):
    import os

    if os.environ.get("{COLLECT_NOTHING}"):
        items.clear()
"""
"""In a copied suite's conftest.py: one side is enough to compare two checkouts, so the after side collects nothing."""


def check_out(folder: Path, *, blank_lines: bool = False) -> Path:
    """A copy of the built-in suite in `folder`, on request with a blank line above the first kernel of each file."""
    shutil.copytree(BUILTIN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    moved = 0
    for file in folder.glob("test_*.py"):
        text = file.read_text(encoding="utf-8")
        kernel = text.find("@triton.")
        if blank_lines and kernel >= 0:
            file.write_text(f"{text[:kernel]}\n{text[kernel:]}", encoding="utf-8")
            moved += 1
    assert moved == (len(OPERATORS) - 1 if blank_lines else 0), "every file but the aten operator's has a kernel"
    conftest = folder / "conftest.py"
    conftest.write_text(conftest.read_text(encoding="utf-8") + HOOK, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def screened(tmp_path_factory):
    """Null controls by suite folder (None: the built-in suite, both sides), target and stages, each made once."""

    @cache
    def screen(suite: Path | None, target: str, stages: str = "all") -> tuple[Finished, Path]:
        root = tmp_path_factory.mktemp("null") / "root"
        # A copy's after side is not needed, since the copies' before sides are compared: the switch there leaves it empty.
        same_compiler = ("--env", NULL.partition("..")[0])
        asked = (NULL,) if suite is None else (f"{COLLECT_NOTHING}=..1", "--force", "--suite", suite, *same_compiler)
        done = zl_bench("screen", "--target", target, "--stages", stages, "--root", root, "--switch", *asked)
        return done, root

    return screen


@pytest.fixture(scope="module")
def moved_checkout(tmp_path_factory):
    return check_out(tmp_path_factory.mktemp("elsewhere") / "a" / "deeper" / "kernels-2", blank_lines=True)


def judge_before_sides(first: Path, second: Path) -> dict[str, JudgedOperator]:
    """The before side of one root against the before side of another, operator by operator."""
    judged = {}
    for operator in OPERATORS:
        pairs = []
        for (one, _), (other, _) in zip(
            load_operator(first, operator, None).nodes, load_operator(second, operator, None).nodes, strict=True
        ):
            assert one.node == other.node
            pairs.append((one, other))
        judged[operator] = judge_operator(operator, None, pairs)
    return judged


def assert_no_difference(operator: str, verdict: str, machine_code: str, changed_rows: int, first_stage: str) -> None:
    expected = ("NO_KERNEL", "-") if operator == ATEN else ("NO_IR_DIFF", "same")
    assert (verdict, machine_code) == expected, operator
    assert changed_rows == 0, operator
    assert first_stage == "-", operator


@pytest.mark.parametrize("target", TARGETS)
def test_the_same_value_on_both_sides_changes_nothing_at_any_stage(screened, target):
    done, root = screened(None, target)
    assert done.code == 0, done.out + done.err
    assert "null control" in done.out
    rows = table(root)
    assert set(rows) == set(OPERATORS)
    for operator, row in rows.items():
        assert_no_difference(
            operator, row["verdict"], row["machine_code"], int(row["changed_rows"]), row["first_stage"]
        )
        assert row["status"] == "complete"
        assert int(row["rows"]) > 0


@pytest.mark.parametrize("target", TARGETS)
def test_both_sides_compiled_everything_themselves(screened, target):
    _, root = screened(None, target)
    for operator in OPERATORS:
        sides = {side: events(root / f"{operator}_{side}") for side in ("before", "after")}
        pids = {record["pid"] for side in sides.values() for record in side if record["event"] == "begin"}
        assert len(pids) == 2, "each side runs in a process of its own"
        for side in sides.values():
            compiles = [record for record in side if record["event"] == "compile"]
            kernels = [record for record in side if record["event"] == "kernel"]
            assert not any(record["cached"] for record in compiles), operator
            assert len(compiles) >= len(kernels), operator
            assert bool(compiles) == (operator != ATEN)


@pytest.mark.parametrize("target", TARGETS)
def test_another_folder_and_moved_lines_change_nothing(screened, moved_checkout, target):
    _, root = screened(None, target)
    _, other_root = screened(moved_checkout, target)
    for operator, judged in judge_before_sides(root, other_root).items():
        found = judged.verdict
        assert_no_difference(operator, found.verdict.value, found.machine_code, found.changed_rows, found.first_stage)
        assert found.rows == int(table(root)[operator]["rows"]), "every row has its partner"


def test_the_moved_lines_are_really_in_the_raw_files(screened, moved_checkout):
    """Otherwise the test above would pass without any normalisation."""
    roots = [screened(suite, "cuda:90")[1] for suite in (None, moved_checkout)]
    contents = [{file.read_bytes() for file in (root / "softmax_before" / "ir").glob("*.ttgir")} for root in roots]
    assert contents[0] and contents[1]
    assert not contents[0] & contents[1]


def test_one_changed_operation_in_one_kernel_is_found_and_nothing_else(screened, tmp_path):
    planted = check_out(tmp_path / "planted")
    file = planted / "test_vector_add.py"
    text = file.read_text(encoding="utf-8")
    assert text.count("x + y, mask") == 1
    file.write_text(text.replace("x + y, mask", "x - y, mask"), encoding="utf-8")
    _, root = screened(None, "cuda:90")
    _, planted_root = screened(planted, "cuda:90", "ttgir")
    judged = judge_before_sides(root, planted_root)
    changed = [operator for operator, found in judged.items() if found.verdict.verdict is Verdict.IR_CHANGED]
    assert changed == ["vector_add"]
    found = judged["vector_add"].verdict
    assert found.changed_rows == found.rows == int(table(root)["vector_add"]["rows"])
    assert found.first_stage == "ttir"
    others = {found.verdict.verdict for operator, found in judged.items() if operator not in ("vector_add", ATEN)}
    assert others == {Verdict.NO_IR_DIFF}
