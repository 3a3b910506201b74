from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from zl_bench.analysis.axis import AxisState
from zl_bench.analysis.numerics import NOT_COMPARED, ORDER_IS_FREE
from zl_bench.model import OperatorVerdict, Status, Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.reports.terminal import print_screen
from zl_bench.reports.view import HEADINGS, ScreenView, axis_sentence, counts_sentence, screen_view, verdict_sentence

ADD = OperatorVerdict(
    operator="add", dtype="-", verdict=Verdict.NO_IR_DIFF, rows=2, changed_rows=0, kernels=1, converts_before=1,
    converts_after=1, first_stage="-", machine_code="same", pins="none", reason="", seconds=1.25,
    status=Status.COMPLETE,
)  # fmt: skip
MM = replace(
    ADD, operator="mm", dtype="float16", verdict=Verdict.BROKEN, status=Status.PARTIAL,
    reason="after: mm_kernel failed to compile at ttgir (row float16 64): [red]PassManager::run failed[/red] " + "x" * 300,
)  # fmt: skip
TRANSPOSE = replace(
    ADD, operator="transpose", verdict=Verdict.IR_CHANGED, changed_rows=1, converts_after=11, first_stage="ttgir",
    machine_code="differs",
)  # fmt: skip
DIFFERS = "differs (largest absolute 1.2e-05, relative 0.003)"
VIEW = replace(ADD, operator="view", verdict=Verdict.NO_KERNEL, kernels=0, machine_code="-")
ALL = [MM, TRANSPOSE, ADD, VIEW]


def view(verdicts: list[OperatorVerdict], state: AxisState = AxisState.LIVE) -> ScreenView:
    return screen_view(verdicts, axis="pass:pipeline", state=state, table_path="/r/screen.tsv")


def printed(shown: ScreenView, *, terminal: bool, width: int = 80) -> str:
    stream = io.StringIO()
    print_screen(
        shown, Console(file=stream, force_terminal=terminal, width=width, highlight=False, legacy_windows=False)
    )
    return stream.getvalue()


def test_the_cells() -> None:
    rows = {row.cells[0]: row.cells for row in view(ALL).rows}
    assert rows["mm:float16"][1] == "BROKEN"
    assert rows["mm:float16"][-1].endswith("[partial]")
    assert rows["transpose"][2:8] == ("1/2", "1", "1 -> 11", "ttgir", "differs", "none")
    assert rows["add"][-1] == "skip it"
    assert rows["view"][4] == "-"


def test_where_no_row_was_compared_nothing_is_counted() -> None:
    (row,) = view([replace(MM, rows=0, kernels=0)]).rows
    assert (row.cells[2], row.cells[4]) == ("-", "-")


def test_outputs_have_a_column_only_where_any_were_compared() -> None:
    assert view(ALL).headings == HEADINGS
    compared = [replace(ADD, numerics="same"), VIEW, replace(TRANSPOSE, numerics=DIFFERS, reason="ttgir differs: k")]
    shown = view(compared)
    assert shown.headings[-3:] == ("pins", "numerics", "what it means")
    assert [row.cells[-2] for row in shown.rows] == ["same", "n/a", "differs"]
    assert [row.reason for row in shown.rows] == [
        "", "", "ttgir differs: k; outputs differ (largest absolute 1.2e-05, relative 0.003)",
    ]  # fmt: skip


def test_outputs_that_may_differ_from_themselves_are_not_said_to_differ() -> None:
    free = f"{NOT_COMPARED} ({ORDER_IS_FREE})"
    (shown,) = view([replace(ADD, numerics=free)]).rows
    assert shown.cells[-2] == "n/a"
    assert shown.reason == f"outputs not comparable ({ORDER_IS_FREE})"


@pytest.mark.parametrize("width", [40, 80, 88, 89, 118, 119, 200])
def test_no_width_of_terminal_loses_the_column_of_outputs(width: int) -> None:
    text = printed(
        view([replace(ADD, numerics="same"), replace(TRANSPOSE, numerics=DIFFERS)]), terminal=True, width=width
    )
    for cell in ("NO_IR_DIFF", "1 -> 11", "ttgir", "none", "numerics", "same", "skip it"):
        assert cell in text
    assert "…" not in text
    assert "outputs differ (largest absolute 1.2e-05, relative 0.003)" in " ".join(text.split())


def test_one_sentence_for_each_verdict_that_occurs() -> None:
    assert [verdict for verdict, _ in view([TRANSPOSE, ADD]).sentences] == [Verdict.IR_CHANGED, Verdict.NO_IR_DIFF]
    assert next(verdict for verdict, _ in view(ALL).sentences) is Verdict.BROKEN


def test_no_kernel_never_reads_as_an_operator_without_a_kernel() -> None:
    sentence = verdict_sentence(Verdict.NO_KERNEL, AxisState.LIVE)
    assert "aten or a vendor library" in sentence
    assert "for the Triton pass under test to act on" in sentence
    assert "warm cache is no explanation" in sentence
    assert "has no kernel" not in sentence


@pytest.mark.parametrize("state", [AxisState.NOT_SHOWN_LIVE, AxisState.NULL_CONTROL, AxisState.DEAD])
@pytest.mark.parametrize("terminal", [True, False])
def test_no_line_says_skip_unless_the_axis_is_live(state: AxisState, terminal: bool) -> None:
    assert "skip" not in printed(view([ADD, VIEW], state), terminal=terminal, width=300)


def test_skip_is_not_mentioned_when_nothing_may_be_skipped() -> None:
    first = replace(ADD, pins="first 1/36")
    text = printed(view([TRANSPOSE, first]), terminal=False)
    assert "skip" not in text
    assert "in 1 of 36 configurations" in text


def test_a_null_control_is_labelled() -> None:
    shown = view([ADD], AxisState.NULL_CONTROL)
    assert "null control" in shown.title
    assert "null control" in shown.axis


@pytest.mark.parametrize("state", AxisState)
def test_the_axis_line_names_the_state(state: AxisState) -> None:
    sentence = axis_sentence("pass:pipeline", state)
    assert "pass:pipeline" in sentence
    assert state.value in sentence


def test_counts() -> None:
    assert counts_sentence(ALL) == "4 operators: 1 BROKEN, 1 IR_CHANGED, 1 NO_IR_DIFF, 1 NO_KERNEL (1 partial)"
    assert counts_sentence([]) == "no operator was screened"


def test_a_pipe_gets_plain_unwrapped_lines() -> None:
    text = printed(view(ALL), terminal=False, width=40)
    assert "\x1b" not in text
    assert not set("│┃━─┏") & set(text)
    lines = text.splitlines()
    assert any(line.split()[:2] == ["mm:float16", "BROKEN"] for line in lines)
    assert f"mm:float16: {MM.reason}" in lines
    assert lines[-1] == "/r/screen.tsv"
    headings, *rows = lines[1:6]
    start = headings.index("verdict")
    assert [row[start:].split()[0] for row in rows] == ["BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL"]


def test_a_terminal_gets_a_table_that_loses_nothing() -> None:
    text = printed(view(ALL), terminal=True, width=120)
    assert "\x1b" in text
    assert "─" in text
    assert "[red]" in text
    assert text.replace("\n", "").count("x" * 50) >= 1
    assert text.index("BROKEN") < text.index("IR_CHANGED")


@pytest.mark.parametrize("width", [40, 80, 109, 110, 200])
def test_no_width_of_terminal_loses_a_cell(width: int) -> None:
    text = printed(view(ALL), terminal=True, width=width)
    for cell in ("IR_CHANGED", "NO_IR_DIFF", "1 -> 11", "ttgir", "differs"):
        assert cell in text
    assert "skip it" in text
    assert "…" not in text


def test_progress_in_a_pipe_is_a_line_per_operator() -> None:
    stream = io.StringIO()
    with ProgressReporter(2, Console(file=stream, force_terminal=False, width=40)) as progress:
        progress.note("going on")
        progress.started("mm:float16")
        progress.finished(MM)
        progress.started("add")
        progress.finished(ADD)
    lines = stream.getvalue().splitlines()
    assert lines == ["going on", f"[1/2] mm:float16 BROKEN partial 1.2 s: {MM.reason}", "[2/2] add NO_IR_DIFF 1.2 s"]


def test_progress_on_a_terminal_shows_what_runs() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=200, legacy_windows=False)
    with ProgressReporter(2, console) as progress:
        progress.started("odd[name]")
        progress.finished(ADD)
    text = stream.getvalue()
    assert "odd[name]" in text
    assert "add NO_IR_DIFF" in text
