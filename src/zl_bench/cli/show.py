"""`zl-bench show ROOT OPERATOR`: the kernels behind a verdict."""

from __future__ import annotations

from pathlib import Path

import click

from zl_bench.errors import UsageError
from zl_bench.workflow.show import show_operator, show_root


@click.command("show")
@click.argument("root", type=click.Path(path_type=Path))
@click.argument("operator", required=False)
@click.option("--row", type=int, help="Only this row, by the number that the listing gives it, with its diffs.")
@click.option("--stage", help="Diff this stage (ttgir, ptx …) instead of the first that differs.")
def show(root: Path, operator: str | None, row: int | None, stage: str | None) -> None:
    """Show the kernels of a screened OPERATOR (`name` or `name:dtype`), matched across the sides; without one, list them.

    ROOT is the folder of a screen. The recorded files are read and compared again, so an old root is judged by this
    version's rules. Without --row, every row is listed with its kernels, what makes each of them one kernel on both
    sides, and which of its stages differ; where outputs were sampled and differ between the sides, by how much.
    """
    if operator is None and (row is not None or stage is not None):
        raise UsageError("--row and --stage are of one operator: name it behind the root.")
    for line in show_root(root) if operator is None else show_operator(root, operator, row, stage):
        click.echo(line)
