"""How two builds' or two sides' latencies of the same rows compare, per operator and dtype (R14).

Only a row that succeeded on both sides, with latencies taken alike, is a pair. Every other row still counts in the total,
so that an incomplete pairing can not look like a complete range.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from zl_bench.analysis.measured import Measured, Spread, by_group, comparable, ratio, rowless, spread_of

DirectSides = Literal["-", "before", "after", "both"]
Key: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Comparison:
    """One operator with one dtype, on both sides. `total` counts the distinct rows of the two sides, failed ones included."""

    operator: str
    dtype: str
    total: int
    failed_before: int
    failed_after: int
    speedups: tuple[float, ...]
    """before / after of each pair, above 1 is faster."""
    direct: DirectSides
    """The sides that have a row which carries BENCHMARK_DIRECT_NO_CUDAGRAPH, paired or not."""
    only_before: int = 0
    """Rows that the after side does not have at all."""
    only_after: int = 0
    otherwise: tuple[str, ...] = ()
    """Of each row that both sides measured, but by different methods or L2 policies: which."""
    incomparable: int = 0
    """Rows whose two latencies are further apart than a number can say."""
    failures_before: tuple[str, ...] = ()
    """Why rows failed, a reason for each."""
    failures_after: tuple[str, ...] = ()
    launch_bound: int = 0
    """Pairs of which a side's latency is the host's."""

    @property
    def paired(self) -> int:
        """How many rows are pairs."""
        return len(self.speedups)

    @property
    def spread(self) -> Spread | None:
        """The speed-ups together, None without any."""
        return spread_of(self.speedups)


def compare(
    before: Sequence[Measured], after: Sequence[Measured], tried: Collection[tuple[str, str]] = ()
) -> tuple[Comparison, ...]:
    """A comparison for each operator and dtype that either side has, sorted by them.

    Neither order of the rows matters. The rows of one side must differ in (node, operator, dtype, detail, ordinal) and in
    (operator, dtype, detail, occurrence). Recorded rows pair within their test; where a side does not know the tests,
    rows pair by operator, dtype, detail and occurrence. Of those that were `tried` on either side, with an empty dtype
    where it is not known, one that has no row is there with none.
    """
    key = _key_with_node if all(row.node for row in (*before, *after)) else _key_without_node
    old, new = by_group(before), by_group(after)
    return tuple(
        _comparison(group, {key(row): row for row in old.get(group, ())}, {key(row): row for row in new.get(group, ())})
        for group in sorted({*old, *new, *rowless(tried, {*old, *new})})
    )


def all_speedups(comparisons: Sequence[Comparison]) -> Spread | None:
    """The speed-ups of all pairs of all operators together, None without any."""
    return spread_of([speedup for comparison in comparisons for speedup in comparison.speedups])


def _key_with_node(row: Measured) -> Key:
    return row.node, row.detail, row.ordinal


def _key_without_node(row: Measured) -> Key:
    return row.detail.strip(), row.occurrence


def _comparison(group: tuple[str, str], before: dict[Key, Measured], after: dict[Key, Measured]) -> Comparison:
    speedups, otherwise, incomparable, launch_bound = [], [], 0, 0
    for key in before.keys() & after.keys():
        old, new = before[key], after[key]
        if old.own is None or new.own is None:
            continue
        speedup = ratio(old.own, new.own)
        if not comparable(old.own, new.own):
            otherwise.append(f"before {old.own.regime}; after {new.own.regime}")
        elif speedup is None:
            incomparable += 1
        else:
            speedups.append(speedup)
            launch_bound += old.launch_bound or new.launch_bound
    return Comparison(
        *group,
        total=len(before.keys() | after.keys()),
        failed_before=len(_failures(before)),
        failed_after=len(_failures(after)),
        speedups=tuple(sorted(speedups)),
        direct=_direct_sides(_any(before, lambda row: row.direct), _any(after, lambda row: row.direct)),
        only_before=len(before.keys() - after.keys()),
        only_after=len(after.keys() - before.keys()),
        otherwise=tuple(sorted(otherwise)),
        incomparable=incomparable,
        failures_before=_failures(before),
        failures_after=_failures(after),
        launch_bound=launch_bound,
    )


def _failures(rows: dict[Key, Measured]) -> tuple[str, ...]:
    return tuple(sorted(row.failure for row in rows.values() if row.own is None))


def _any(rows: dict[Key, Measured], holds: Callable[[Measured], bool]) -> bool:
    return any(holds(row) for row in rows.values())


def _direct_sides(before: bool, after: bool) -> DirectSides:
    if before and after:
        return "both"
    return "before" if before else "after" if after else "-"
