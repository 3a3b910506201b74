"""`zl-bench bisect ROOT OPERATOR`: which part of a switch makes the change."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any, cast

import click

from zl_bench.cli.bisect_speed import SPEED, bisect_by_speed, refuse_speed_options, speed_options
from zl_bench.cli.investigating import kernel_option, python_option, row_option, timeout_option
from zl_bench.cli.options import choose_interpreter
from zl_bench.cli.session import no_stray_processes
from zl_bench.errors import UsageError
from zl_bench.model import SIDES
from zl_bench.store.layout import bisect_log_file
from zl_bench.workflow.bisect import GOALS, Goal, bisect, default_goal
from zl_bench.workflow.bisect_lines import answer_lines
from zl_bench.workflow.parts import parse_mask
from zl_bench.workflow.replaying import what_is_executed
from zl_bench.workflow.subject import Subject, choose_subject
from zl_bench.workflow.trace import trace_subject
from zl_bench.workflow.trace_lines import heading, where_the_sides_part


@click.command("bisect")
@click.argument("root", type=click.Path(path_type=Path))
@click.argument("operator")
@row_option
@kernel_option
@click.option(
    "--goal",
    type=click.Choice([*GOALS, SPEED]),
    help="What the parts shall do: change the IR of the criterion's stage, change the machine code, break the compile, or make "
    "the row slower or faster, whichever the whole switch does, on a card. Unless given, broken for a kernel that is, else ir.",
)
@click.option("--mask", "mask_text", metavar="NAME=VALUE", help="The parts are the bits that are on in this variable.")
@click.option("--log", type=click.Path(path_type=Path), help="The log; in ROOT/bisect unless given.")
@python_option
@timeout_option
@speed_options
def bisect_command(
    root: Path,
    operator: str,
    row: int | None,
    kernel: str | None,
    goal: str | None,
    mask_text: str | None,
    log: Path | None,
    python: str | None,
    timeout: float,
    **speed: Any,
) -> None:
    """Find which parts of the switch make the change in one kernel of a screened OPERATOR.

    The parts of pass:NAME are its occurrences in the pipeline, those of a mask its bits (--mask, which the after side is
    given), and those of several variables each of them. Of a build: axis it is the first pass of the pipeline after which the
    two compilers' IR differs. The kernel is compiled again from what ROOT recorded of it, with some of the parts on and the
    others off; the suite is not run and no card is needed. Parts that act only together, or only apart, are said to. Each step
    is written to a log, and the same command goes on from there.

    With --goal speed the operator's benchmarks run on a card, step by step: each set of parts is screened there with the pins
    of ROOT, and measured as `measure` does if its machine code is another. The whole switch comes first. With --row that row
    alone is followed, judged alone beside rows of identical code; without it the row that the whole switch makes slower or
    faster by most. Where the rounds can not tell, the search stops and says so; what they found by then is kept. --timeout is
    then for each run.

    Exit codes: 0 done, noise that forbids an answer included; 1 a step could not be measured; 2 bad usage; 3 this environment
    can not do it; 130 interrupted.
    """
    interpreter = choose_interpreter(python) if python is not None else None
    subject = choose_subject(root, operator, row, kernel, inherited=os.environ, python=interpreter)
    build = subject.switch.kind == "build"
    if build and (goal in ("code", SPEED) or mask_text is not None):
        raise UsageError(
            "Of two compilers the passes are looked at: --goal code, --goal speed and --mask are for other switches."
        )
    if goal != SPEED:
        refuse_speed_options()
    elif kernel is not None:
        raise UsageError("Rows are timed and not their kernels one by one: --kernel is for the other goals.")
    mask = parse_mask(mask_text, subject.backend.segment) if mask_text is not None else None
    for line in heading(subject) if goal == SPEED else (*heading(subject), *what_is_executed(subject, SIDES)):
        click.echo(line, err=True)
    with tempfile.TemporaryDirectory(prefix="zl-bisect-") as scratch, no_stray_processes():
        if build:
            _two_compilers(subject, Path(scratch), timeout)
            return
        if goal == SPEED:
            place = Path(scratch)
            bisect_by_speed(subject, mask, speed, row is not None, log, python, timeout, place)
            return
        asked = cast("Goal", goal) if goal is not None else default_goal(subject)
        words = (subject.entry, str(subject.row), subject.name, asked, *([mask.name] if mask is not None else []))
        file = log or bisect_log_file(root, words)
        click.echo(f"goal {asked}; every step is written to {file}")
        found = bisect(subject, asked, mask, file, Path(scratch), timeout, click.echo)
        for line in answer_lines(found):
            click.echo(line)


def _two_compilers(subject: Subject, scratch: Path, timeout: float) -> None:
    traced = trace_subject(subject, SIDES, scratch, timeout)
    for line in where_the_sides_part(traced):
        click.echo(line)
