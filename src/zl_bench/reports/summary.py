"""Renders a summary of latencies: for people on a terminal or in a pipe, as TSV, as JSON, as Markdown. It computes nothing."""

from __future__ import annotations

import json
import re

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zl_bench.reports.summary_view import SummaryView

NAMES = 2
"""The columns before the numbers: operator and dtype."""
ANY_WIDTH = 1_000_000
"""Columns that hold any table: only with so many is it known how many one takes."""
MARKUP = re.compile(r"([\\`*_\[\]<>|~#])")


def tsv(view: SummaryView) -> str:
    """The heading and a line per operator, the columns in the order that scripts rely on. The notes are not in it."""
    return "".join("\t".join(cells) + "\n" for cells in (view.columns, *(line.exact for line in view.lines)))


def as_json(view: SummaryView, **further: object) -> str:
    """An object with `rows` (an object per line, null where there is no number), `totals`, `notes` and whatever is given."""
    record = {
        "title": view.title,
        "rows": [dict(zip(view.columns, line.values, strict=True)) for line in view.lines],
        "totals": dict(view.total_values),
        "notes": view.notes,
        **further,
    }
    return json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def markdown(view: SummaryView) -> str:
    """A table, the totals below it, and the notes as a list."""
    rules = [*["---"] * NAMES, *["---:"] * (len(view.headings) - NAMES)]
    rows = [_marked(view.headings), f"| {' | '.join(rules)} |", *(_marked(line.cells) for line in view.lines)]
    notes = [f"- {escaped(note)}" for note in view.notes]
    parts = [escaped(view.title), "\n".join(rows), escaped(view.totals), *(["\n".join(notes)] if notes else [])]
    return "\n\n".join(parts) + "\n"


def print_summary(view: SummaryView, console: Console) -> None:
    """Print a table on a terminal that has room for it, padded lines elsewhere: no cell is cut or folded.

    Names are shown as they are, never read as markup.
    """
    for between in (1, 0) if console.is_terminal else ():
        table = _table(view, between)
        needed = console.measure(table, options=console.options.update(max_width=ANY_WIDTH)).maximum
        if needed <= console.width:
            console.print(table)
            for note in (*view.notes, view.totals):
                console.print(Text(note))
            return
    for text in (view.title, *_padded(view), *view.notes, view.totals):
        console.print(Text(text), soft_wrap=True)


def _table(view: SummaryView, between: int) -> Table:
    """The table with one blank between its columns, and `between` more."""
    table = Table(
        title=Text(view.title), title_justify="left", box=box.SIMPLE_HEAD, show_edge=False, padding=(0, between, 0, 0)
    )
    for place, heading in enumerate(view.headings):
        if place < NAMES:
            table.add_column(heading, no_wrap=True)
        else:
            table.add_column(heading.replace(" ", "\n").replace("/", "/\n"), no_wrap=True, justify="right")
    for line in view.lines:
        table.add_row(*map(Text, line.cells))
    return table


def _padded(view: SummaryView) -> list[str]:
    rows = [view.headings, *(line.cells for line in view.lines)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(view.headings))]
    padded = []
    for cells in rows:
        sized = list(zip(cells, widths, strict=True))
        names, numbers = sized[:NAMES], sized[NAMES:]
        line = "  ".join(
            [*(cell.ljust(width) for cell, width in names), *(cell.rjust(width) for cell, width in numbers)]
        )
        padded.append(line.rstrip())
    return padded


def _marked(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(escaped(cell) for cell in cells)} |"


def escaped(text: str) -> str:
    """Text that Markdown shows as it is."""
    return MARKUP.sub(r"\\\1", text)
