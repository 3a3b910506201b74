"""One measured row as a report shows it, with each of its rounds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from zl_bench.analysis.judgement import JudgedRow
from zl_bench.analysis.rounds import RoundMedian
from zl_bench.model import SIDES, Side
from zl_bench.reports import report_words
from zl_bench.reports.report_view import NOT_RECORDED, RoundView, TimingView
from zl_bench.store.measure_record import Line


def timing_view(row: JudgedRow, medians: Sequence[RoundMedian], lines: Sequence[Line]) -> TimingView:
    """A row from its medians, and from what stands beside them in their lines."""
    rounds = tuple(_rounds(medians))
    ranged = row.rounds > 1
    return TimingView(
        source="measure",
        before_ms=row.before_ms,
        after_ms=row.after_ms,
        speedup=row.speedup,
        low=row.ci_low if ranged else None,
        high=row.ci_high if ranged else None,
        q=row.q,
        mde=row.mde,
        verdict=row.verdict.value,
        kind="placebo" if row.placebo else "changed",
        paired=row.rounds,
        of=len(rounds),
        rounds=rounds,
        method=_by_side(lines, "method"),
        l2=_by_side(lines, "l2"),
        launch_bound=any(median.launch_bound for median in medians),
        clocks=_clocks(lines),
        basis=report_words.row_basis(row.rounds, len(rounds)),
        note="" if row.speedup is not None else "no round has both sides",
    )


def _rounds(medians: Sequence[RoundMedian]) -> Iterator[RoundView]:
    sides: dict[int, dict[Side, RoundMedian]] = defaultdict(dict)
    for median in medians:
        sides[median.round][median.side] = median
    for number in sorted(sides):
        found = sides[number]
        before, after = (found[side].median_ms if side in found else None for side in SIDES)
        first = next((median.first for median in found.values() if median.first is not None), None)
        yield RoundView(number, before, after, _ratio(before, after), first or "")


def _ratio(before: float | None, after: float | None) -> float | None:
    return before / after if before is not None and after is not None and before / after < float("inf") else None


def _by_side(lines: Sequence[Line], name: str) -> str:
    """What the lines say under that name: once where both sides agree, else of each side."""
    values = {side: _joined(line.get(name) for line in lines if line.get("side") == side) for side in SIDES}
    if values["before"] == values["after"]:
        return values["before"] or NOT_RECORDED
    return ", ".join(report_words.side_texts(values))


def _joined(values: Iterator[Any]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values if value))


def _clocks(lines: Sequence[Line]) -> str:
    found = {
        side: report_words.clock_range(
            [clock for line in lines if line.get("side") == side for clock in clock_readings(line)]
        )
        for side in SIDES
    }
    return ", ".join(report_words.side_texts(found)) or NOT_RECORDED


def clock_readings(line: Line) -> Iterator[int]:
    """The clocks of the card beside a median, in MHz."""
    for value in (line.get("clock_mhz"), *(_of(line.get(moment), "clock_mhz") for moment in SIDES)):
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < float("inf"):
            yield round(value)


def _of(record: Any, name: str) -> Any:
    return record.get(name) if isinstance(record, dict) else None
