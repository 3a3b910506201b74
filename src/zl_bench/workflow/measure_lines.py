"""A pair that has ended, as lines of the record: what was measured of each row, and everything that it was measured by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zl_bench.analysis.disturbances import Beside
from zl_bench.analysis.measurable import RowToMeasure
from zl_bench.model import SIDES, RowKey, Side
from zl_bench.store.timed_rows import TimedRow, TimedTurn, reading_record
from zl_bench.workflow.measure_pair import PairOfRuns, RanPair, first_side
from zl_bench.workflow.measure_work import NodeToMeasure

Hashes = Mapping[Side, Mapping[RowKey, Sequence[Mapping[str, Any]]]]


@dataclass(frozen=True)
class PairedTimes:
    """The rows of a pair that both sides have timed by one method, and why the others are not among them."""

    rows: Mapping[RowKey, Mapping[Side, TimedRow]]
    missing: Mapping[RowKey, str]


def paired_times(node: NodeToMeasure, pair: RanPair) -> PairedTimes:
    """Sort the rows of a pair."""
    rows: dict[RowKey, Mapping[Side, TimedRow]] = {}
    missing: dict[RowKey, str] = {}
    for key in node.rows:
        found = {side: pair.timed[side].rows.get(key) for side in SIDES}
        both = {side: row for side, row in found.items() if row is not None and not row.latency.invalid}
        regimes = {(row.latency.method, row.latency.l2) for row in both.values()}
        if len(both) < len(SIDES):
            missing[key] = pair.passed.get(key) or "; ".join(_why_not(found))
        elif len(regimes) > 1:
            missing[key] = f"the sides were timed by different methods: {', '.join(sorted(map(' '.join, regimes)))}"
        else:
            rows[key] = both
    return PairedTimes(rows, missing)


def beside(rows: Mapping[RowKey, Mapping[Side, TimedRow]]) -> list[Beside]:
    """What the card told beside every turn of these rows."""
    return [
        Beside(f"{key.operator} {key.dtype} {key.detail}", side, turn.before, turn.after, len(row.others))
        for key, sides in rows.items()
        for side, row in sides.items()
        for turn in row.turns
    ]


def round_lines(
    node: NodeToMeasure,
    number: int,
    pair: RanPair,
    times: PairedTimes,
    hashes: Hashes,
    how: PairOfRuns,
    common: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """A line for each side of each row. `common` is what all lines of the measurement say alike."""
    return [
        _line(node.rows[key], number, side, row)
        | {
            "first": first_side(node, number, how, key),
            "kernels": hashes[side].get(key, ()),
            "card": pair.timed[side].card,
            "started": pair.started,
            **common,
            "switch_value": common["switch_value"][side],
            "triton": common["triton"][side],
        }
        for key, sides in times.rows.items()
        for side, row in sides.items()
    ]


def _line(row: RowToMeasure, number: int, side: Side, timed: TimedRow) -> dict[str, Any]:
    key, latency = row.key, timed.latency
    return {
        "operator": key.operator,
        "dtype": key.dtype,
        "node": key.node,
        "ordinal": key.ordinal,
        "detail": key.detail,
        "round": number,
        "side": side,
        "median_ms": latency.median_ms,
        "identical": row.kind == "placebo",
        "launch_bound": latency.launch_bound,
        "numerics_differ": row.numerics_differ,
        "q1_ms": latency.q1_ms,
        "q3_ms": latency.q3_ms,
        "min_ms": latency.min_ms,
        "samples": latency.samples,
        "warmup_ms": timed.warmup_ms,
        "method": latency.method,
        "l2": latency.l2,
        "fell_back": [{"method": method, "why": why} for method, why in latency.fell_back],
        "turns": [_turn(turn) for turn in timed.turns],
        "before": reading_record(latency.before),
        "after": reading_record(latency.after),
        "others": list(timed.others),
        "t": timed.told,
    }


def _turn(turn: TimedTurn) -> dict[str, Any]:
    return {
        "median_ms": turn.median_ms,
        "samples": turn.samples,
        "before": reading_record(turn.before),
        "after": reading_record(turn.after),
    }


def _why_not(found: Mapping[Side, TimedRow | None]) -> Iterator[str]:
    for side, row in found.items():
        if row is None:
            yield f"{side}: it was not reached"
        elif row.latency.invalid:
            yield f"{side}: {row.latency.invalid}"
