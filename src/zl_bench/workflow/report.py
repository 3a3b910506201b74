"""`report`: one view of a root, whatever is in it: a screen, a measurement, or both. Its renderers are in `reports`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.axis import AxisState, axis_state
from zl_bench.errors import UsageError
from zl_bench.model import SIDES, JudgedOperator, OperatorVerdict, split_entry
from zl_bench.reports import report_words
from zl_bench.reports.report_view import OperatorView, ReportView
from zl_bench.reports.view import operator_name
from zl_bench.running.switch import parse_switch
from zl_bench.store.layout import MEASURE_RECORD_FILE, run_request_file
from zl_bench.store.request import ScreenRequest, read_request
from zl_bench.store.screen import ScreenRecord, table_order
from zl_bench.store.screened import LoadedOperator, load_operator
from zl_bench.workflow.judge import DEFAULT_CRITERION
from zl_bench.workflow.judged_again import lost_its_events
from zl_bench.workflow.liveness import Liveness, read_liveness
from zl_bench.workflow.report_gaps import not_covered
from zl_bench.workflow.report_operators import measured_alone, operator_view, with_distinct_keys
from zl_bench.workflow.report_provenance import provenance, reproduction
from zl_bench.workflow.report_rounds import MeasuredRoot, read_measured
from zl_bench.workflow.report_rows import KernelTable
from zl_bench.workflow.report_whole import answer_of, notes_of_root, question_of, screen_part, title_of

Place = tuple[str, str]
"""(operator, dtype) of an entry, `-` where no dtype was asked for."""


@dataclass(frozen=True)
class RecordedRoot:
    """What a root records as a whole: what was asked of it, what came of that, and what was measured since."""

    path: Path
    request: ScreenRequest | None
    judged: Mapping[Place, JudgedOperator]
    """In the order of every table."""
    liveness: Liveness | None
    measured: MeasuredRoot | None

    @property
    def verdicts(self) -> list[OperatorVerdict]:
        """In the order of every table."""
        return [one.verdict for one in self.judged.values()]

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The entries that were asked for and are not finished."""
        asked = self.request.operators if self.request is not None else ()
        return tuple(entry for entry in asked if _place(entry) not in self.judged)

    @property
    def state(self) -> AxisState:
        """What the screen as a whole says of its switch."""
        switch = self.request.switch if self.request is not None else ""
        # Of a build the interpreters may be gone by now, so that it can not be parsed; it is never a null control.
        null_control = report_words.kind_of(switch) == "variable" and parse_switch(switch).is_null_control
        known = self.liveness is None or self.liveness.known
        return axis_state(self.verdicts, known=known, null_control=null_control)


def read_root(root: Path) -> RecordedRoot:
    """What `root` records. Raises UsageError for a folder that holds neither a screen nor rounds."""
    request = read_request(root)
    found = {(one.verdict.operator, one.verdict.dtype): one for one in ScreenRecord(root).judged()}
    order = tuple(map(_place, request.operators)) if request is not None else ()
    ordered = table_order([one.verdict for one in found.values()], order)
    judged = {place: found[place] for place in ((verdict.operator, verdict.dtype) for verdict in ordered)}
    measured = read_measured(root)
    if request is None and not judged and measured is None:
        raise UsageError(_nothing_in(root))
    return RecordedRoot(root, request, judged, read_liveness(root), measured)


def read_report(root: Path) -> ReportView:
    """Everything that a report of `root` shows. Raises UsageError for a folder that holds neither a screen nor rounds."""
    recorded = read_root(root)
    request, measured, state = recorded.request, recorded.measured, recorded.state
    loaded = {place: _load(root, *place) for place in recorded.judged}
    kernels = KernelTable(root)
    operators: list[OperatorView] = [
        operator_view(judged, loaded[place], state, kernels, measured) for place, judged in recorded.judged.items()
    ]
    operators = with_distinct_keys(measured_alone(operators, measured))
    criterion = request.criterion if request is not None else DEFAULT_CRITERION
    found = provenance(root, request, [runs for runs in loaded.values() if runs is not None], measured)
    asked = question_of(request, found, state, measured, operators)
    verdicts = recorded.verdicts
    damaged = [
        operator_name(judged.verdict)
        for place, judged in recorded.judged.items()
        if (runs := loaded[place]) is not None and lost_its_events(judged, runs)
    ]
    gone = [operator_name(recorded.judged[place].verdict) for place, runs in loaded.items() if runs is None]
    return ReportView(
        title=title_of(asked, found),
        answer=answer_of(verdicts, state, criterion, measured, operators, complete=not recorded.unfinished),
        question=asked,
        screen=screen_part(request, verdicts, state, recorded.liveness) if request is not None or verdicts else None,
        measure=measured.part if measured is not None else None,
        operators=tuple(operators),
        kernels=tuple(kernels.views),
        not_covered=tuple(
            not_covered(recorded.unfinished, recorded.judged.values(), operators, state, measured, request, damaged)
        ),
        provenance=found,
        reproduction=reproduction(request, found, measured),
        notes=tuple(
            notes_of_root(recorded.unfinished, gone, empty=measured is None and (root / MEASURE_RECORD_FILE).exists())
        ),
    )


def _place(entry: str) -> Place:
    operator, dtype = split_entry(entry)
    return operator, dtype or "-"


def _load(root: Path, operator: str, dtype: str) -> LoadedOperator | None:
    """The runs of an operator, None where they are gone."""
    try:
        return load_operator(root, operator, None if dtype == "-" else dtype)
    except UsageError:
        return None


def _nothing_in(root: Path) -> str:
    if not root.is_dir():
        return f"{root} is no folder; give the root of a screen or of a measurement, such as runs/ab_…"
    if any((root / run_request_file(side)).is_file() for side in SIDES):
        return f"{root} has runs of one side alone, which say nothing of a switch; `zl-bench summary` tabulates them."
    return f"{root} holds neither a screen (screen.jsonl) nor measured rounds (measure.jsonl). Give a root such as runs/ab_…"
