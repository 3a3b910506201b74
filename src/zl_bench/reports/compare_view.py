"""What a comparison of two roots says, as the table that the summaries' renderers show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from zl_bench.analysis.compare import Changed
from zl_bench.analysis.wording import counted, one_line
from zl_bench.reports.summary_view import ABSENT, SummaryLine, SummaryView, Value, clean, exact

COLUMNS = ("operator", "row", "what", "a", "b", "why")


def compare_view(
    title: str, changes: Sequence[Changed], both: int, same: int, circumstances: Sequence[str], notes: Sequence[str]
) -> SummaryView:
    """The view of everything that changed between A and B; `same` of the `both` operators that both have say the same."""
    kinds = Counter(change.kind for change in changes)
    told = "; ".join(f"{times} {kind}" for kind, times in kinds.items()) or "nothing changed"
    apart = [f"A and B differ in this, which may be why: {circumstance}" for circumstance in circumstances]
    return SummaryView(
        title=clean(title),
        columns=COLUMNS,
        headings=COLUMNS,
        lines=tuple(map(_line, changes)),
        totals=f"{same} of {counted(both, 'operator')} that both have say the same; changes: {told}",
        total_values=(("both", both), ("same", same), *((kind, times) for kind, times in kinds.items())),
        notes=tuple(map(clean, (*notes, *apart))),
    )


def _line(change: Changed) -> SummaryLine:
    values: tuple[Value, ...] = tuple(
        clean(text) or ABSENT for text in (change.entry, change.row, change.kind, change.a, change.b, change.why)
    )
    exactly = tuple(map(exact, values))
    return SummaryLine(values, exactly, (*exactly[:-1], one_line(exactly[-1])))


def as_text(view: SummaryView) -> str:
    """For people: each change with what is behind it on a line of its own, then what should be known, and the totals."""
    parts = [view.title]
    for line in view.lines:
        operator, row, what, a, b, why = line.exact
        where = operator if row == ABSENT else f"{operator}  {row}"
        parts += [f"{where}  {what}: {a} -> {b}", f"    {why}"]
    return "\n".join((*parts, *view.notes, view.totals)) + "\n"
