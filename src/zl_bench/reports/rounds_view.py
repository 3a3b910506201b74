"""What a judgement over rounds says: every cell as it is shown and as it is counted, so that no renderer computes anything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from zl_bench.analysis.judgement import JudgedGroup, JudgedRow, Judgement, SpeedVerdict
from zl_bench.analysis.wording import counted, listed
from zl_bench.model import RowKey
from zl_bench.reports.summary_view import ABSENT, SummaryLine, SummaryView, Value, clean, exact, readable

COLUMNS = (
    "operator", "dtype", "node", "ordinal", "detail", "kind", "rounds", "before_ms", "after_ms", "speedup", "ci_low", "ci_high",
    "q", "mde", "verdict", "timing", "clock_before", "clock_after", "dropped",
)  # fmt: skip
"""Of the table that scripts read, in order."""
HEADINGS = (
    "operator", "dtype", "detail", "kind", "rounds", "before ms", "after ms", "speedup", "95 % interval", "q", "mde", "verdict",
)  # fmt: skip


@dataclass(frozen=True)
class Circumstances:
    """How a row was measured, as far as it was recorded; the clocks are of the sides, in MHz."""

    timing: str = ABSENT
    clock_before: int | None = None
    clock_after: int | None = None
    dropped: int | None = None
    """Pairs of its operator that were measured and can not be used."""
    numerics_differ: bool = False
    """The screen found that the sides compute different things: no word about speed stands without saying so."""


UNKNOWN = Circumstances()
NOT_RECORDED: Mapping[RowKey, Circumstances] = {}


@dataclass(frozen=True)
class RoundsView:
    """Everything that a judgement shows."""

    table: SummaryView
    operators: tuple[dict[str, Value], ...]
    """Of each operator, the geometric mean of its rows with an interval, by name."""
    operator_lines: tuple[str, ...]

    @property
    def printed(self) -> SummaryView:
        """The table with the operators among its notes."""
        return replace(self.table, notes=(*self.operator_lines, *self.table.notes))


def rounds_view(
    judgement: Judgement,
    source: str,
    notes: Sequence[str],
    circumstances: Mapping[RowKey, Circumstances] = NOT_RECORDED,
) -> RoundsView:
    """The view of a judgement of what `source` holds."""
    words = Counter(row.verdict.value for row in judgement.rows)
    tallies = listed(
        (f"{words[verdict.value]} {verdict.value}" for verdict in SpeedVerdict if words[verdict.value]), shown=9
    )
    table = SummaryView(
        title=clean(f"speed-up (before / after, above 1 is faster): {source}"),
        columns=COLUMNS,
        headings=HEADINGS,
        lines=tuple(_line(row, circumstances.get(row.key, UNKNOWN)) for row in judgement.rows),
        totals=f"{counted(len(judgement.rows), 'row')}: {tallies}; {described(judgement.suite)}",
        total_values=tuple(_totals(judgement)),
        notes=tuple(map(clean, (*_calibration(judgement), *notes))),
    )
    return RoundsView(
        table=table,
        operators=tuple(map(_named_values, judgement.operators)),
        operator_lines=tuple(clean(described(group)) for group in judgement.operators),
    )


def _line(row: JudgedRow, measured: Circumstances) -> SummaryLine:
    key = row.key
    verdict = row.verdict.value + (" (numerics differ)" if measured.numerics_differ else "")
    names = (clean(key.operator), clean(key.dtype))
    kind = "placebo" if row.placebo else "changed"
    values: tuple[Value, ...] = (
        *names, clean(key.node) or ABSENT, key.ordinal, clean(key.detail) or ABSENT, kind, row.rounds, row.before_ms,
        row.after_ms, row.speedup, row.ci_low, row.ci_high, row.q, row.mde, verdict, measured.timing,
        *(ABSENT if value is None else value for value in (measured.clock_before, measured.clock_after, measured.dropped)),
    )  # fmt: skip
    cells = (
        *names, clean(key.detail), kind, str(row.rounds), readable(row.before_ms), readable(row.after_ms),
        readable(row.speedup), _interval(row.ci_low, row.ci_high), ABSENT if row.q is None else f"{row.q:.2g}",
        ABSENT if row.mde is None else f"{row.mde * 100:.2g} %", verdict,
    )  # fmt: skip
    return SummaryLine(values, tuple(map(exact, values)), cells)


def _calibration(judgement: Judgement) -> Iterator[str]:
    """What the placebos say of the run, what went before the verdicts, and what the words stand for."""
    if not judgement.trusted:
        yield f"{untrusted(judgement)}. Whatever moved them moves the other rows too: measure again"
    yield placebo_line(judgement)
    yield promises(judgement)


def untrusted(judgement: Judgement) -> str:
    """Why a run can not be believed; of one that can, nothing but the word."""
    return f"UNTRUSTED: {'; '.join(judgement.calibration.moved)}"


def placebo_line(judgement: Judgement) -> str:
    """What the rows of identical code showed, and what was made of it."""
    found = judgement.calibration
    if judgement.placebos.of and not found.placebos:
        return f"{described(judgement.placebos)}; rows with fewer than two rounds check nothing"
    if not found.placebos:
        return "no rows of identical code: how far these intervals can be believed was not checked"
    removed = "taken out of every round" if found.common_mode else "not taken out, they are too few"
    widened = f"intervals widened {found.widening:.2f} times" if found.widening > 1 else "intervals as they are"
    return f"{described(judgement.placebos)}; their common mode {removed}; {widened}"


def promises(judgement: Judgement) -> str:
    """What the words stand for."""
    return (
        f"FASTER and SLOWER: at least {judgement.threshold * 100:.2g} %, at most {judgement.level * 100:.2g} % of them false; "
        "NO_CHANGE: within 2 %; mde: the smallest change that would have shown"
    )


def _totals(judgement: Judgement) -> Iterator[tuple[str, Value]]:
    yield "rows", len(judgement.rows)
    yield "changed", sum(not row.placebo for row in judgement.rows)
    for name, group in (("suite", judgement.suite), ("placebo", judgement.placebos)):
        yield from ((f"{name}_{part}", value) for part, value in _values(group).items())
    yield "trusted", judgement.trusted
    yield "widening", judgement.calibration.widening
    yield "delta", judgement.threshold
    yield "q", judgement.level


def _named_values(group: JudgedGroup) -> dict[str, Value]:
    return {"operator": clean(group.name), **_values(group)}


def _values(group: JudgedGroup) -> dict[str, Value]:
    return {
        "rows": group.rows,
        "of": group.of,
        "rounds": group.rounds,
        "speedup": group.speedup,
        "ci_low": group.ci_low,
        "ci_high": group.ci_high,
    }


def described(group: JudgedGroup) -> str:
    """`softmax: geometric mean 1.0234 (1.0210 to 1.0258), 14/14 rows over 6 rounds`; `all changed rows: none`."""
    if not group.of:
        return f"{group.name}: none"
    interval = _interval(group.ci_low, group.ci_high)
    return (
        f"{group.name}: geometric mean {readable(group.speedup)}{'' if interval == ABSENT else f' ({interval})'}, "
        f"{group.rows}/{group.of} rows over {counted(group.rounds, 'round')}"
    )


def _interval(low: float | None, high: float | None) -> str:
    return ABSENT if low is None or high is None else f"{readable(low)} to {readable(high)}"
