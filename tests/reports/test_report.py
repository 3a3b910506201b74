"""The view of a root and its Markdown, from simulated measurements and from a recorded screen."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.analysis.made_rounds import suite
from tests.reports import simulated_measures as simulated
from zl_bench.analysis.axis import AxisState
from zl_bench.analysis.wording import LONGEST_MESSAGE
from zl_bench.errors import UsageError
from zl_bench.model import RowKey, Verdict
from zl_bench.reports import markdown
from zl_bench.reports.report_view import NOT_RECORDED, NotCovered, ReportView
from zl_bench.store.request import read_request, write_request
from zl_bench.store.screen import ScreenRecord
from zl_bench.workflow.report import read_report
from zl_bench.workflow.report_operators import operator_view
from zl_bench.workflow.report_rows import KernelTable

DATA = Path(__file__).parent / "data"
GOLDEN = DATA / "golden"
RECORDED = DATA / "recorded_screen"
"""Made by data/make.py: five operators of the built-in suite without the pass accelerate_matmul, for cuda:90."""
FLAGGEMS = DATA / "recorded_flaggems"
"""Made likewise: five of FlagGems' operators without that pass, one of every verdict."""
MEASURED = DATA / "recorded_measure"
"""Made likewise: two of FlagGems' operators on an H200, measured in two rounds. Both sides are the same: all are placebos."""


@pytest.fixture(scope="module")
def screened() -> ReportView:
    return read_report(RECORDED)


def timings(view: ReportView) -> dict[str, object]:
    return {row.detail: row.timing for one in view.operators for row in one.rows}


def clocks(view: ReportView) -> set[str]:
    return {row.timing.clocks for one in view.operators for row in one.rows if row.timing is not None}


def test_a_view_is_json(screened: ReportView, tmp_path: Path) -> None:
    for view in (screened, read_report(simulated.incomplete(tmp_path / "m"))):
        json.dumps(dataclasses.asdict(view), allow_nan=False)


def test_operators_in_the_order_of_the_tables(screened: ReportView) -> None:
    assert [(one.entry, one.verdict) for one in screened.operators] == [
        ("matmul:float16", "BROKEN"),
        ("matmul:float32", "IR_CHANGED"),
        ("vector_add", "NO_IR_DIFF"),
        ("aten_addcmul", "NO_KERNEL"),
        ("vector_add:complex64", "NO_ROWS"),
    ]
    assert screened.screen is not None
    found = [(one.verdict, one.count) for one in screened.screen.counts]
    assert found == [(word, 1) for word in ("BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS")]
    assert screened.screen.axis_state == "live"
    assert screened.screen.finding == (
        "Where the compiler knows the switch: the TTGIR pipeline for cuda:90 adds accelerate_matmul 1 times."
    )
    assert screened.measure is None


def test_only_no_ir_diff_says_that_the_code_is_the_same(screened: ReportView) -> None:
    assert screened.screen is not None
    for count in screened.screen.counts:
        assert ("identical" in count.sentence) is (count.verdict == "NO_IR_DIFF")


def test_kernels_of_a_row_with_their_files(screened: ReportView) -> None:
    (row, *_) = next(one for one in screened.operators if one.verdict == "NO_IR_DIFF").rows
    (launch,) = row.launches
    assert launch.before is not None and launch.after is not None
    before, after = screened.kernels[launch.before], screened.kernels[launch.after]
    assert (before.side, after.side) == ("before", "after")
    assert before.name == launch.name == "vector_add_kernel"
    assert [stage.name for stage in before.stages] == ["ttir", "ttgir", "llir", "ptx", "cubin"]
    assert all((RECORDED / stage.path).is_file() for stage in before.stages)
    assert before.registers is not None and before.registers > 0
    assert before.spills is None, "no driver has loaded it, and a cubin does not say"
    assert len(before.executable_sha256) == 64
    assert before.executable_sha256 == after.executable_sha256
    assert launch.changed_stages == () and "ttgir" in launch.same_stages


def test_a_broken_operator_comes_first_with_its_rows(screened: ReportView) -> None:
    broken = screened.operators[0]
    assert (broken.verdict, broken.status, broken.rows) == ("BROKEN", "failed", ())
    assert [(problem.side, problem.row) for problem in broken.problems if problem.kind == "broken"] == [
        ("after", f"float16 shape=({size}, {size}, {size})") for size in (512, 1000)
    ]
    assert screened.answer.startswith("Of 5 operators: 1 broken by it")
    outputs = replace(screened, operators=(replace(broken, numerics="differs (NaN)"),))
    assert "2 rows broken in all; outputs: differs (NaN) |" in markdown.render(outputs)
    text = markdown.render(screened)
    (cells,) = (line.split(" | ") for line in text.splitlines() if line.startswith("| matmul:float16 \\[failed\\] |"))
    assert cells[1:5] == ["-", "-", "not compared", "-"], "no row was compared"
    assert cells[5] == (
        "after: matmul\\_kernel failed to compile at llir (ConvertTritonGPUToLLVM): RuntimeError: PassManager::run failed "
        "(compiler.py:378): python: /project/lib/Conversion/TritonGPUToLLVM/DotOpToLLVM/FMA.cpp:28: virtual Value "
        "(anonymous …; 2 rows broken in all |"
    )
    assert "matmul:float16: after: matmul\\_kernel failed to compile at llir" in text


def test_of_a_long_message_the_beginning_stays_and_ends_with_a_word() -> None:
    (judged,) = (one for one in ScreenRecord(RECORDED).judged() if one.verdict.verdict is Verdict.BROKEN)
    (node,) = judged.nodes
    broken = replace(node.broken[0], message="PassManager failed at " + "operand " * 200 + "last")
    made = replace(judged, nodes=(replace(node, broken=(broken,)),))
    told = operator_view(made, None, AxisState.LIVE, KernelTable(RECORDED), None).first_failure
    assert told.startswith(
        "after: matmul_kernel failed to compile at llir (ConvertTritonGPUToLLVM): PassManager failed at operand"
    )
    assert told.endswith(" operand …") and len(told) <= LONGEST_MESSAGE


def test_commands_in_own_sentences_are_code_and_names_stay_as_they_are(screened: ReportView) -> None:
    assert "`zl-bench show` prints the difference." in markdown.render(screened)
    gap = NotCovered("`zl-bench *`", "`zl-bench show a_b --row 1` names it; `rm` and `zl-bench <b>|` are <text>")
    text = markdown.render(replace(screened, not_covered=(gap,)))
    assert (
        "- \\`zl-bench \\*\\`: `zl-bench show a_b --row 1` names it; \\`rm\\` and \\`zl-bench \\<b\\>\\|\\` are \\<text\\>\n"
    ) in text


def test_a_screen_that_kept_less_says_less(tmp_path: Path) -> None:
    root = Path(shutil.copytree(RECORDED, tmp_path / "root"))
    (root / "axis.json").unlink()
    request = read_request(root)
    assert request is not None
    write_request(root, dataclasses.replace(request, commands=()))
    view = read_report(root)
    assert view.screen is not None and NOT_RECORDED in view.screen.finding
    assert not view.reproduction.exact
    (command,) = view.reproduction.commands
    assert command.startswith("zl-bench screen --switch pass:accelerate_matmul --suite builtin --target cuda:90")


def test_what_is_needed_to_repeat_it(screened: ReportView) -> None:
    found = screened.reproduction
    assert found.exact
    assert found.commands == (
        "zl-bench screen --switch pass:accelerate_matmul --target cuda:90 --root /runs/recorded_screen matmul:float16 "
        "matmul:float32 vector_add aten_addcmul vector_add:complex64",
    )
    facts = dict(found.facts)
    assert facts["compiler, both sides"].startswith("Triton 3.6.0, commit not recorded, /opt/venv")
    assert facts["compiler, both sides"].endswith(f"SHA-256 {screened.provenance.sides[0].library_sha256}")
    assert len(screened.provenance.sides[0].library_sha256) == 64


def test_runs_that_are_gone_take_only_their_kernels_with_them(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for name in ("screen.json", "screen.jsonl"):
        shutil.copy(RECORDED / name, root / name)
    view = read_report(root)
    assert [one.verdict for one in view.operators][1:3] == ["IR_CHANGED", "NO_IR_DIFF"]
    assert view.kernels == ()
    assert all(launch.before is None for one in view.operators for row in one.rows for launch in row.launches)
    assert any("are gone" in note for note in view.notes)
    assert view.provenance.sides[0].python == NOT_RECORDED


def test_an_unfinished_screen_says_so(tmp_path: Path) -> None:
    root = tmp_path / "root"
    shutil.copytree(RECORDED, root)
    lines = (root / "screen.jsonl").read_text().splitlines(keepends=True)
    (root / "screen.jsonl").write_text("".join(lines[:-1]))
    view = read_report(root)
    missing = json.loads(lines[-1])
    name = missing["operator"] if missing["dtype"] == "-" else f"{missing['operator']}:{missing['dtype']}"
    assert view.not_covered[0].subject == name
    assert "not finished" in view.not_covered[0].why
    assert "missing" in view.answer


def test_an_untrusted_measure_claims_nothing(tmp_path: Path) -> None:
    view = read_report(simulated.untrusted(tmp_path / "m"))
    assert view.measure is not None and not view.measure.trusted
    assert {verdict for one in view.operators for verdict, _ in one.speed_verdicts} == {"UNTRUSTED", "IDENTICAL"}
    assert "UNTRUSTED" in view.answer and "FASTER" not in view.answer
    assert "**UNTRUSTED.**" in markdown.render(view)


def test_one_round_is_called_one_round_and_has_no_range(tmp_path: Path) -> None:
    view = read_report(simulated.one_round(tmp_path / "m"))
    assert view.measure is not None
    assert "one round" in view.measure.basis.lower() and "one round" in view.answer
    for one in view.operators:
        for row in one.rows:
            assert row.timing is not None
            assert (row.timing.paired, row.timing.low, row.timing.high) == (1, None, None)
            assert row.timing.verdict in ("INCONCLUSIVE", "IDENTICAL")
    text = markdown.render(view)
    assert "(one round: no interval)" in text
    assert " to " not in "".join(line for line in text.splitlines() if line.startswith("| op"))


def test_an_incomplete_pairing_says_how_many_rounds_it_has(tmp_path: Path) -> None:
    view = read_report(simulated.incomplete(tmp_path / "m"))
    found = timings(view)
    partial, none = found["c0"], found["c1"]
    assert partial is not None and none is not None
    assert (partial.paired, partial.of, partial.basis) == (4, 6, "4 of 6 rounds have both sides")  # type: ignore[attr-defined]
    assert [one.speedup is None for one in partial.rounds] == [False] * 4 + [True] * 2  # type: ignore[attr-defined]
    assert (none.speedup, none.low, none.note) == (None, None, "no round has both sides")  # type: ignore[attr-defined]
    text = markdown.render(view)
    assert "; 4 of 6 rounds have both sides)" in text
    assert "no ratio: no round has both sides" in text
    assert any("one side alone" in gap.why for gap in view.not_covered)


def test_clocks_that_are_told_and_clocks_that_are_not(tmp_path: Path) -> None:
    told = read_report(simulated.nothing_changed(tmp_path / "told"))
    silent = read_report(simulated.simulated_measure(tmp_path / "silent", suite([1.0], [1.0] * 6), clocks=False))
    (card,) = told.provenance.cards
    assert (card.name, card.driver, card.clocks, card.throttle) == ("Simulated H200", "999.1", "1980 MHz", "none seen")
    assert {row.timing.clocks for one in told.operators for row in one.rows if row.timing} == {
        "1980 MHz before, 1980 MHz after"
    }
    assert {row.timing.clocks for one in silent.operators for row in one.rows if row.timing} == {NOT_RECORDED}
    assert silent.provenance.cards == ()


def test_outputs_that_differ_stand_beside_the_verdict(tmp_path: Path) -> None:
    where = RowKey("", "op0", "float16", 0, "c0")
    view = read_report(simulated.simulated_measure(tmp_path / "m", suite([1.05], [1.0] * 6), differing=[where]))
    assert "FASTER, outputs differ" in markdown.render(view)
    assert any("outputs differ" in gap.why for gap in view.not_covered)


def test_pairs_that_were_dropped_and_operators_that_were_stopped_are_told(tmp_path: Path) -> None:
    place = {"entry": "op1", "case": "t.py::t", "round": 6}
    further = [{"record": "dropped", **place, "why": "throttled"}, {"record": "stopped", **place, "why": "other code"}]
    view = read_report(simulated.simulated_measure(tmp_path / "m", suite([1.0], [1.0] * 6), further=further))
    assert view.measure is not None
    assert any("dropped" in note and "throttled" in note for note in view.measure.notes)
    assert any(gap.subject == "op1" and "other code" in gap.why for gap in view.not_covered)


def test_a_measurement_that_ended_early_says_how_many_rounds_it_has(tmp_path: Path) -> None:
    view = read_report(simulated.simulated_measure(tmp_path / "m", suite([1.0], [1.0] * 6, rounds=4)))
    assert view.measure is not None
    assert "4 of 6 planned rounds were measured" in view.measure.notes


def test_rounds_that_something_else_measured(tmp_path: Path) -> None:
    line = {"operator": "mm", "dtype": "float16", "detail": "64", "round": 0, "identical": False}
    lines = [{**line, "side": side, "median_ms": 1.0} for side in ("before", "after")]
    (tmp_path / "measure.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines) + "nonsense\n")
    view = read_report(tmp_path)
    assert view.measure is not None and view.screen is None
    assert any("line 3" in note for note in view.measure.notes)
    assert view.reproduction.commands == ()


def test_a_measure_of_one_side_alone_says_nothing_of_speed(tmp_path: Path) -> None:
    shutil.copytree(RECORDED, tmp_path / "root")
    medians = [median for median in suite([1.0]) if median.side == "before"]
    view = read_report(simulated.simulated_measure(tmp_path / "root", medians))
    assert view.measure is None
    assert any("no round has both sides" in note for note in view.notes)


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    text = markdown.render(read_report(simulated.hostile_names(tmp_path / "m")))
    assert "<script>" not in text
    assert (
        "\\<script\\>alert(1)\\</script\\>\\|\\`x\\`\\*\\_&amp;amp; λ \\\\u202e\\#<!-- -->1 @<!-- -->someone =1+1"
        in text
    )
    rows = [line for line in text.splitlines() if line.startswith("| mm")]
    assert len(rows) == 1, "a line break in a name breaks no table"


@pytest.mark.parametrize(
    "make", [simulated.single_row, simulated.nothing_changed, simulated.untrusted, simulated.incomplete]
)
def test_markdown_of_simulated_measures(make: Callable[[Path], Path], tmp_path: Path) -> None:
    name = make.__name__
    assert markdown.render(read_report(make(tmp_path / name))) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


def test_markdown_of_a_screen_of_flaggems_with_every_verdict() -> None:
    view = read_report(FLAGGEMS)
    assert [one.verdict for one in view.operators] == ["BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS"]
    assert markdown.render(view) == (GOLDEN / "recorded_flaggems.md").read_text(encoding="utf-8")


def test_markdown_of_a_recorded_screen(screened: ReportView) -> None:
    assert markdown.render(screened) == (GOLDEN / "recorded_screen.md").read_text(encoding="utf-8")


def test_markdown_of_a_real_measure() -> None:
    assert markdown.render(read_report(MEASURED)) == (GOLDEN / "recorded_measure.md").read_text(encoding="utf-8")


def test_a_real_measure_of_identical_code_says_nothing_of_the_switch() -> None:
    view = read_report(MEASURED)
    assert view.measure is not None and view.measure.trusted
    assert view.answer == (
        "Of 2 operators: 2 with identical TTGIR; both sides were asked to be the same; 10 rows were measured over 2 rounds, "
        "the code of each the same on both sides, so nothing is said of the switch's speed."
    )
    assert view.measure.totals == "10 rows; all changed rows: none"
    assert {row.timing.verdict for one in view.operators for row in one.rows if row.timing} == {"IDENTICAL"}
    (card,) = view.provenance.cards
    assert (card.name, card.driver, card.clocks, card.throttle) == (
        "NVIDIA H200",
        "580.159.04",
        "1980 MHz",
        "none seen",
    )
    kernels = [
        view.kernels[launch.before]
        for row in view.operators[0].rows
        for launch in row.launches
        if launch.before is not None
    ]
    assert {(one.registers, one.spills) for one in kernels} == {(19, 0), (24, 0), (32, 0), (64, 0)}, (
        "a driver has loaded them"
    )


def test_what_is_no_root_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a screen"):
        read_report(tmp_path)
    with pytest.raises(UsageError, match="is no folder"):
        read_report(tmp_path / "nowhere")
    (tmp_path / "run_before.json").write_text("{}")
    with pytest.raises(UsageError, match="zl-bench summary"):
        read_report(tmp_path)
