"""`zl-bench repro ROOT OPERATOR`: one kernel in a folder that can be given to a compiler's developers."""

from __future__ import annotations

import os
from pathlib import Path

import click

from zl_bench.cli.investigating import kernel_option, new_folder, python_option, row_option, timeout_option
from zl_bench.cli.options import choose_interpreter
from zl_bench.cli.session import no_stray_processes
from zl_bench.errors import ExitCode
from zl_bench.model import SIDES
from zl_bench.workflow.replaying import what_is_executed
from zl_bench.workflow.repro import SCRIPT, make_repro, run_script
from zl_bench.workflow.subject import choose_subject


@click.command("repro")
@click.argument("root", type=click.Path(path_type=Path))
@click.argument("operator")
@row_option
@kernel_option
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The new folder; `repro_KERNEL` unless given.")
@python_option
@timeout_option
@click.pass_context
def repro(
    context: click.Context,
    root: Path,
    operator: str,
    row: int | None,
    kernel: str | None,
    out: Path | None,
    python: str | None,
    timeout: float,
) -> None:
    """Put one kernel of a screened OPERATOR into a folder that shows what the switch does to it, with Triton alone.

    The folder holds the kernel's IR, its options, the switch, the fingerprints that were recorded, and a script which
    compiles both sides and compares them. No file in it names a path of this machine. The script is run once, so that you
    see what whoever gets the folder will see; the suite is not run and no card is needed. It launches nothing, since the
    grid and the arguments of a launch are not recorded.

    Exit codes: 0 what was recorded comes out, 1 it does not come out here (the folder is kept), 2 bad usage, 3 this
    environment can not do it, 130 interrupted.
    """
    interpreter = choose_interpreter(python) if python is not None else None
    subject = choose_subject(root, operator, row, kernel, inherited=os.environ, python=interpreter)
    folder = new_folder(out or Path(f"repro_{subject.name}"))
    made = make_repro(subject, folder.absolute())
    for note in subject.notes:
        click.echo(note, err=True)
    if made.left_out:
        click.echo(f"left out, as places of this machine or secrets: {', '.join(made.left_out)}", err=True)
    for line in what_is_executed(subject, SIDES):
        click.echo(line, err=True)
    with no_stray_processes():
        status, printed = run_script(subject, made.folder, timeout)
    click.echo(printed, nl=False)
    click.echo(f"{folder}: run {SCRIPT} there; README.md says what it is")
    if status != 0:
        context.exit(ExitCode.FAILED_RUN)
