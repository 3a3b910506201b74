"""Operators as a report shows them: what the screen said of each, and what was measured of it since."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from zl_bench.analysis.axis import AxisState, advice
from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.analysis.reasons import describe_broken, describe_row
from zl_bench.analysis.wording import LONGEST_MESSAGE, one_line
from zl_bench.model import SIDES, BrokenRow, JudgedOperator, NodeVerdict, RowKey, Side
from zl_bench.reports.report_view import GroupView, OperatorView, ProblemView, RowView, UncomparedRow
from zl_bench.reports.view import operator_name
from zl_bench.store.screened import LoadedOperator
from zl_bench.workflow.report_rounds import MeasuredRoot
from zl_bench.workflow.report_rows import KernelTable, measured_row, nothing_but, operator_key_text, row_views

RowProblem = Literal["broken", "failed", "one side only"]


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
        key=operator_key_text(operator_name(verdict)),
        uncompared=tuple(row for node in judged.nodes for row in _uncompared(node)),
        first_failure=_first_failure([broken for node in judged.nodes for broken in node.broken]),
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
    """The operators with rows whose keys are their own: a row that two entries asked for has `-2` behind its second key.

    A row that was not compared and is among its operator's rows keeps that one's key. The others are counted last, so that
    they change the key of no row that was.
    """
    used: Counter[str] = Counter()
    keys: list[dict[str, str]] = []
    found = []
    for one in operators:
        rows = tuple(replace(row, key=_distinct(row.key, used)) for row in one.rows)
        keys.append({before.key: after.key for before, after in zip(one.rows, rows, strict=True)})
        found.append(replace(one, rows=rows))
    return [replace(one, uncompared=_with_keys(one, own, used)) for one, own in zip(found, keys, strict=True)]


def _with_keys(one: OperatorView, own: Mapping[str, str], used: Counter[str]) -> tuple[UncomparedRow, ...]:
    keys = (own.get(lost.row.key) or _distinct(lost.row.key, used) for lost in one.uncompared)
    return tuple(replace(lost, row=replace(lost.row, key=key)) for lost, key in zip(one.uncompared, keys, strict=True))


def _distinct(key: str, used: Counter[str]) -> str:
    used[key] += 1
    return key if used[key] == 1 else f"{key}-{used[key]}"


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


def _first_failure(broken: Sequence[BrokenRow]) -> str:
    """Side, kernel, stage and the beginning of the message, cut between words. Its row, of which many may be, is left out."""
    if not broken:
        return ""
    place, _, _ = describe_broken(broken[0]).partition(f" (row {describe_row(broken[0].key)})")
    told = textwrap.shorten(f"{place}: {broken[0].message or 'no message'}", LONGEST_MESSAGE, placeholder=" …")
    return told if len(broken) == 1 else f"{told}; {len(broken)} rows broken in all"


def _row_problems(node: NodeVerdict) -> Iterator[tuple[RowProblem, Side, RowKey, str]]:
    """(what, the side that it is said of, the row, why) of every row that was not compared."""
    for broken in node.broken:
        yield "broken", broken.side, broken.key, describe_broken(broken)
    known = {(broken.side, broken.key) for broken in node.broken}
    for side, failed in node.failed:
        if (side, failed.key) not in known:
            yield "failed", side, failed.key, one_line(failed.message)
    for alone in node.one_sided:
        yield "one side only", alone.side, alone.key, one_line(alone.why)


def _uncompared(node: NodeVerdict) -> Iterator[UncomparedRow]:
    """Each row once, and only those that lack a side: a key may fail in one of its rows and be measured in another."""
    compared = {paired.key for paired in node.paired}
    found: dict[RowKey, dict[Side, tuple[RowProblem, str]]] = {}
    for problem, side, key, why in _row_problems(node):
        failed_side = next(other for other in SIDES if other != side) if problem == "one side only" else side
        found.setdefault(key, {}).setdefault(failed_side, (problem, why))
    for key, told in found.items():
        if key not in compared:
            (side, (problem, why)), *other = told.items()
            differing = {why, *(text for _, (_, text) in other)}
            reason = why if len(differing) == 1 else "; ".join(f"{where}: {text}" for where, (_, text) in told.items())
            yield UncomparedRow(nothing_but(key), problem, "both" if other else side, reason)


def _problems(node: NodeVerdict) -> Iterator[ProblemView]:
    for problem, side, key, why in _row_problems(node):
        yield ProblemView(problem, side, describe_row(key), node.node, why)
    for side, absence in node.absences:
        yield ProblemView("ended early", side, "", node.node, one_line(absence.reason))
    for side, pin in node.missing_pins:
        yield ProblemView("missing pin", side, "", node.node, one_line(f"{pin.tuner} {pin.key}: {pin.reason}"))
