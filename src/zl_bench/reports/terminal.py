"""Renders the closing report of a screen: a table on a terminal, plain lines in a pipe. It computes nothing."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from zl_bench.model import Verdict
from zl_bench.reports.view import ScreenView

STYLES = {
    Verdict.BROKEN: "bold red",
    Verdict.IR_CHANGED: "yellow",
    Verdict.NO_IR_DIFF: "green",
    Verdict.NO_KERNEL: "cyan",
    Verdict.NO_ROWS: "magenta",
}


def print_screen(view: ScreenView, console: Console) -> None:
    """Print the report. Text from operators and compilers is shown as it is, never read as markup."""
    if console.is_terminal:
        _print_table(view, console)
    else:
        _print_lines(view, console)


def _print_table(view: ScreenView, console: Console) -> None:
    table = Table(title=Text(view.title), title_justify="left", show_lines=False)
    for heading in view.headings:
        table.add_column(heading, overflow="fold")
    for row in view.rows:
        cells = [Text(cell) for cell in row.cells]
        cells[1].stylize(STYLES[row.verdict])
        table.add_row(*cells)
    console.print(table)
    for row in view.rows:
        if row.reason:
            console.print(Text.assemble((row.cells[0], "bold"), ": ", row.reason))
    console.print()
    for verdict, sentence in view.sentences:
        console.print(Text.assemble((verdict.value, STYLES[verdict]), "  ", sentence))
    for line in (view.axis, view.counts, view.table_path):
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
    lines.extend((view.axis, view.counts, view.table_path))
    for line in lines:
        console.print(Text(line), soft_wrap=True)
