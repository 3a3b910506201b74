"""Renders the closing report of a screen: a table on a terminal, plain lines in a pipe. It computes nothing."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from zl_bench.model import Verdict
from zl_bench.reports.view import HEADINGS, ScreenView

STYLES = {
    Verdict.BROKEN: "bold red",
    Verdict.IR_CHANGED: "yellow",
    Verdict.NO_IR_DIFF: "green",
    Verdict.NO_KERNEL: "cyan",
    Verdict.NO_ROWS: "magenta",
}

WIDE = 110
"""Columns of a terminal that hold the whole table."""
NARROW = 80
"""Columns of a terminal that hold all of it but the widest column; with fewer, cells would be cropped."""
ANOTHER = 9
"""What each column beyond the usual ones takes of them."""


def print_screen(view: ScreenView, console: Console) -> None:
    """Print the report. Text from operators and compilers is shown as it is, never read as markup."""
    if console.is_terminal and console.width >= NARROW + _further(view):
        _print_table(view, console)
    else:
        _print_lines(view, console)


def _further(view: ScreenView) -> int:
    return ANOTHER * (len(view.headings) - len(HEADINGS))


def _print_table(view: ScreenView, console: Console) -> None:
    wide = console.width >= WIDE + _further(view)
    table = Table(title=Text(view.title), title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    name, *short, meaning = view.headings
    table.add_column(name, overflow="fold")
    for heading in short:
        table.add_column(heading.replace(" ", "\n"), no_wrap=True)
    if wide:
        table.add_column(meaning, overflow="fold")
    for row in view.rows:
        cells = [Text(cell) for cell in row.cells]
        cells[1].stylize(STYLES[row.verdict])
        table.add_row(*(cells if wide else cells[:-1]))
    console.print(table)
    for row in view.rows:
        # What it means is the widest column; where it would squeeze the others to shreds it goes below them.
        told = [part for part in ("" if wide else row.cells[-1], row.reason) if part]
        if told:
            console.print(Text.assemble((row.cells[0], "bold"), ": ", "; ".join(told)))
    console.print()
    for verdict, sentence in view.sentences:
        console.print(Text.assemble((verdict.value, STYLES[verdict]), "  ", sentence))
    for line in (*view.shapes, view.axis, view.counts, view.table_path):
        console.print(Text(line))


def _print_lines(view: ScreenView, console: Console) -> None:
    """Columns padded with spaces; no line is wrapped or cut, so that every cell can be searched for."""
    rows = [view.headings, *(row.cells for row in view.rows)]
    widths = [max(len(cells[column]) for cells in rows) for column in range(len(view.headings))]
    lines = [view.title]
    for cells in rows:
        padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    lines.append("")
    lines.extend(f"{row.cells[0]}: {row.reason}" for row in view.rows if row.reason)
    lines.extend(f"{verdict.value}: {sentence}" for verdict, sentence in view.sentences)
    lines.extend((*view.shapes, view.axis, view.counts, view.table_path))
    for line in lines:
        console.print(Text(line), soft_wrap=True)
