"""A report as two tables for other programs: performance.csv, a line per row, and kernels.csv, a line per kernel, row and side.

They are joined by `row_key`, and a row has the same key in every root. UTF-8, commas between cells, quotes where they must be;
an empty cell where something is not known, `true` and `false`, numbers with all their digits: pandas and DuckDB see the types.
Whole numbers with an empty cell among them become fractions in pandas, unless asked for `dtype_backend="numpy_nullable"`.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from zl_bench.reports.report_view import (
    NOT_RECORDED,
    KernelView,
    LaunchView,
    OperatorView,
    ReportView,
    RowView,
    UncomparedRow,
)

PERFORMANCE_FILE = "performance.csv"
KERNELS_FILE = "kernels.csv"

Cell: TypeAlias = str | int | float | bool | None

PERFORMANCE_COLUMNS = (
    "row_key", "entry", "operator", "dtype", "node", "parameters", "ordinal", "detail", "operator_verdict", "operator_status",
    "changed", "first_stage", "machine_code", "sequence", "launches", "kind", "source", "rounds", "rounds_of", "before_ms",
    "after_ms", "speedup", "ci_low", "ci_high", "q", "mde", "verdict", "method", "l2", "launch_bound", "clocks",
    "numerics_same", "numerics", "guessed_values", "problem", "failed_side", "reason",
)  # fmt: skip
KERNEL_COLUMNS = (
    "row_key", "launch", "times", "side", "kernel", "signature", "constexprs", "attributes", "num_warps", "num_stages",
    "num_ctas", "configuration", "shared_bytes", "registers", "spills", "convert_layouts", "partner", "changed_stages",
    "machine_code", "unstable", "executable_sha256",
)  # fmt: skip
"""Followed by a column `<stage>_sha256` for each stage that any kernel has."""


def performance_csv(view: ReportView) -> str:
    """Every row that was screened or measured; `speedup` is before / after, above 1 is faster.

    A row that was not compared says in `problem`, `failed_side` and `reason` what kept it from that. An operator without any
    row has one line, which joins with no kernel: its verdict, why, and no more of a row than the ordinal 0.
    """
    return _table(PERFORMANCE_COLUMNS, (line for one in view.operators for line in _lines(one)))


def kernels_csv(view: ReportView) -> str:
    """Every kernel of a row's call on each side, in the order of its launches; equal launches are a line, `times` over."""
    stages = tuple(dict.fromkeys(stage.name for kernel in view.kernels for stage in kernel.stages))
    columns = (*KERNEL_COLUMNS, *(f"{stage}_sha256" for stage in stages))
    lines = (
        _kernel(row, place, launch, view.kernels[number], stages)
        for one in view.operators
        for row in one.rows
        for place, launch in enumerate(row.launches)
        for number in (launch.before, launch.after)
        if number is not None
    )
    return _table(columns, lines)


def _lines(one: OperatorView) -> Iterator[dict[str, Cell]]:
    problems = {lost.row.key: lost for lost in one.uncompared}
    for row in one.rows:
        yield _performance(one, row) | _problem(problems.pop(row.key, None))
    for lost in problems.values():
        yield _performance(one, lost.row) | _problem(lost)
    if not one.rows and not one.uncompared:
        yield {
            "row_key": one.key,
            "entry": one.entry,
            "operator": one.operator,
            "ordinal": 0,
            "operator_verdict": one.verdict,
            "operator_status": one.status,
            "reason": one.reason,
        }


def _problem(lost: UncomparedRow | None) -> dict[str, Cell]:
    if lost is None:
        return {}
    return {"problem": lost.problem, "failed_side": lost.failed_side, "reason": lost.reason}


def _performance(one: OperatorView, row: RowView) -> dict[str, Cell]:
    timing, numerics = row.timing, row.numerics
    cells: dict[str, Cell] = {
        "row_key": row.key,
        "entry": one.entry,
        "operator": row.operator,
        "dtype": row.dtype,
        "node": row.node,
        "parameters": row.parameters,
        "ordinal": row.ordinal,
        "detail": row.detail,
        "operator_verdict": one.verdict,
        "operator_status": one.status,
        "changed": row.changed,
        "first_stage": _known(row.first_stage),
        "machine_code": _known(row.machine_code),
        "sequence": row.sequence,
        "launches": sum(launch.times for launch in row.launches) if row.changed is not None else None,
        "numerics_same": numerics.same if numerics is not None else None,
        "numerics": numerics.text if numerics is not None else None,
        "guessed_values": row.guesses if row.changed is not None else None,
    }
    if timing is not None:
        cells |= {
            "kind": timing.kind,
            "source": timing.source,
            "rounds": timing.paired,
            "rounds_of": timing.of,
            "before_ms": timing.before_ms,
            "after_ms": timing.after_ms,
            "speedup": timing.speedup,
            "ci_low": timing.low,
            "ci_high": timing.high,
            "q": timing.q,
            "mde": timing.mde,
            "verdict": timing.verdict,
            "method": _known(timing.method),
            "l2": _known(timing.l2),
            "launch_bound": timing.launch_bound,
            "clocks": _known(timing.clocks),
        }
    return cells


def _kernel(row: RowView, place: int, launch: LaunchView, kernel: KernelView, stages: Sequence[str]) -> dict[str, Cell]:
    hashes = {stage.name: stage.sha256 for stage in kernel.stages}
    return {
        "row_key": row.key,
        "launch": place,
        "times": launch.times,
        "side": kernel.side,
        "kernel": kernel.name,
        "signature": kernel.signature,
        "constexprs": kernel.constants,
        "attributes": kernel.attributes,
        "num_warps": kernel.num_warps,
        "num_stages": kernel.num_stages,
        "num_ctas": kernel.num_ctas,
        "configuration": kernel.configuration,
        "shared_bytes": kernel.shared_bytes,
        "registers": kernel.registers,
        "spills": kernel.spills,
        "convert_layouts": kernel.converts,
        "partner": not launch.only_on,
        "changed_stages": " ".join(launch.changed_stages) if not launch.only_on else None,
        "machine_code": _known(launch.machine_code),
        "unstable": launch.unstable,
        "executable_sha256": kernel.executable_sha256,
        **{f"{stage}_sha256": hashes.get(stage) for stage in stages},
    }


def _known(text: str) -> str | None:
    return None if text in ("-", NOT_RECORDED) else text


def _table(columns: Sequence[str], lines: Iterable[Mapping[str, Cell]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(_cells(columns, line) for line in lines)
    return stream.getvalue()


def _cells(columns: Sequence[str], line: Mapping[str, Cell]) -> Iterator[str]:
    for column in columns:
        value = line.get(column)
        if isinstance(value, bool):
            yield "true" if value else "false"
        else:
            yield "" if value is None else repr(value) if isinstance(value, float) else str(value)
