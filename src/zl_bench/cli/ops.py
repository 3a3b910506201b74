"""`zl-bench ops`: what a suite holds."""

from __future__ import annotations

import click

from zl_bench.suites import pytest_suite


@click.command()
@click.option(
    "--suite", "suite_name", default="builtin", show_default=True, help="builtin, or a folder of pytest benchmarks."
)
@click.option("--names", is_flag=True, help="Only the operators' names, one a line.")
def ops(suite_name: str, names: bool) -> None:
    """List operators, their nodes and the dtypes that can be read from their source, tab-separated."""
    suite = pytest_suite.load(suite_name)
    if names:
        click.echo("\n".join(suite.operators))
        return
    click.echo("operator\tnode\tdtypes")
    for node in suite.nodes:
        click.echo(f"{node.operator}\t{node.node}\t{' '.join(node.dtypes) or '-'}")
