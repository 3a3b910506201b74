"""Rounds of an A/B measurement as numbers: what was measured, and one log ratio per row and round.

A round is a fresh pair of processes, and the unit that n counts: samples inside a process give its median, and nothing more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from zl_bench.model import RowKey, Side

Numbers: TypeAlias = NDArray[np.float64]
Marks: TypeAlias = NDArray[np.bool_]

RESOLUTION = 1e-6
"""The share of a latency below which no clock tells two apart: closer ones are equal but for how they were written."""

COARSEST = 1e6
"""Ticks in terms of the latency that they count: coarser ones say as little."""


@dataclass(frozen=True)
class RoundMedian:
    """What one side of one round measured of one row: the median of its samples, in milliseconds."""

    key: RowKey
    round: int
    side: Side
    median_ms: float
    """Positive and finite."""
    identical: bool
    """Machine code, configuration and launch are those of the other side."""
    first: Side | None = None
    """Which side of the round went first, None where nobody said."""
    launch_bound: bool = False
    """The host was slower than the device, so that this is the host's time."""


@dataclass(frozen=True, eq=False)
class Rounds:
    """Rows by rounds. `before` and `after` are in milliseconds, NaN in both where a round has not both sides of a row."""

    keys: tuple[RowKey, ...]
    """Sorted as tables list them, so that nothing depends on the order in which rows were measured or written."""
    numbers: tuple[int, ...]
    """The rounds' own numbers, ascending."""
    before: Numbers
    after: Numbers
    placebo: Marks
    """Rows that were identical on both sides in all rounds: whatever they show is noise."""
    launch_bound: Marks
    """Rows of which some median is the host's."""
    tick_ms: float
    """The step in which the timer counts."""

    @property
    def logs(self) -> Numbers:
        """ln(after / before), negative is faster; exactly the opposite if the sides change places."""
        return np.log(self.after) - np.log(self.before)

    @property
    def tick_variance(self) -> Numbers:
        """Of each row, the variance that counting in ticks alone gives a log ratio: the two sides' rounding errors."""
        with np.errstate(
            over="ignore", divide="ignore"
        ):  # of latencies so far below a tick that no number says how far
            steps = [np.minimum(self.tick_ms / _typical(side), COARSEST) for side in (self.before, self.after)]
        return np.asarray((steps[0] ** 2 + steps[1] ** 2) / 12)

    def first_rounds(self, count: int) -> Rounds:
        """The first so many rounds alone, as an early look sees them."""
        return replace(self, numbers=self.numbers[:count], before=self.before[:, :count], after=self.after[:, :count])


def pair_rounds(medians: Iterable[RoundMedian], tick_ms: float | None = None) -> Rounds:
    """Pair the two sides of each row's rounds. A side must have one median per row and round.

    Without `tick_ms`, the tick is read off the medians (`tick_of`). Rows without a pair are there, with NaN throughout.
    """
    found = tuple(medians)
    keys = tuple(sorted({median.key for median in found}, key=table_place))
    numbers = tuple(sorted({median.round for median in found}))
    row = {key: place for place, key in enumerate(keys)}
    column = {number: place for place, number in enumerate(numbers)}
    sides = {side: np.full((len(keys), len(numbers)), np.nan) for side in ("before", "after")}
    placebo, launch_bound = np.ones(len(keys), dtype=bool), np.zeros(len(keys), dtype=bool)
    for median in found:
        sides[median.side][row[median.key], column[median.round]] = median.median_ms
        placebo[row[median.key]] &= median.identical
        launch_bound[row[median.key]] |= median.launch_bound
    before, after = sides["before"], sides["after"]
    unpaired = np.isnan(before) | np.isnan(after)
    before[unpaired] = after[unpaired] = np.nan
    used = ~unpaired.all(axis=0) if keys else np.zeros(0, dtype=bool)
    tick = tick_of(median.median_ms for median in found) if tick_ms is None else tick_ms
    kept = tuple(number for number, is_used in zip(numbers, used, strict=True) if is_used)
    return Rounds(keys, kept, before[:, used], after[:, used], placebo, launch_bound, tick)


def table_place(key: RowKey) -> tuple[str, str, str, int, str]:
    """The place of a row in every table of rounds."""
    return key.operator, key.dtype, key.node, key.ordinal, key.detail


def tick_of(medians_ms: Iterable[float]) -> float:
    """The timer's tick as the medians show it: the smallest step between two different ones, 0 without any.

    Two values of a grid are at least a tick apart, so this is never less than the tick; with many values it is the tick.
    Medians that are on no grid lie so close together that what is found is far below their noise.
    """
    values = np.unique(np.fromiter(medians_ms, dtype=np.float64))
    steps = np.diff(values)
    real = steps[steps > RESOLUTION * values[1:]]
    return float(real.min()) if real.size else 0.0


def one_sided_order(medians: Collection[RoundMedian]) -> Side | None:
    """The side that went first in every round, None where both did, nobody said, or there is one round alone."""
    first = {(median.round, median.first) for median in medians if median.first is not None}
    sides = {side for _, side in first}
    return sides.pop() if len(sides) == 1 and len(first) > 1 else None


def _typical(latencies: Numbers) -> Numbers:
    """The geometric mean of each row, NaN of a row without any."""
    measured = ~np.isnan(latencies)
    logs = np.where(measured, np.log(np.where(measured, latencies, 1.0)), 0.0)
    count = measured.sum(axis=1)
    mean = np.exp(logs.sum(axis=1) / np.maximum(count, 1))
    return np.where(count > 0, mean, np.nan)
