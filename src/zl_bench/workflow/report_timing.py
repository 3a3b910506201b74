"""What a screen that timed its rows says of each: a single pair of processes, which is one round and no verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping

from zl_bench.analysis.measured import Regime
from zl_bench.model import SIDES, Latency, Row, Side
from zl_bench.reports import report_words
from zl_bench.reports.report_view import NOT_RECORDED, RoundView, TimingView


def screen_timing(before: Row | None, after: Row | None) -> TimingView | None:
    """What a screen that timed its rows says of one: one round. None where nothing was timed."""
    rows: tuple[tuple[Side, Row | None], ...] = (("before", before), ("after", after))
    timed = {side: row.latency for side, row in rows if row is not None and row.latency is not None}
    if not timed:
        return None
    medians = {side: latency.median_ms for side, latency in timed.items() if not latency.invalid}
    note = _why_no_ratio(timed)
    old, new = medians.get("before"), medians.get("after")
    speedup = old / new if old is not None and new is not None and not note and math.isfinite(old / new) else None
    methods, policies = ({side: getattr(timed[side], name) for side in timed} for name in ("method", "l2"))
    return TimingView(
        source="screen",
        before_ms=old,
        after_ms=new,
        speedup=speedup,
        low=None,
        high=None,
        q=None,
        mde=None,
        verdict="",
        kind="",
        paired=int(speedup is not None),
        of=1,
        rounds=(RoundView(0, old, new, speedup, ""),) if medians else (),
        method=_of_both(methods),
        l2=_of_both(policies),
        launch_bound=any(latency.launch_bound for latency in timed.values()),
        clocks=_clocks(timed),
        basis=report_words.row_basis(int(speedup is not None), 1),
        note=note,
    )


def _why_no_ratio(timed: Mapping[Side, Latency]) -> str:
    parts = [f"{side}: {'was not timed' if side not in timed else timed[side].invalid}" for side in SIDES
             if side not in timed or timed[side].invalid]  # fmt: skip
    if parts:
        return "; ".join(parts)
    regimes = {side: Regime(timed[side].method, timed[side].l2) for side in SIDES}
    if regimes["before"] != regimes["after"]:
        return f"no pair: timed by {regimes['before']} before and {regimes['after']} after"
    return ""


def _of_both(values: Mapping[Side, str]) -> str:
    if len(set(values.values())) == 1:
        return next(iter(values.values()))
    return ", ".join(report_words.side_texts(values))


def _clocks(timed: Mapping[Side, Latency]) -> str:
    readings: dict[Side, list[int]] = {
        side: [
            reading.clock_mhz
            for reading in (latency.before, latency.after)
            if reading is not None and reading.clock_mhz is not None
        ]
        for side, latency in timed.items()
    }
    texts = {side: report_words.clock_range(clocks) for side, clocks in readings.items()}
    return ", ".join(report_words.side_texts(texts)) or NOT_RECORDED
