"""`zl-bench run`: checks what was asked, runs and times one side of each operator on a card, and sets the exit code."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import click

from zl_bench.cli import options
from zl_bench.cli.cards import (
    ONLY_ON_A_CARD,
    cards_option,
    choose_cards,
    choose_timing,
    l2_option,
    refuse_masks,
    timing_option,
    wait_option,
)
from zl_bench.cli.options import choose_axis, choose_switch, configuration
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
from zl_bench.model import Side
from zl_bench.running.environment import parse_assignments
from zl_bench.running.memory import available_memory
from zl_bench.store.layout import hold_root, run_request_file
from zl_bench.workflow.run import RunsPlan, exit_code, run_operators


@click.command()
@click.option("--side", type=click.Choice(["before", "after"]), help="Which side of the switch to run; needs one.")
@options.switch_option
@options.axis_option
@cards_option
@wait_option
@timing_option("Unless given, as suits the vendor's cards: by graph on NVIDIA's.")
@l2_option
@options.suite_option
@options.checkout_option
@click.option("--env", multiple=True, metavar="K=V", help="Set in every run. Repeatable.")
@click.option(
    "--root",
    type=click.Path(path_type=Path),
    help="Where to record; runs/run_<timestamp>, or runs/ab_<axis>_<timestamp> with a switch, unless given. Both sides of a "
    "switch may go to one root.",
)
@options.resume_option
@options.timeout_option
@options.memory_option
@options.dtypes_option
@options.shape_option
@options.shape_file_option
@options.force_option
@options.python_option
@options.vendor_option
@options.segment_option
@options.operator_file_option
@options.whole_suite_option
@click.option("--target", hidden=True)
@options.operators_argument
def run(
    side: str | None,
    switch_text: str | None,
    axis_name: str | None,
    cards: str | None,
    wait: float | None,
    timing: str | None,
    l2: str | None,
    suite_name: str,
    checkout: Path | None,
    env: tuple[str, ...],
    root: Path | None,
    resume: bool,
    timeout: float,
    memory: float | None,
    dtypes: str,
    shapes: tuple[str, ...],
    shape_file: Path | None,
    force: bool,
    python: str | None,
    vendor: str | None,
    vendor_segment: str | None,
    operator_file: Path | None,
    whole_suite: bool,
    target: str | None,
    operators: tuple[str, ...],
) -> None:
    """Run and time each operator on a card, together with what its suite compares it with, such as torch's own.

    One build, as it is; or, with --switch and --side, one side of a switch. For both sides and a verdict, use screen.

    Exit codes: 0 done, 1 a run failed, 2 bad usage, 3 this environment can not do it, 4 the compiler does not know the
    switch, 130 interrupted.
    """
    if target is not None:
        raise UsageError("--target compiles and executes nothing, so there is nothing to run: that is for screen.")
    require_numbers(timeout, memory, wait)
    config = configuration()
    with_switch = switch_text is not None or axis_name is not None
    if with_switch != (side is not None):
        raise UsageError("--side and --switch (or --axis) go together: which side of which switch to run.")
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
    chosen_side = cast("Side", side or "before")
    if resume:
        require_something_to_resume(root, run_request_file(chosen_side), f"runs of the {chosen_side} side")
    assignments = parse_assignments(env)
    found = choose_cards(vendor or config.vendor, cards, os.environ, ONLY_ON_A_CARD)
    axis = choose_axis(switch_text, axis_name, config) if with_switch else None
    switch = choose_switch(axis.switch, found.backend, vendor_segment) if axis is not None else None
    refuse_masks(found.backend, switch, assignments)
    if switch is not None:
        require_free(switch, assignments)
    available = available_memory()
    at_a_time, share = memory_share(len(found.cards), memory, available)
    # The last check of all: a mistake on the command line leaves no folder.
    root = make_root(root, None if axis is None or switch is None else axis.name or switch.axis)
    plan = RunsPlan(
        root=root,
        side=chosen_side,
        switch=switch,
        target=None,
        cards=found.cards,
        wait=wait,
        timing=choose_timing(timing, l2, found.backend.default_timing, baseline=True),
        backend=found.backend,
        suite=work.suite,
        entries=work.entries,
        interpreter=work.interpreter,
        inherited=dict(os.environ),
        env=assignments,
        timeout=timeout,
        memory=share,
        first_dtype=dtypes == "first",
        shapes=work.shapes,
        resume=resume,
        force=force,
        command=typed_command(),
    )
    warn_of_memory(at_a_time, share, available)
    for note in (axis.described if axis is not None else "", *work.notes):
        if note:
            click.echo(note, err=True)
    console = PatientConsole(highlight=False)
    with hold_root(root), no_stray_processes():
        done = run_to_the_end(
            lambda progress: run_operators(plan, progress),
            len(plan.entries),
            console,
            root,
            root / run_request_file(plan.side),
        )
    console.print(f"recorded in {root}; `zl-bench summary {root}` shows it", markup=False, soft_wrap=True)
    raise SystemExit(exit_code(done))
