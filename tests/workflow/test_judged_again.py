"""What became of a finished screen's files is never told as a verdict: the recorded one stays, and what is lost is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.test_show import CHANGED, TTGIR, make_run
from tests.store.test_request import REQUEST
from zl_bench.errors import UsageError
from zl_bench.model import Kernel, KernelIdentity, ProcessOutcome, StageText
from zl_bench.store.replays import Replayed
from zl_bench.store.request import write_request
from zl_bench.store.runs import write_outcome
from zl_bench.store.screen import ScreenRecord
from zl_bench.store.screened import load_operator
from zl_bench.workflow.judge import StageFingerprints, judge_operator
from zl_bench.workflow.replaying import Fidelity, fidelity
from zl_bench.workflow.report import read_report
from zl_bench.workflow.show import show_operator
from zl_bench.workflow.subject import KernelSide, choose_subject

COMMAND = "zl-bench screen --switch pass:pipeline add"
VERDICT = "add  IR_CHANGED  ttgir differs: add_kernel"
ADVICE = f"Screen add again, into another folder with --root, for what is lost. This screen was: {COMMAND}"
ROWS = [
    f"  row {number}  float32 {size}  changed, first difference at ttgir" for number, size in ((1, 1024), (2, 4096))
]


def finish(root: Path, operator: str) -> None:
    """Judge the runs of an operator as a screen does, and record that."""
    ScreenRecord(root).append(judge_operator(operator, None, load_operator(root, operator, None).nodes))


def whole_lines(path: Path, count: int) -> None:
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:count]))


DAMAGE: dict[str, tuple[str, Callable[[Path], None], str]] = {
    "gone": ("before", Path.unlink, "events.jsonl is gone"),
    "emptied": ("before", lambda path: whole_lines(path, 0), "events.jsonl is empty"),
    "cut before its rows": ("after", lambda path: whole_lines(path, 2), "events.jsonl is damaged or cut short"),
    "cut behind its rows": ("after", lambda path: whole_lines(path, -1), "events.jsonl is damaged or cut short"),
    "other bytes": ("after", lambda path: path.write_bytes(b"\xff\x00" * 99 + b"\n\n{"), "is damaged or cut short"),
    "its folder gone": ("after", lambda path: shutil.rmtree(path.parent), "has no run of add"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A finished screen of one operator of two rows, which launch the same kernel."""
    make_run(tmp_path, "before", {"ttgir": TTGIR})
    make_run(tmp_path, "after", {"ttgir": CHANGED})
    write_request(tmp_path, replace(REQUEST, operators=("add",), commands=(COMMAND,)))
    finish(tmp_path, "add")
    return tmp_path


def row_lines(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("  ") and not line.startswith("    ")]


@pytest.mark.parametrize("damage", DAMAGE)
def test_the_verdict_stays_and_the_file_that_is_lost_is_named(root: Path, damage: str) -> None:
    side, harm, what = DAMAGE[damage]
    assert row_lines(list(show_operator(root, "add"))) == ROWS
    harm(root / f"add_{side}" / "events.jsonl")
    verdict, lost, advice, _, *rest = show_operator(root, "add")
    assert verdict == VERDICT
    assert lost.startswith(
        f"The record of the {side} side is missing or damaged since it was judged: {root}/add_{side}"
    )
    assert what in lost
    assert advice == ADVICE
    assert row_lines(rest) == ROWS


@pytest.mark.parametrize("swapped", [True, False])
def test_a_stage_that_is_lost_leaves_the_verdict(root: Path, swapped: bool) -> None:
    path = root / "add_before" / "ir" / "k.ttgir"
    path.unlink()
    if swapped:
        path.write_text(CHANGED)
    why = "is not the file that the run recorded (SHA-256 differs)" if swapped else "can not be read: No such file"
    verdict, lost, advice, *_ = show_operator(root, "add")
    assert verdict == VERDICT
    assert f"{path.parent}, k.ttgir {why}" in lost
    assert advice == ADVICE
    assert list(show_operator(root, "add", row=1))[-1].startswith(f"    k.ttgir {why}")


def test_a_row_that_is_lost_is_shown_without_its_kernels(root: Path) -> None:
    (root / "add_before" / "events.jsonl").unlink()
    assert list(show_operator(root, "add", row=2))[-1] == "    add_kernel: what it compiled to is lost, see above"
    with pytest.raises(
        UsageError, match=r"has a stage ttgir: .* before side .*events\.jsonl is gone\. Screen add again"
    ):
        show_operator(root, "add", stage="ttgir")
    with pytest.raises(UsageError, match="no row 3: it has rows 1 to 2"):
        show_operator(root, "add", row=3)


def test_nodes_keep_their_numbers(root: Path) -> None:
    for node in ("b.py::t", "a.py::t"):  # the screen's order; the runs lie in the root by name
        for side in ("before", "after"):
            make_run(root, side, {"ttgir": TTGIR}, operator="mul", node=node, several=True)
    loaded = load_operator(root, "mul", None)
    ScreenRecord(root).append(judge_operator("mul", None, loaded.nodes[::-1]))
    whole = [line for line in show_operator(root, "mul") if line.startswith(("node ", "  row "))]
    assert [line for line in whole if line.startswith("node ")] == ["node a.py::t", "node b.py::t"]
    (loaded.run("b.py::t", "after").directory / "events.jsonl").unlink()
    lines = list(show_operator(root, "mul"))
    assert lines[0] == "mul  NO_IR_DIFF"
    assert [line for line in lines if line.startswith(("node ", "  row "))] == whole


def test_what_can_not_be_looked_into_says_which_file_is_lost(root: Path) -> None:
    (root / "add_after" / "events.jsonl").unlink()
    for row in (None, 1):
        with pytest.raises(UsageError) as told:
            choose_subject(root, "add", row, inherited={})
        assert str(told.value).startswith("no row of add is left with a kernel that both sides compiled, ")
        assert f"{root / 'add_after' / 'events.jsonl'} is gone. {ADVICE}" in str(told.value)


def test_a_run_that_crashed_while_it_was_screened_stays_broken(root: Path) -> None:
    make_run(root, "before", {"ttgir": TTGIR}, operator="mul")
    whole_lines(make_run(root, "after", {"ttgir": TTGIR}, operator="mul") / "events.jsonl", 4)
    write_outcome(root / "mul_after", ProcessOutcome("signal", 11))
    finish(root, "mul")
    first, second, *_ = show_operator(root, "mul")
    assert first.startswith("mul  BROKEN  after: crashed (row float32 4096): killed by SIGSEGV")
    assert second.startswith("node ")


def test_a_screen_that_did_not_finish_has_no_verdict_to_keep(root: Path) -> None:
    (root / "screen.jsonl").unlink()
    (root / "add_before" / "events.jsonl").unlink()
    first, second, *_ = show_operator(root, "add")
    assert first.startswith("add  BROKEN  before: crashed ")
    assert second.startswith("node ")


def test_a_report_names_the_operators_whose_records_are_lost(root: Path) -> None:
    def told() -> list[str]:
        return [gap.subject for gap in read_report(root).not_covered if "missing or damaged since" in gap.why]

    for side in ("before", "after"):
        make_run(root, side, {"ttgir": TTGIR}, operator="mul")
    finish(root, "mul")
    assert told() == []
    (root / "add_before" / "events.jsonl").unlink()
    whole_lines(root / "mul_after" / "events.jsonl", -1)
    assert told() == ["add, mul"]


def test_a_stage_that_is_lost_is_not_said_to_come_out_otherwise(tmp_path: Path) -> None:
    recorded, made = tmp_path / "recorded.ttgir", tmp_path / "made.ttgir"
    for path in (recorded, made):
        path.write_text(TTGIR)
    kernel = Kernel(KernelIdentity("k", "{}", "{}", "{}", 4, 3, 1), None, (StageText("ttgir", recorded),))
    side = KernelSide("before", kernel, StageText("source", made), "source", {}, Path("python"), {}, None)
    again = Replayed((), (StageText("ttgir", made),), None)
    assert fidelity(side, again, StageFingerprints()) == Fidelity(("ttgir",), ())
    recorded.unlink()
    assert fidelity(side, again, StageFingerprints()) == Fidelity((), ())
