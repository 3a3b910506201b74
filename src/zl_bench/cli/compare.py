"""`zl-bench compare ROOT_A ROOT_B`: what changed its verdict between two roots, and why."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("compare")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tsv", "json"]),
    default="text",
    show_default=True,
    help="tsv has its notes on standard error; the others have them at the end.",
)
@click.argument("a", metavar="ROOT_A", type=click.Path(path_type=Path))
@click.argument("b", metavar="ROOT_B", type=click.Path(path_type=Path))
def compare(form: str, a: Path, b: Path) -> None:
    """Compare two roots of the same switch: another day, another card, another compiler.

    Tells the operators whose verdict on the code is another, or rests on other rows, and the measured rows whose verdict on
    speed is another, with the reasons and the numbers of both; then in what else the two roots differ. Two roots of
    build: are the same axis whatever the builds.
    """
    # SciPy takes a second to import, which no other command should pay.
    from zl_bench.reports import summary as render
    from zl_bench.reports.compare_view import as_text, compare_view
    from zl_bench.workflow.compare import compare_roots

    found = compare_roots(a, b)
    title = f"{found.switch or 'rounds'}: A {found.a}, B {found.b}"
    view = compare_view(title, found.changes, found.both, found.same, found.circumstances, found.notes)
    match form:
        case "tsv":
            click.echo(render.tsv(view), nl=False)
            for note in (*view.notes, view.totals):
                click.echo(note, err=True)
        case "json":
            click.echo(render.as_json(view), nl=False)
        case _:
            click.echo(as_text(view), nl=False)
