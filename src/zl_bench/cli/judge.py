"""`zl-bench judge`: verdicts on rounds that anything measured."""

from __future__ import annotations

import re
from pathlib import Path

import click

from zl_bench.cli.console import PipedConsole

SHARE = re.compile(r"(?P<number>\d+(?:\.\d*)?|\.\d+)\s*(?P<percent>%?)")


def read_share(context: click.Context, parameter: click.Parameter, value: str) -> float:
    """A change as it is said, 1% or 0.01, as a number. Raises click.BadParameter for anything that is no change."""
    found = SHARE.fullmatch(value.strip())
    share = float(found["number"]) / (100 if found["percent"] else 1) if found else 0.0
    if not 0 < share < 1:
        raise click.BadParameter(f"{value!r} is no change between 0 and 100 %; write 1% or 0.01.", context, parameter)
    return share


delta_option = click.option(
    "--delta",
    callback=read_share,
    default="1%",
    show_default=True,
    help="The smallest change to call one: 1%, or 0.01.",
)


@click.command("judge")
@delta_option
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "tsv", "json"]),
    default="table",
    show_default=True,
    help="tsv has its notes on standard error; the others have them below the table.",
)
@click.argument("file", metavar="FILE.jsonl", type=click.Path(path_type=Path))
def judge(delta: float, form: str, file: Path) -> None:
    """Judge rounds of an A/B measurement, whatever measured them: no device is used.

    FILE.jsonl has one object a line: operator, dtype, detail, round, side (before or after), median_ms, and identical (true
    where both sides run the same code); optionally node, ordinal (where rows share all else) and first (the side that went
    first). A round is a fresh pair of processes. The verdicts are FASTER, SLOWER, NO_CHANGE, INCONCLUSIVE, and IDENTICAL for
    rows of the same code, by which the others are calibrated; if those move, the rows are UNTRUSTED.
    """
    # SciPy takes a second to import, which no other command should pay.
    from zl_bench.reports.rounds_view import rounds_view
    from zl_bench.reports.summary import as_json, print_summary, tsv
    from zl_bench.workflow.judge_file import judge_file

    found = judge_file(file, delta)
    view = rounds_view(found.judgement, str(found.path), found.notes)
    match form:
        case "tsv":
            click.echo(tsv(view.printed), nl=False)
            for note in (*view.printed.notes, view.printed.totals):
                click.echo(note, err=True)
        case "json":
            click.echo(as_json(view.table, operators=view.operators), nl=False)
        case _:
            print_summary(view.printed, PipedConsole(highlight=False))
