"""`zl-bench ops`: what a suite holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from zl_bench.cli.options import checkout_option, choose_suite, configuration, suite_option
from zl_bench.suites.base import Suite


@click.command()
@suite_option
@checkout_option
@click.option("--names", is_flag=True, help="Only the operators' names, one a line.")
def ops(suite_name: str, checkout: Path | None, names: bool) -> None:
    """List operators, their nodes and the dtypes that can be read from their source, tab-separated.

    FlagGems' are listed with --suite flaggems --checkout DIR: node, marks, the operator names that it prints, dtypes; a `-`
    where nothing can be read without running it.
    """
    suite = choose_suite(suite_name, checkout, configuration())
    for line in suite.operators if names else _table(suite):
        click.echo(line)


def _table(suite: Suite) -> Iterator[str]:
    if any(node.marks for node in suite.nodes):
        yield "node\tmarks\tnames\tdtypes"
        for node in suite.nodes:
            yield "\t".join((node.node, *(" ".join(words) or "-" for words in (node.marks, node.names, node.dtypes))))
        return
    yield "operator\tnode\tdtypes"
    for node in suite.nodes:
        yield f"{node.operator}\t{node.node}\t{' '.join(node.dtypes) or '-'}"
