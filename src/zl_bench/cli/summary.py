"""`zl-bench summary`: the latencies of recorded runs and of FlagGems' text logs, as one table."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from zl_bench.cli.console import PipedConsole
from zl_bench.errors import UsageError
from zl_bench.model import SIDES, Side
from zl_bench.reports import summary as render
from zl_bench.reports.summary_view import SummaryView, ab_view, torch_view
from zl_bench.workflow.summary import summarise_ab, summarise_torch


@click.command("summary")
@click.option("--ab", is_flag=True, help="Compare two sides: give BEFORE and AFTER, or one root that has both.")
@click.option(
    "--side",
    type=click.Choice(SIDES),
    help="Of a root with both sides' runs, these; before unless given. Not with --ab.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "json", "markdown"]),
    default="table",
    show_default=True,
    help="tsv has its notes on standard error; the others have them below the table.",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...", type=click.Path(path_type=Path))
def summary(ab: bool, side: str | None, form: str, sources: tuple[Path, ...]) -> None:
    """Summarise latencies, per operator and dtype.

    A SOURCE is the directory of a run, a root of `screen --timing` or `run`, or a text log that FlagGems' benchmark printed.
    Without --ab, each operator is compared with its torch baseline. With --ab, the operator's own latency before is
    compared with that after, row by row: only rows that both sides measured alike are pairs, and how many of all rows
    those are is always shown. Speed-ups above 1 are faster.
    """
    if ab and side is not None:
        raise UsageError("--ab compares both sides; --side chooses one of them for the comparison with torch.")
    view = _ab(sources) if ab else _torch(sources, cast("Side | None", side))
    match form:
        case "tsv":
            click.echo(render.tsv(view), nl=False)
            for note in view.notes:
                click.echo(note, err=True)
        case "json":
            click.echo(render.as_json(view), nl=False)
        case "markdown":
            click.echo(render.markdown(view), nl=False)
        case _:
            render.print_summary(view, PipedConsole(highlight=False))


def _torch(sources: tuple[Path, ...], side: Side | None) -> SummaryView:
    found = summarise_torch(sources, side)
    return torch_view(found.operators, found.sources, found.notes)


def _ab(sources: tuple[Path, ...]) -> SummaryView:
    if len(sources) > 2:
        raise UsageError(f"--ab compares two: BEFORE and AFTER, or one root that has both; {len(sources)} were given.")
    found = summarise_ab(*sources)
    return ab_view(found.operators, found.before, found.after, found.notes)
