"""`zl-bench report ROOT`: what an engineer attaches to a pull request."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click

from zl_bench.errors import UsageError


@click.command("report")
@click.option(
    "--format",
    "form",
    type=click.Choice(["html", "markdown", "csv"]),
    default="html",
    show_default=True,
    help="html: one page that needs no network. markdown: for a pull request. csv: performance.csv and kernels.csv.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The file, or - for standard output; of csv the folder. Unless given, html and csv go into ROOT, and markdown to "
    "standard output.",
)
@click.argument("root", type=click.Path(path_type=Path))
def report(form: str, output: Path | None, root: Path) -> None:
    """Report what the screen or the measurement in ROOT found, or both, from its recorded runs alone.

    The question and its answer, verdicts in words, each changed row before and after with its interval and the rounds
    behind it, what is not covered and why, and how to repeat it. Nothing is measured or judged anew: verdicts on the code
    are the screen's, those on speed are made from the recorded rounds as `measure` and `judge` make them.
    """
    # SciPy takes a second to import, which no other command should pay.
    from zl_bench.reports.markdown import COMMENT_LIMIT
    from zl_bench.workflow import report_output
    from zl_bench.workflow.report import read_report

    if form == "csv" and str(output) == "-":
        raise UsageError("csv is two files, which do not fit into standard output; name a folder with -o.")
    chosen = cast("report_output.Form", form)
    with _no_search_for_cycles():
        texts = report_output.render(root, read_report(root), chosen)
    if str(output) == "-" or (output is None and form == "markdown"):
        click.echo("".join(texts.values()), nl=False)
    else:
        paths = _places(texts, form, root, output)
        report_output.write(paths)
        for path in paths:
            click.echo(path)
    if form == "markdown" and (length := sum(map(len, texts.values()))) > COMMENT_LIMIT:
        click.echo(
            f"{length} characters: GitHub takes {COMMENT_LIMIT} in a comment. Attach it as a file, or the html.",
            err=True,
        )


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """A whole suite is a million small records that never refer back to each other; looking for cycles took a third of
    the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _places(texts: dict[str, str], form: str, root: Path, output: Path | None) -> dict[Path, str]:
    if output is None:
        return {root / name: text for name, text in texts.items()}
    if form == "csv":
        if output.is_file():
            raise UsageError(f"{output} is a file; csv is two files, so name a folder with -o.")
        return {output / name: text for name, text in texts.items()}
    if output.is_dir():
        raise UsageError(f"{output} is a folder; name the file to write, such as {output / next(iter(texts))}.")
    return {output: "".join(texts.values())}
