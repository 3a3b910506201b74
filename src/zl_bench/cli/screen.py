"""`zl-bench screen`: checks what was asked, runs the screen, prints its table and sets the exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import click
from rich.console import Console

from zl_bench.backends.base import DeviceBackend
from zl_bench.cli import options
from zl_bench.cli.cards import (
    cards_option,
    choose_cards,
    choose_timing,
    l2_option,
    refuse_masks,
    timing_option,
    wait_option,
)
from zl_bench.cli.options import choose_axis, choose_backend, choose_switch, choose_target, configuration
from zl_bench.cli.session import (
    PatientConsole,
    make_root,
    no_stray_processes,
    run_to_the_end,
    typed_command,
    warn_of_memory,
)
from zl_bench.cli.work import (
    choose_work,
    memory_share,
    require_free,
    require_numbers,
    require_something_to_resume,
)
from zl_bench.errors import UsageError
from zl_bench.fleet.cards import Card
from zl_bench.model import Verdict
from zl_bench.reports.terminal import print_screen
from zl_bench.reports.view import screen_view
from zl_bench.running.environment import parse_assignments
from zl_bench.running.memory import available_memory
from zl_bench.running.planner import PinMode
from zl_bench.store.layout import REQUEST_FILE, TABLE_FILE, hold_root
from zl_bench.store.pins import require_runs
from zl_bench.store.screen import table_order
from zl_bench.workflow.screen import ScreenPlan, ScreenResult, exit_code
from zl_bench.workflow.screen import screen as run_screen


@click.command()
@options.switch_option
@options.axis_option
@click.option("--target", help="Compile for this target, with no card: cuda:90, cuda:80, hip:gfx942 …")
@cards_option
@wait_option
@timing_option("A screen times nothing unless given.")
@l2_option
@options.suite_option
@options.checkout_option
@click.option("--env", multiple=True, metavar="K=V", help="Set on both sides. Repeatable.")
@click.option("--env-before", multiple=True, metavar="K=V", help="Set on the before side only. Repeatable.")
@click.option("--env-after", multiple=True, metavar="K=V", help="Set on the after side only. Repeatable.")
@click.option(
    "--root", type=click.Path(path_type=Path), help="Where to record; runs/ab_<axis>_<timestamp> unless given."
)
@options.resume_option
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Operators at a time; unless given, one per core that has 1 GiB (or --memory) of memory. On cards it is the "
    "number of cards.",
)
@options.timeout_option
@options.memory_option
@click.option(
    "--stages",
    type=click.Choice(["all", "ttgir"]),
    default="all",
    show_default=True,
    help="How far to compile; ttgir only with --target, since a card needs machine code.",
)
@click.option(
    "--configs",
    type=click.Choice(["first", "all"]),
    help="Of an autotuner with --target: the first configuration that compiles (unless given), or every one. On a card it "
    "tunes.",
)
@options.dtypes_option
@options.shape_option
@options.shape_file_option
@click.option("--pins", type=click.Path(path_type=Path), help="Replay the autotuner choices recorded in this root.")
@click.option(
    "--self-check", is_flag=True, help="Compile before twice; kernels that differ from themselves are unstable."
)
@options.force_option
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([verdict.value for verdict in Verdict]),
    help="Exit 10 if this verdict occurs. Repeatable.",
)
@options.python_option
@options.vendor_option
@options.segment_option
@options.operator_file_option
@options.whole_suite_option
@options.operators_argument
def screen(
    switch_text: str | None,
    axis_name: str | None,
    target: str | None,
    cards: str | None,
    wait: float | None,
    timing: str | None,
    l2: str | None,
    suite_name: str,
    checkout: Path | None,
    env: tuple[str, ...],
    env_before: tuple[str, ...],
    env_after: tuple[str, ...],
    root: Path | None,
    resume: bool,
    jobs: int | None,
    timeout: float,
    memory: float | None,
    stages: str,
    configs: str | None,
    dtypes: str,
    shapes: tuple[str, ...],
    shape_file: Path | None,
    pins: Path | None,
    self_check: bool,
    force: bool,
    fail_on: tuple[str, ...],
    python: str | None,
    vendor: str | None,
    vendor_segment: str | None,
    operator_file: Path | None,
    whole_suite: bool,
    operators: tuple[str, ...],
) -> None:
    """Compile each operator with the switch off and on and say whether the generated code changed.

    With --target nothing is executed and no card is touched. Without, the operators run on a card: the before side tunes,
    the after side replays its choices, and the outputs of the two are compared; nothing is timed unless --timing says so.

    Exit codes: 0 done, 1 a run failed or an operator is BROKEN, 2 bad usage, 3 this environment can not do it, 4 the
    compiler does not know the switch, 10 a verdict named by --fail-on occurred, 130 interrupted.
    """
    require_numbers(timeout, memory, wait)
    config = configuration()
    axis = choose_axis(switch_text, axis_name, config)
    if target is not None:
        _refuse_with_a_target({"--cards": cards, "--wait": wait, "--timing": timing, "--l2": l2})
    else:
        _refuse_on_a_card(stages, configs)
    work = choose_work(
        config,
        suite=suite_name,
        checkout=checkout,
        dtypes=dtypes,
        shapes=shapes,
        shape_file=shape_file,
        operators=operators,
        operator_file=operator_file,
        whole_suite=whole_suite,
        python=python,
    )
    if resume:
        require_something_to_resume(root, REQUEST_FILE, "a screen")
    assignments = [parse_assignments(pairs) for pairs in (env, env_before, env_after)]
    how = choose_timing(timing, l2, None, baseline=False)
    backend, chosen = _backend_and_cards(vendor or config.vendor, target, cards, jobs)
    switch = choose_switch(axis.switch, backend, vendor_segment)
    if chosen:
        refuse_masks(backend, switch, *assignments)
    require_free(switch, *assignments)
    if switch.is_null_control and assignments[1] != assignments[2]:
        raise UsageError(
            f"{switch.text} asks for a null control, and --env-before and --env-after make the sides differ. Put the "
            "variable that differs into --switch."
        )
    if pins is not None:
        require_runs(pins)
    available = available_memory()
    at_a_time, share = memory_share(len(chosen) or jobs, memory, available)
    # The last check of all: a mistake on the command line leaves no folder.
    root = make_root(root, axis.name or switch.axis)
    plan = ScreenPlan(
        root=root,
        switch=switch,
        target=target,
        cards=chosen,
        wait=wait,
        timing=how,
        backend=backend,
        suite=work.suite,
        entries=work.entries,
        interpreter=work.interpreter,
        inherited=dict(os.environ),
        env=assignments[0],
        env_before=assignments[1],
        env_after=assignments[2],
        stages=stages,
        configs=cast("PinMode", "tune" if chosen else configs or "first"),
        pins=pins,
        self_check=self_check,
        jobs=at_a_time,
        timeout=timeout,
        memory=share,
        first_dtype=dtypes == "first",
        shapes=work.shapes,
        resume=resume,
        force=force,
        command=typed_command(),
    )
    warn_of_memory(at_a_time, share, available)
    for note in (axis.described, *work.notes):
        if note:
            click.echo(note, err=True)
    console = PatientConsole(highlight=False)
    with hold_root(root), no_stray_processes():
        result = _run(plan, console)
    verdicts = table_order(result.verdicts, result.order)
    print_screen(
        screen_view(
            verdicts,
            axis=switch.text,
            state=result.axis,
            table_path=str(root / TABLE_FILE),
            criterion=backend.criterion_stage,
            shapes=result.shapes,
        ),
        console,
    )
    raise SystemExit(exit_code(verdicts, [Verdict(word) for word in fail_on]))


def _backend_and_cards(
    vendor: str | None, target: str | None, asked: str | None, jobs: int | None
) -> tuple[DeviceBackend, tuple[Card, ...]]:
    """The backend of the target and no card, or that of the cards and those."""
    if target is not None:
        return choose_backend(vendor, choose_target(target)), ()
    found = choose_cards(vendor, asked, os.environ)
    if jobs is not None and jobs != len(found.cards):
        raise UsageError(
            f"--jobs {jobs}: on cards one operator goes on at a time on each, which is {len(found.cards)} here. Leave out "
            "--jobs, and name the cards with --cards."
        )
    return found.backend, found.cards


def _refuse_with_a_target(given: dict[str, object]) -> None:
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} is for cards; with --target nothing is executed. Leave out one of the two.")


def _refuse_on_a_card(stages: str, configs: str | None) -> None:
    if stages != "all":
        raise UsageError(f"--stages {stages} is for --target: a card needs machine code to run an operator at all.")
    if configs is not None:
        raise UsageError(
            f"--configs {configs} is for --target, where no choice can be timed. On a card an autotuner tunes; --pins "
            "replays other choices."
        )


def _run(plan: ScreenPlan, console: Console) -> ScreenResult:
    return run_to_the_end(
        lambda progress: run_screen(plan, progress),
        len(plan.entries),
        console,
        plan.root / TABLE_FILE,
        plan.root / REQUEST_FILE,
    )
