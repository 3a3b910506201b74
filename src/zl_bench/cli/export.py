"""`zl-bench export`: round medians in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from zl_bench.errors import UsageError
from zl_bench.model import SIDES, Side

FORMATS = ("benchfmt", "google-benchmark", "pyperf")
"""Those of workflow/export.py, which takes numpy to import; no other command should pay for that."""


@click.command("export")
@click.option("--format", "form", type=click.Choice(FORMATS), required=True, help="What to write.")
@click.option("--side", type=click.Choice(SIDES), help="This side alone, on standard output or into the file --output.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The folder for both sides' files; with --side, the file.",
)
@click.argument("source", metavar="FILE_OR_ROOT", type=click.Path(path_type=Path))
def export(form: str, side: str | None, output: Path | None, source: Path) -> None:
    """Write the round medians of both sides for other tools, a file each.

    FILE_OR_ROOT is a file as `judge` reads it, or a measured root. benchfmt is for Go's benchstat, google-benchmark for the
    compare.py of Google's benchmark library, pyperf for `python -m pyperf compare_to`. Each round is one sample. Medians are as
    measured: those tools know neither that rounds are pairs nor the rows of identical code, by which `judge` corrects.
    """
    from zl_bench.workflow import export as work

    chosen = work.FORMATS[form]
    if side is None and output is None:
        raise UsageError("Both sides are two files: name their folder with --output, or one side with --side.")
    exported = work.export_rounds(source, chosen, SIDES if side is None else (cast("Side", side),))
    for note in exported.notes:
        click.echo(note, err=True)
    if side is None and output is not None:
        before, after = work.write_sides(exported, chosen, output)
        click.echo(f"{before} and {after} are written: {chosen.compare} {before} {after}")
        return
    (text,) = exported.sides.values()
    if output is None:
        click.echo(text, nl=False)
    else:
        click.echo(f"{work.write_side(text, output)} is written")
