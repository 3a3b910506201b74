"""Rows by their latencies alone, whatever they were read from: recorded runs, or text that a benchmark printed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from zl_bench.model import L2Policy, TimingMethod


@dataclass(frozen=True)
class Regime:
    """Under what a latency was taken; only latencies of the same one can be compared."""

    method: TimingMethod
    l2: L2Policy

    def __str__(self) -> str:
        return f"{self.method}, L2 {self.l2}"


@dataclass(frozen=True)
class Timed:
    """A valid latency in milliseconds. `regime` is None where nobody said how it was taken, as in a text log."""

    milliseconds: float
    regime: Regime | None = None


@dataclass(frozen=True)
class Measured:
    """One row of a source. `own` is the operator's latency, None in a failed row; `torch` that of its torch baseline."""

    operator: str
    dtype: str
    detail: str
    node: str
    """Empty where nobody said which test it came from, as in a text log."""
    ordinal: int
    """Counts the rows of one (node, operator, dtype, detail) of the source from 0."""
    occurrence: int
    """Counts the rows of one (operator, dtype, detail) of the source from 0, whatever their node."""
    own: Timed | None
    failure: str = ""
    """Why there is no latency, empty where there is one."""
    torch: Timed | None = None
    direct: bool = False
    """Carries BENCHMARK_DIRECT_NO_CUDAGRAPH: it was not timed by graph replay (R12)."""
    torch_direct: bool = False
    """The same of its torch baseline."""
    launch_bound: bool = False
    """The host was slower than the device, so that the latency is the host's."""

    @property
    def group(self) -> tuple[str, str]:
        """What a line of a summary is about: operator and dtype."""
        return self.operator, self.dtype


@dataclass(frozen=True)
class Spread:
    """Speed-ups of some rows together."""

    geomean: float
    smallest: float
    median: float
    largest: float


def spread_of(speedups: Sequence[float]) -> Spread | None:
    """The spread of positive, finite speed-ups, None of none. Their order does not matter, to the last digit."""
    if not speedups:
        return None
    return Spread(geometric_mean(speedups), min(speedups), statistics.median(speedups), max(speedups))


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive, finite values, at least one; within their range, which rounding alone could leave."""
    mean = math.exp(math.fsum(map(math.log, values)) / len(values))
    return min(max(mean, min(values)), max(values))


def by_group(rows: Iterable[Measured]) -> dict[tuple[str, str], list[Measured]]:
    """The rows by operator and dtype, sorted."""
    groups: dict[tuple[str, str], list[Measured]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return dict(sorted(groups.items()))


def rowless(tried: Collection[tuple[str, str]], measured: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """The operators and dtypes that were tried and are not among the measured ones; `-` where no dtype is known."""
    known = {(operator, dtype) for operator, dtype in tried if dtype} - {*measured}
    operators = {operator for operator, _ in (*measured, *known)}
    return known | {(operator, "-") for operator, dtype in tried if not dtype and operator not in operators}


def ratio(above: Timed, below: Timed) -> float | None:
    """How many times `above` takes what `below` takes, None where no number can say it: latencies absurdly far apart."""
    value = above.milliseconds / below.milliseconds
    return value if 0 < value < math.inf else None


def comparable(one: Timed, other: Timed) -> bool:
    """Whether the two latencies were taken alike, as far as it is known."""
    return one.regime is None or other.regime is None or one.regime == other.regime
