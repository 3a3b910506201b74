"""`zl-bench trace ROOT OPERATOR`: the passes behind a verdict."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import cast

import click

from zl_bench.cli.investigating import kernel_option, new_folder, python_option, row_option, timeout_option
from zl_bench.cli.options import choose_interpreter
from zl_bench.cli.session import no_stray_processes
from zl_bench.model import SIDES, Side
from zl_bench.workflow.replaying import what_is_executed
from zl_bench.workflow.subject import choose_subject
from zl_bench.workflow.trace import trace_subject
from zl_bench.workflow.trace_lines import trace_lines


@click.command("trace")
@click.argument("root", type=click.Path(path_type=Path))
@click.argument("operator")
@row_option
@kernel_option
@click.option("--side", type=click.Choice(SIDES), help="Only this side, with a diff of what each pass did.")
@click.option("-o", "--out", type=click.Path(path_type=Path), help="Keep the IR after each pass in this new folder.")
@python_option
@timeout_option
def trace(
    root: Path,
    operator: str,
    row: int | None,
    kernel: str | None,
    side: str | None,
    out: Path | None,
    python: str | None,
    timeout: float,
) -> None:
    """Show what each pass did to one kernel of a screened OPERATOR, and where the two sides part for the first time.

    The kernel is compiled again on both sides from what ROOT recorded of it, one pass at a time, by the Triton of each side;
    the suite is not run and no card is needed. For each pass: the number of convert_layout operations after it, whether it
    changed the IR, and whether the sides agree, by the fingerprint that `screen` uses. Then the diff where they first do not.

    Exit codes: 0 done, 2 bad usage, 3 this environment can not do it, 130 interrupted.
    """
    interpreter = choose_interpreter(python) if python is not None else None
    subject = choose_subject(root, operator, row, kernel, inherited=os.environ, python=interpreter)
    sides: tuple[Side, ...] = (cast("Side", side),) if side is not None else SIDES
    kept = new_folder(out).absolute() if out is not None else None
    for line in what_is_executed(subject, sides):
        click.echo(line, err=True)
    with tempfile.TemporaryDirectory(prefix="zl-trace-") as scratch, no_stray_processes():
        traced = trace_subject(subject, sides, kept or Path(scratch), timeout)
        for line in trace_lines(traced):
            click.echo(line)
