"""`zl-bench measure`: checks what was asked against the screened root, measures, prints the verdicts and sets the exit code."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zl_bench.analysis.wording import counted
from zl_bench.cli import options
from zl_bench.cli.cards import (
    ONLY_ON_A_CARD,
    cards_option,
    choose_cards,
    choose_timing,
    l2_option,
    timing_option,
    wait_option,
)
from zl_bench.cli.judge import delta_option
from zl_bench.cli.options import choose_interpreter, configuration
from zl_bench.cli.session import (
    NOTHING_STARTED,
    PatientConsole,
    no_stray_processes,
    run_to_the_end,
    typed_command,
    warn_of_memory,
)
from zl_bench.cli.work import memory_share, require_numbers
from zl_bench.errors import ExitCode, UsageError
from zl_bench.model import SIDES, OperatorVerdict, Verdict
from zl_bench.running.environment import parse_assignments
from zl_bench.running.memory import available_memory
from zl_bench.store.layout import MEASURE_RECORD_FILE, ON_CARD_FOLDER, RECORD_FILE, hold_root, run_request_file
from zl_bench.store.request import ScreenRequest, read_request
from zl_bench.store.screen import ScreenRecord
from zl_bench.store.screened import recorded_interpreter

if TYPE_CHECKING:  # SciPy takes a second to import, which no other command should pay
    from zl_bench.workflow.measure_plan import MeasurePlan

SEEDS = 1 << 32
PROCESSORS = 4
"""For each card: two processes that take turns, and two that start up meanwhile."""
WORDS = ("FASTER", "SLOWER", "NO_CHANGE", "INCONCLUSIVE", "LAUNCH_BOUND", "UNTRUSTED")
"""What --fail-on may name: the verdicts that say something of changed rows, and the one on the whole run."""

seed_option = click.option(
    "--seed", type=click.IntRange(0), help="Of every choice of order; drawn, and written down, unless given."
)
secret_option = click.option(
    "--env", multiple=True, metavar="K=V", help="A variable of the screen whose secret value it did not keep."
)


@click.command("measure")
@click.option(
    "--rounds", type=click.IntRange(1), default=6, show_default=True, help="Fresh pairs of processes of each test."
)
@delta_option
@click.option(
    "--budget",
    type=click.FloatRange(0, min_open=True),
    metavar="MINUTES",
    help="Begin no pair after so many minutes, repetitions included; what is measured by then is judged. A screen that is "
    "repeated on the card first is finished all the same, and counts.",
)
@seed_option
@click.option(
    "--mirrored",
    is_flag=True,
    help="Reverse the order of the sides that --seed settles, at every row: a second measurement with the seed of an "
    "earlier one.",
)
@click.option(
    "--alternate",
    type=click.Choice(["turns", "processes"]),
    default="turns",
    show_default=True,
    help="Have the two sides' processes take turns at each row, or run them one after the other, in alternating order.",
)
@click.option(
    "--ahead/--no-ahead",
    default=None,
    help="Have the next pair start up while one is measured, as far as it needs nothing of the card. Done unless given where "
    "there are four processors for each card.",
)
@click.option("--resume", is_flag=True, help="Go on with the rounds that the root has.")
@click.option("--fail-on", multiple=True, type=click.Choice(WORDS), help="Exit 10 if this verdict occurs. Repeatable.")
@cards_option
@wait_option
@timing_option("By the vendor's usual method unless given.")
@l2_option
@secret_option
@options.timeout_option
@options.memory_option
@options.python_option
@options.vendor_option
@click.argument("root", type=click.Path(path_type=Path))
@options.operators_argument
def measure(
    rounds: int,
    delta: float,
    budget: float | None,
    seed: int | None,
    mirrored: bool,
    alternate: str,
    ahead: bool | None,
    resume: bool,
    fail_on: tuple[str, ...],
    cards: str | None,
    wait: float | None,
    timing: str | None,
    l2: str | None,
    env: tuple[str, ...],
    timeout: float,
    memory: float | None,
    python: str | None,
    vendor: str | None,
    root: Path,
    operators: tuple[str, ...],
) -> None:
    """Measure on a card what a screen found changed, and say which rows became faster or slower.

    ROOT is the root of a screen. Its IR_CHANGED operators whose machine code differs are measured unless OPERATORs are named,
    with rows of identical code, by which the others are calibrated. A screen that was made for a target is repeated on the
    card first, into ROOT/on_card. Rounds go to measure.jsonl in ROOT, verdicts to measure.tsv; six rounds are looked at after
    three and after six.

    Exit codes: 0 done, or nothing to measure; 1 an operator could not be measured as it was screened; 2 bad usage; 3 this
    environment can not do it, a card that does not match the screen's included; 10 a verdict named by --fail-on occurred; 130
    interrupted.
    """
    require_numbers(timeout, memory, wait)
    seconds = budget_seconds(budget)
    if mirrored and seed is None and not resume:
        raise UsageError("--mirrored reverses the order of an earlier measurement. Give its seed: --seed N.")
    request, verdicts = _screened(root)
    root = root.absolute()
    from zl_bench.workflow.measure_work import choose

    if not choose(verdicts, operators, root):
        click.echo(_nothing_to_measure(root, verdicts))
        raise SystemExit(ExitCode.OK)
    if resume and not (root / MEASURE_RECORD_FILE).exists():
        raise UsageError(f"--resume: {root} has no measured rounds to go on with. Leave out --resume to start.")
    plan = plan_of(
        root, request, vendor=vendor, cards=cards, wait=wait, timing=timing, l2=l2, env=parse_assignments(env),
        timeout=timeout, memory=memory, python=python, resume=resume, named=operators, rounds=rounds, delta=delta,
        budget=seconds, seed=seed, mirrored=mirrored, alternate=alternate, ahead=ahead,
    )  # fmt: skip
    _measure(plan, fail_on)


def _measure(plan: MeasurePlan, fail_on: tuple[str, ...]) -> None:
    from zl_bench.reports.summary import print_summary
    from zl_bench.workflow.measure import measure as run_measure
    from zl_bench.workflow.measure import view_of
    from zl_bench.workflow.measure_result import exit_code

    console, record = PatientConsole(highlight=False), plan.root / MEASURE_RECORD_FILE
    with hold_root(plan.root), no_stray_processes():
        result = run_to_the_end(
            lambda progress: run_measure(plan, progress),
            0,
            console,
            record,
            record,
            unit="round",
            again=f"zl-bench measure {plan.root} --resume and the same options",
            otherwise=lambda: _kept_without_rounds(plan.root),
        )
    view = view_of(plan, result)
    if view is not None:
        print_summary(view.printed, console)
    else:
        for note in ("Nothing was measured.", *result.notes):
            click.echo(note)
    raise SystemExit(exit_code(result, fail_on))


def _nothing_to_measure(root: Path, verdicts: Sequence[OperatorVerdict]) -> str:
    """Why no operator is measured unless it is named. What was not recorded is not said to be the same."""
    unknown = sum(one.verdict is Verdict.IR_CHANGED and one.machine_code == "-" for one in verdicts)
    may = f" {counted(unknown, 'IR_CHANGED operator')} may be: no machine code was recorded (--stages ttgir)."
    return (
        f"Nothing to measure: no operator of {root} is known to be IR_CHANGED with machine code that differs."
        f"{may if unknown else ''} Name operators to measure them all the same."
    )


def _kept_without_rounds(root: Path) -> str:
    """What an interrupt leaves before the first round: a screen that was being repeated on the card goes on by itself."""
    again = root / ON_CARD_FOLDER
    if not (again / RECORD_FILE).exists():
        return NOTHING_STARTED
    return f"No round had begun. Every operator that was repeated on the card is kept in {again}; the same command goes on."


def _screened(root: Path) -> tuple[ScreenRequest, list[OperatorVerdict]]:
    """What was asked of the screened root, and what was found. Raises UsageError for a folder that is none."""
    request = read_request(root) if root.is_dir() else None
    if request is None:
        runs = [side for side in SIDES if (root / run_request_file(side)).exists()]
        hint = f" It has runs of the {runs[0]} side, which make no pair." if runs else ""
        raise UsageError(f"{root} is no root of a screen.{hint} Screen first: zl-bench screen --switch … OPERATOR …")
    return request, ScreenRecord(root).finished()


def budget_seconds(minutes: float | None) -> float | None:
    """--budget in seconds. Raises UsageError for what is no number."""
    if minutes is None:
        return None
    if not math.isfinite(minutes):
        raise UsageError(f"--budget {minutes:g} is no number of minutes; leave it out for as long as it takes.")
    return minutes * 60


def plan_of(
    root: Path,
    request: ScreenRequest,
    *,
    vendor: str | None,
    cards: str | None,
    wait: float | None,
    timing: str | None,
    l2: str | None,
    env: dict[str, str],
    timeout: float,
    memory: float | None,
    python: str | None,
    resume: bool,
    seed: int | None,
    ahead: bool | None,
    **asked: Any,
) -> MeasurePlan:
    """How a screened root is measured on the cards that are meant; `asked` are the plan's fields that nothing is made of.

    A seed is drawn unless given.
    """
    from zl_bench.workflow.measure_plan import MeasurePlan, screen_again, suite_of

    config = configuration()
    suite = suite_of(request)
    chosen = choose_cards(vendor or config.vendor, cards, os.environ, ONLY_ON_A_CARD)
    how = choose_timing(timing, l2, chosen.backend.default_timing, baseline=False)
    assert how is not None  # a vendor always has a usual method
    available = available_memory()
    at_a_time, share = memory_share(len(SIDES) * len(chosen.cards), memory, available)
    warn_of_memory(at_a_time, share, available)
    screen = screen_again(
        root,
        request,
        suite=suite,
        backend=chosen.backend,
        cards=chosen.cards,
        given=env,
        wait=wait,
        interpreter=choose_interpreter(python or recorded_interpreter(root) or config.python),
        inherited=dict(os.environ),
        timeout=timeout,
        memory=share,
        resume=resume,
        command=typed_command(),
    )
    if ahead is None:
        ahead = len(os.sched_getaffinity(0)) >= PROCESSORS * len(chosen.cards)
    drawn = secrets.randbelow(SEEDS) if seed is None else seed
    return MeasurePlan(
        root=root, request=request, screen=screen, timing=how, resume=resume, seed=drawn, seed_given=seed is not None,
        ahead=ahead, **asked,
    )  # fmt: skip
