"""How operators compare with their torch baselines, per operator and dtype (R13)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from zl_bench.analysis.measured import Measured, Spread, by_group, comparable, ratio, rowless, spread_of


@dataclass(frozen=True)
class OperatorSummary:
    """One operator with one dtype. `rows` counts them all, the failed ones included."""

    operator: str
    dtype: str
    rows: int
    failed: int
    speedups: tuple[float, ...]
    """torch / operator, above 1 is faster than torch, of the rows in which both have a latency taken alike."""
    direct: bool
    """Some row, or its torch baseline, was not timed by graph replay: BENCHMARK_DIRECT_NO_CUDAGRAPH."""
    without_torch: int = 0
    """Rows that did not fail and have no torch latency."""
    otherwise: tuple[str, ...] = ()
    """Of each row whose two latencies were taken in different ways: which."""
    failures: tuple[str, ...] = ()
    """Why rows failed, a reason for each."""
    launch_bound: int = 0

    @property
    def spread(self) -> Spread | None:
        """The speed-ups together, None without any."""
        return spread_of(self.speedups)


def summarise(rows: Iterable[Measured], tried: Collection[tuple[str, str]] = ()) -> tuple[OperatorSummary, ...]:
    """A summary of each operator and dtype, sorted by them. The order of the rows does not matter.

    Of those that were `tried`, with an empty dtype where it is not known, one that has no row is there with none.
    """
    groups = by_group(rows)
    return tuple(_summary(group, groups.get(group, ())) for group in sorted({*groups, *rowless(tried, groups)}))


def all_speedups(summaries: Sequence[OperatorSummary]) -> Spread | None:
    """The speed-ups of all rows of all operators together, None without any."""
    return spread_of([speedup for summary in summaries for speedup in summary.speedups])


def _summary(group: tuple[str, str], rows: Sequence[Measured]) -> OperatorSummary:
    speedups, otherwise, without_torch = [], [], 0
    for row in rows:
        if row.own is None:
            continue
        speedup = ratio(row.torch, row.own) if row.torch is not None else None
        if row.torch is None or speedup is None:
            without_torch += 1
        elif not comparable(row.torch, row.own):
            otherwise.append(f"torch {row.torch.regime}; operator {row.own.regime}")
        else:
            speedups.append(speedup)
    return OperatorSummary(
        *group,
        rows=len(rows),
        failed=sum(row.own is None for row in rows),
        speedups=tuple(sorted(speedups)),
        direct=any(row.direct or row.torch_direct for row in rows),
        without_torch=without_torch,
        otherwise=tuple(sorted(otherwise)),
        failures=tuple(sorted(row.failure for row in rows if row.own is None)),
        launch_bound=sum(row.launch_bound for row in rows),
    )
