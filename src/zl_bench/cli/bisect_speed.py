"""`zl-bench bisect --goal speed`: its options, and how it becomes steps that are measured on a card."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import click

from zl_bench.cli.cards import cards_option, l2_option, timing_option, wait_option
from zl_bench.cli.judge import delta_option
from zl_bench.cli.measure import budget_seconds, plan_of, secret_option, seed_option
from zl_bench.cli.session import PatientConsole, make_root, run_to_the_end
from zl_bench.cli.work import require_numbers
from zl_bench.errors import UsageError
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.environment import parse_assignments
from zl_bench.store.bisect_log import Timed
from zl_bench.store.layout import bisect_log_file, bisect_steps_folder, hold_root
from zl_bench.workflow.parts import Mask
from zl_bench.workflow.subject import Subject

SPEED = "speed"
OPTIONS = ("rounds", "delta", "budget", "seed", "cards", "wait", "timing", "l2", "env")
"""What is only for this goal."""


def speed_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Those of `measure` that a step needs."""
    for option in reversed(
        (
            click.option(
                "--rounds",
                type=click.IntRange(1),
                default=6,
                show_default=True,
                help="With --goal speed, as the options below: fresh pairs of processes of each test in each step.",
            ),
            delta_option,
            click.option(
                "--budget",
                type=click.FloatRange(0, min_open=True),
                metavar="MINUTES",
                help="Begin no pair after so many minutes; the same command goes on from there.",
            ),
            seed_option,
            cards_option,
            wait_option,
            timing_option("By the vendor's usual method unless given."),
            l2_option,
            secret_option,
        )
    ):
        command = option(command)
    return command


def refuse_speed_options() -> None:
    """Raise UsageError if the command line has any: another goal would pass over them."""
    context = click.get_current_context()
    given = [name for name in OPTIONS if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE]
    if given:
        raise UsageError(f"--{given[0]} is for --goal {SPEED}, which is measured; the other goals are compiled.")


def bisect_by_speed(
    subject: Subject,
    mask: Mask | None,
    asked: Mapping[str, Any],
    one_row: bool,
    log: Path | None,
    python: str | None,
    timeout: float,
    scratch: Path,
) -> None:
    """Measure step after step and print what was found. `asked` has the options of this goal; with `one_row` the subject's
    row is followed.
    """
    from zl_bench.workflow.bisect_speed import bisect_speed
    from zl_bench.workflow.bisect_speed_lines import speed_lines, step_line

    require_numbers(timeout, None, asked["wait"])
    budget = budget_seconds(asked["budget"])
    root = subject.root.absolute()
    plan = plan_of(
        root, subject.request, vendor=None, cards=asked["cards"], wait=asked["wait"], timing=asked["timing"], l2=asked["l2"],
        env=parse_assignments(asked["env"]), timeout=timeout, memory=None, python=python, resume=True,
        named=(subject.entry,), rounds=asked["rounds"], delta=asked["delta"], budget=budget, seed=asked["seed"],
        alternate="turns", ahead=None,
    )  # fmt: skip
    row = subject.row_key if one_row else None
    which = f"row {subject.row}" if one_row else "all rows"
    words = (subject.entry, which, SPEED, f"{plan.rounds} rounds", *([mask.name] if mask is not None else []))
    file = (log or bisect_log_file(root, words)).absolute()
    console = PatientConsole(highlight=False)

    def run(work: Callable[[ProgressReporter], Awaitable[Timed]]) -> Timed:
        return run_to_the_end(work, 0, console, file, file, unit="step", again="the same command")

    cards = ", ".join(str(card) for card in plan.screen.cards)
    if subject.switch.kind == "pass" and mask is None:
        program = subject.sides["before"].interpreter
        click.echo(f"compiling {subject.name} again with {program}, to count the passes of its pipeline", err=True)
    click.echo(f"the benchmarks of {subject.entry} in {plan.screen.suite.root} run on {cards}", err=True)
    click.echo(f"goal {SPEED}; every step is written to {file}")
    folder = bisect_steps_folder(file)
    make_root(folder, None)
    with hold_root(folder):
        found = bisect_speed(
            subject, row, plan, mask, file, scratch, timeout, run,
            lambda parts, timed, logged: click.echo(step_line(parts, timed, logged)),
        )  # fmt: skip
    for line in speed_lines(found):
        click.echo(line)
