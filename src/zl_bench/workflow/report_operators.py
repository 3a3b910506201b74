"""Operators as a report shows them: what the screen said of each, and what was measured of it since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from zl_bench.analysis.axis import AxisState, advice
from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.analysis.reasons import describe_broken, describe_row
from zl_bench.analysis.wording import one_line
from zl_bench.model import JudgedOperator, NodeVerdict
from zl_bench.reports.report_view import GroupView, OperatorView, ProblemView, RowView
from zl_bench.reports.view import operator_name
from zl_bench.store.screened import LoadedOperator
from zl_bench.workflow.report_rounds import MeasuredRoot
from zl_bench.workflow.report_rows import KernelTable, measured_row, row_views


def operator_view(
    judged: JudgedOperator,
    loaded: LoadedOperator | None,
    state: AxisState,
    kernels: KernelTable,
    measured: MeasuredRoot | None,
) -> OperatorView:
    """An operator that was screened. `loaded` are its runs, None where they are gone."""
    verdict = judged.verdict
    rows = tuple(row_views(judged.nodes, loaded, kernels, measured))
    return OperatorView(
        entry=operator_name(verdict),
        operator=verdict.operator,
        dtype=verdict.dtype,
        verdict=verdict.verdict.value,
        advice=advice(verdict, state),
        reason=verdict.reason,
        status=verdict.status.value,
        numerics=verdict.numerics,
        row_count=verdict.rows,
        changed_rows=verdict.changed_rows,
        kernel_count=verdict.kernels,
        converts_before=verdict.converts_before,
        converts_after=verdict.converts_after,
        first_stage=verdict.first_stage,
        machine_code=verdict.machine_code,
        pins=verdict.pins,
        seconds=verdict.seconds,
        speed=_speed(rows, measured),
        speed_verdicts=_speed_verdicts(rows),
        rows=rows,
        problems=tuple(problem for node in judged.nodes for problem in _problems(node)),
    )


def measured_alone(operators: Sequence[OperatorView], measured: MeasuredRoot | None) -> list[OperatorView]:
    """The operators with the measured rows that the screen's record lacks: in an operator of that name, or in a new one."""
    if measured is None:
        return list(operators)
    known = {(row.node, row.operator, row.dtype, row.ordinal, row.detail) for one in operators for row in one.rows}
    alone: dict[str, list[RowView]] = {}
    for key in measured.rows:
        if (key.node, key.operator, key.dtype, key.ordinal, key.detail) not in known:
            alone.setdefault(key.operator, []).append(measured_row(key, measured))
    extended = []
    for one in operators:
        rows = (*one.rows, *alone.pop(one.operator, ()))
        extended.append(replace(one, rows=rows, speed=_speed(rows, measured), speed_verdicts=_speed_verdicts(rows)))
    return [*extended, *(_not_screened(name, tuple(rows), measured) for name, rows in sorted(alone.items()))]


def with_distinct_keys(operators: Sequence[OperatorView]) -> list[OperatorView]:
    """The operators with rows whose keys are their own: a row that two entries asked for has `-2` behind its second key."""
    used: Counter[str] = Counter()
    found = []
    for one in operators:
        rows = []
        for row in one.rows:
            used[row.key] += 1
            rows.append(row if used[row.key] == 1 else replace(row, key=f"{row.key}-{used[row.key]}"))
        found.append(replace(one, rows=tuple(rows)))
    return found


def _not_screened(name: str, rows: tuple[RowView, ...], measured: MeasuredRoot) -> OperatorView:
    return OperatorView(
        entry=name,
        operator=name,
        dtype="-",
        verdict="",
        advice="",
        reason="",
        status="",
        numerics="n/a",
        row_count=len(rows),
        changed_rows=0,
        kernel_count=0,
        converts_before=0,
        converts_after=0,
        first_stage="-",
        machine_code="-",
        pins="",
        seconds=None,
        speed=_speed(rows, measured),
        speed_verdicts=_speed_verdicts(rows),
        rows=rows,
        problems=(),
    )


def _speed(rows: Iterable[RowView], measured: MeasuredRoot | None) -> GroupView | None:
    """The mean of the operator by whose name the rows were measured; None where that is not one."""
    if measured is None:
        return None
    names = dict.fromkeys(row.operator for row in rows if row.timing is not None and row.timing.source == "measure")
    groups = [measured.groups[name] for name in names if name in measured.groups]
    return groups[0] if len(groups) == 1 else None


def _speed_verdicts(rows: Iterable[RowView]) -> tuple[tuple[str, int], ...]:
    words = Counter(row.timing.verdict for row in rows if row.timing is not None)
    return tuple((verdict.value, words[verdict.value]) for verdict in SpeedVerdict if words[verdict.value])


def _problems(node: NodeVerdict) -> Iterator[ProblemView]:
    for broken in node.broken:
        yield ProblemView("broken", broken.side, describe_row(broken.key), node.node, describe_broken(broken))
    known = {(broken.side, broken.key) for broken in node.broken}
    for side, failed in node.failed:
        if (side, failed.key) not in known:
            yield ProblemView("failed", side, describe_row(failed.key), node.node, one_line(failed.message))
    for alone in node.one_sided:
        yield ProblemView("one side only", alone.side, describe_row(alone.key), node.node, one_line(alone.why))
    for side, absence in node.absences:
        yield ProblemView("ended early", side, "", node.node, one_line(absence.reason))
    for side, pin in node.missing_pins:
        yield ProblemView("missing pin", side, "", node.node, one_line(f"{pin.tuner} {pin.key}: {pin.reason}"))
