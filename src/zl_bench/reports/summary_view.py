"""What a summary of latencies says: every cell as it is shown and as it is counted, so that no renderer computes anything."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from zl_bench.analysis.ab import Comparison
from zl_bench.analysis.ab import all_speedups as all_pairs
from zl_bench.analysis.measured import Spread
from zl_bench.analysis.summary import OperatorSummary, all_speedups
from zl_bench.analysis.wording import counted, listed

Value: TypeAlias = str | int | float | None
"""As JSON holds it; None where there is no number."""

AB_COLUMNS = (
    "operator", "dtype", "paired", "total", "failed_before", "failed_after", "geomean", "min", "max", "direct",
)  # fmt: skip
AB_HEADINGS = (
    "operator", "dtype", "paired/total", "failed before", "failed after", "geomean", "min", "max", "direct",
)  # fmt: skip
TORCH_COLUMNS = ("operator", "dtype", "rows", "failed", "geomean", "min", "median", "max", "direct")
ABSENT = "-"
BLANKS = re.compile(r"\s+")
INVISIBLE = ("Cc", "Cf", "Cs")
"""Unicode's controls, its format characters, which turn or hide the text around them, and halves of characters."""


@dataclass(frozen=True)
class SummaryLine:
    """One operator with one dtype: `values` and `exact` have a place per column, `cells` one per heading."""

    values: tuple[Value, ...]
    exact: tuple[str, ...]
    """For a machine: six significant digits."""
    cells: tuple[str, ...]
    """For people."""


@dataclass(frozen=True)
class SummaryView:
    """Everything that a summary shows, in the order in which it shows it."""

    title: str
    columns: tuple[str, ...]
    headings: tuple[str, ...]
    lines: tuple[SummaryLine, ...]
    totals: str
    total_values: tuple[tuple[str, Value], ...]
    notes: tuple[str, ...]
    """What must be known to read the numbers rightly, a sentence each."""


def torch_view(operators: Sequence[OperatorSummary], sources: Sequence[str], notes: Sequence[str]) -> SummaryView:
    """The view of operators against their torch baselines."""
    total = all_speedups(operators)
    rows, failed = sum(entry.rows for entry in operators), sum(entry.failed for entry in operators)
    compared, number = sum(len(entry.speedups) for entry in operators), _operators(operators)
    rowless = any(not entry.rows for entry in operators)
    return SummaryView(
        title=clean(f"speed-up over torch (torch / operator, above 1 is faster): {', '.join(sources)}"),
        columns=TORCH_COLUMNS,
        headings=TORCH_COLUMNS,
        lines=tuple(_torch_line(entry) for entry in operators),
        totals=(
            f"{counted(number, 'operator')}, {counted(rows, 'row')} ({failed} failed), {compared}/{rows} rows compared with "
            f"torch{_incomplete(compared, rows, rowless)}, geometric mean of those compared "
            f"{readable(total.geomean if total else None)}"
        ),
        total_values=(
            ("operators", number),
            ("rows", rows),
            ("failed", failed),
            ("compared", compared),
            ("geomean", total.geomean if total else None),
        ),
        notes=tuple(map(clean, (*notes, *(note for entry in operators for note in _torch_notes(entry))))),
    )


def ab_view(operators: Sequence[Comparison], before: str, after: str, notes: Sequence[str]) -> SummaryView:
    """The view of two sides against each other."""
    total = all_pairs(operators)
    paired, rows = sum(entry.paired for entry in operators), sum(entry.total for entry in operators)
    number, rowless = _operators(operators), any(not entry.total for entry in operators)
    return SummaryView(
        title=clean(f"before / after, above 1 is faster: before {before}, after {after}"),
        columns=AB_COLUMNS,
        headings=AB_HEADINGS,
        lines=tuple(_ab_line(entry) for entry in operators),
        totals=(
            f"{counted(number, 'operator')}, {paired}/{rows} rows paired"
            f"{_incomplete(paired, rows, rowless)}, geometric mean of all paired rows "
            f"{readable(total.geomean if total else None)}"
        ),
        total_values=(
            ("operators", number),
            ("paired", paired),
            ("total", rows),
            ("geomean", total.geomean if total else None),
        ),
        notes=tuple(map(clean, (*notes, *(note for entry in operators for note in _ab_notes(entry))))),
    )


def _torch_line(entry: OperatorSummary) -> SummaryLine:
    speed = _numbers(entry.spread, "geomean", "smallest", "median", "largest")
    direct = "yes" if entry.direct else ABSENT
    values = (clean(entry.operator), clean(entry.dtype), entry.rows, entry.failed, *speed, direct)
    return SummaryLine(values, tuple(map(exact, values)), tuple(map(readable, values)))


def _ab_line(entry: Comparison) -> SummaryLine:
    names = (clean(entry.operator), clean(entry.dtype))
    rest = (
        entry.failed_before,
        entry.failed_after,
        *_numbers(entry.spread, "geomean", "smallest", "largest"),
        entry.direct,
    )
    values = (*names, entry.paired, entry.total, *rest)
    cells = (*names, f"{entry.paired}/{entry.total}", *map(readable, rest))
    return SummaryLine(values, tuple(map(exact, values)), cells)


def _torch_notes(entry: OperatorSummary) -> Iterator[str]:
    name = f"{entry.operator} {entry.dtype}"
    if entry.failed:
        yield f"{name}: {counted(entry.failed, 'row')} failed ({_reasons(entry.failures)})"
    if entry.without_torch:
        yield f"{name}: {counted(entry.without_torch, 'row')} without a torch latency, not in the range"
    if entry.otherwise:
        rows = counted(len(entry.otherwise), "row")
        yield f"{name}: {rows} whose torch latency was taken another way, not in the range ({_reasons(entry.otherwise)})"
    if entry.launch_bound:
        yield f"{name}: {counted(entry.launch_bound, 'row')} LAUNCH_BOUND, where the host was slower than the device"
    if entry.direct:
        yield f"{name}: has rows that were not timed by graph replay (BENCHMARK_DIRECT_NO_CUDAGRAPH)"


def _ab_notes(entry: Comparison) -> Iterator[str]:
    name = f"{entry.operator} {entry.dtype}"
    for side, failures in (("before", entry.failures_before), ("after", entry.failures_after)):
        if failures:
            yield f"{name}: {counted(len(failures), 'row')} failed {side} ({_reasons(failures)})"
    for side, rows in (("before", entry.only_before), ("after", entry.only_after)):
        if rows:
            yield f"{name}: {counted(rows, 'row')} only {side}"
    if entry.otherwise:
        rows = len(entry.otherwise)
        yield (
            f"{name}: {counted(rows, 'row')} timed by different methods or L2 policies on the two sides, no "
            f"pair{'' if rows == 1 else 's'} ({_reasons(entry.otherwise)})"
        )
    if entry.incomparable:
        yield f"{name}: {counted(entry.incomparable, 'row')} whose latencies are too far apart for a ratio, no pair"
    if entry.launch_bound:
        yield f"{name}: {counted(entry.launch_bound, 'pair')} LAUNCH_BOUND, where the host was slower than the device"
    if entry.direct != ABSENT:
        sides = "both sides have" if entry.direct == "both" else f"the {entry.direct} side has"
        yield f"{name}: {sides} rows that were not timed by graph replay (BENCHMARK_DIRECT_NO_CUDAGRAPH)"


def _operators(operators: Sequence[OperatorSummary] | Sequence[Comparison]) -> int:
    return len({entry.operator for entry in operators})


def _incomplete(part: int, whole: int, rowless: bool) -> str:
    """A word for rows, or an operator with all its rows, that are not part of the whole."""
    return " (incomplete)" if part < whole or rowless else ""


def _reasons(reasons: Sequence[str]) -> str:
    """The most frequent first, with how often each occurs where it is more than once."""
    return listed(f"{reason} ×{times}" if times > 1 else reason for reason, times in Counter(reasons).most_common())


def _numbers(spread: Spread | None, *names: str) -> tuple[float | None, ...]:
    return tuple(None if spread is None else float(getattr(spread, name)) for name in names)


def exact(value: Value) -> str:
    """For a machine: six significant digits."""
    if value is None:
        return ABSENT
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def readable(value: Value) -> str:
    """For people."""
    if isinstance(value, float):
        return f"{value:.4f}" if 0.1 <= value < 1e6 else f"{value:.4g}"
    return exact(value)


def clean(text: str) -> str:
    """A line stays a line and a cell a cell, whatever a name or a message holds; what can not be seen is shown escaped."""
    line = BLANKS.sub(" ", text).strip()
    return "".join(
        character.encode("unicode_escape").decode() if unicodedata.category(character) in INVISIBLE else character
        for character in line
    )
