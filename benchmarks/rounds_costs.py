"""What measuring an operator will take, by what earlier ones took, so that nothing is begun that can not end in time."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

from card_results import Line, Results
from rounds_results import PARTS, Measured

from zl_bench.store.measure_record import row_of

STARTING = 20.0
"""Seconds that a measurement takes beside its rows: two sides start, and import the suite's library."""
PER_ROW = 8.0
"""Seconds of all rounds of a row, until one was measured."""
USUAL_ROWS = 5
MARGIN = 1.15


@dataclass(frozen=True)
class Costs:
    """Seconds by operator, as far as they are known, and of a row of any."""

    walls: dict[str, float]
    per_row: float

    @classmethod
    def of(cls, results: Results, per_row: float = PER_ROW) -> Costs:
        """From the measurements that were done in one go."""
        whole = [line for part in PARTS for line in results.done(part) if _whole(line)]
        walls: dict[str, float] = {}
        for line in whole:
            walls[line["name"]] = max(line["wall"], walls.get(line["name"], 0.0))
        each = list(_each_row(whole))
        return cls(walls, statistics.median(each) if each else per_row)

    def expected(self, name: str, rows: int | None) -> float:
        """Of the operator with so many rows, where that is known."""
        fresh = STARTING + self.per_row * (rows or USUAL_ROWS)
        return MARGIN * self.walls.get(name, fresh)


def _whole(line: Line) -> bool:
    return bool(line["record"]) and not line["resumed"]


def _each_row(lines: Iterable[Line]) -> Iterable[float]:
    for line in lines:
        rows = {row_of(one) for one in Measured(line).told("round")}
        if rows:
            yield max(0.0, line["wall"] - STARTING) / len(rows)
