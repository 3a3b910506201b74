"""`zl-bench screen`: checks what was asked, runs the screen, prints its table and sets the exit code."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import cast

import click
from rich.console import Console

from zl_bench.cli.options import (
    checkout_option,
    choose_axis,
    choose_backend,
    choose_interpreter,
    choose_operators,
    choose_suite,
    choose_switch,
    choose_target,
    configuration,
    suite_option,
)
from zl_bench.errors import EnvironmentUnfit, ExitCode, UsageError
from zl_bench.inside.zl_probe import processes
from zl_bench.model import Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.reports.terminal import print_screen
from zl_bench.reports.view import screen_view
from zl_bench.running.environment import parse_assignments
from zl_bench.running.memory import GIB, available_memory, gib, shared_out
from zl_bench.running.planner import PinMode
from zl_bench.store.layout import TABLE_FILE, hold_root, new_default_root
from zl_bench.store.pins import require_runs
from zl_bench.store.request import read_request
from zl_bench.store.screen import table_order
from zl_bench.suites.base import select, selection_notes
from zl_bench.suites.shape_file import plan_shapes
from zl_bench.workflow.screen import ScreenPlan, ScreenResult, exit_code
from zl_bench.workflow.screen import screen as run_screen


@click.command()
@click.option("--switch", "switch_text", help="NAME, NAME=BEFORE..AFTER, pass:NAME[@N] or build:PY..PY.")
@click.option("--axis", "axis_name", help="A switch by its name in zl-bench.toml; rlc ships with the tool.")
@click.option("--target", help="Compile for this target, with no card: cuda:90, cuda:80, hip:gfx942 …")
@suite_option
@checkout_option
@click.option("--env", multiple=True, metavar="K=V", help="Set on both sides. Repeatable.")
@click.option("--env-before", multiple=True, metavar="K=V", help="Set on the before side only. Repeatable.")
@click.option("--env-after", multiple=True, metavar="K=V", help="Set on the after side only. Repeatable.")
@click.option(
    "--root", type=click.Path(path_type=Path), help="Where to record; runs/ab_<axis>_<timestamp> unless given."
)
@click.option("--resume", is_flag=True, help="Skip the operators that a root has finished; needs --root.")
@click.option(
    "--jobs",
    type=click.IntRange(1),
    help="Operators at a time; unless given, one per core that has 1 GiB (or --memory) of memory.",
)
@click.option(
    "--timeout", type=click.FloatRange(0, min_open=True), default=300.0, show_default=True, help="Seconds per run."
)
@click.option(
    "--memory",
    type=click.FloatRange(0, min_open=True),
    metavar="GIB",
    help="GiB that a run and its processes may take together; unless given, 80 % of what is available shared by --jobs.",
)
@click.option(
    "--stages", type=click.Choice(["all", "ttgir"]), default="all", show_default=True, help="How far to compile."
)
@click.option(
    "--configs",
    type=click.Choice(["first", "all"]),
    default="first",
    show_default=True,
    help="Of an autotuner without a card: the first configuration that compiles, or every one.",
)
@click.option(
    "--dtypes",
    type=click.Choice(["own", "first"]),
    default="own",
    show_default=True,
    help="Of operators asked for without a dtype (flaggems): all their own dtypes, or only the first.",
)
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="[OPERATOR=]N,N,…",
    help="Run this shape instead of the suite's own (flaggems), as in softmax=4096,256; without OPERATOR, in every "
    "operator. Repeatable: shapes of one operator add up.",
)
@click.option(
    "--shape-file",
    type=click.Path(path_type=Path),
    help="Give FlagGems this shape file (YAML) instead of its own; --shape OPERATOR=… overrides it.",
)
@click.option("--pins", type=click.Path(path_type=Path), help="Replay the autotuner choices recorded in this root.")
@click.option(
    "--self-check", is_flag=True, help="Compile before twice; kernels that differ from themselves are unstable."
)
@click.option("--force", is_flag=True, help="Go on although the compiler does not seem to know the switch.")
@click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice([verdict.value for verdict in Verdict]),
    help="Exit 10 if this verdict occurs. Repeatable.",
)
@click.option("--python", help="Python of the measured processes; the one that runs zl-bench unless given.")
@click.option("--vendor", help="Vendor whose segment {VENDOR} in the switch stands for; by the target unless given.")
@click.option("--vendor-segment", help="The segment itself, for a vendor that is not known.")
@click.option(
    "--ops", "operator_file", type=click.Path(path_type=Path), help="Read operators from this file, one a line."
)
@click.option("--all", "whole_suite", is_flag=True, help="The whole suite, as without any operator.")
@click.argument("operators", nargs=-1, metavar="[OPERATOR[:DTYPE]]...")
def screen(
    switch_text: str | None,
    axis_name: str | None,
    target: str | None,
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
    configs: str,
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

    Exit codes: 0 done, 1 a run failed or an operator is BROKEN, 2 bad usage, 3 this environment can not do it, 4 the
    compiler does not know the switch, 10 a verdict named by --fail-on occurred, 130 interrupted.
    """
    target = choose_target(target)
    if math.isnan(timeout):
        raise UsageError("--timeout nan is no number of seconds.")
    if memory is not None and not math.isfinite(memory):
        raise UsageError(f"--memory {memory:g} is no number of GiB.")
    config = configuration()
    axis = choose_axis(switch_text, axis_name, config)
    backend = choose_backend(vendor or config.vendor, target)
    switch = choose_switch(axis.switch, backend, vendor_segment)
    suite = choose_suite(suite_name, checkout, config)
    if dtypes == "first" and suite.dtype_option is None:
        raise UsageError("--dtypes first is for suites that choose dtypes by an option, such as flaggems.")
    shape_plan = plan_shapes(suite, shape_file, shapes)
    wanted = choose_operators(operators, operator_file, whole_suite=whole_suite)
    entries = select(suite, wanted)
    if resume and (root is None or read_request(root) is None):
        raise UsageError(
            "--resume goes on in a root: name it with --root."
            if root is None
            else f"--resume: {root} is no root of a screen; there is nothing to go on with. Leave out --resume to start."
        )
    interpreter = choose_interpreter(python or config.python)
    assignments = [parse_assignments(pairs) for pairs in (env, env_before, env_after)]
    if any(switch.kind == "variable" and switch.name in pairs for pairs in assignments):
        raise UsageError(f"{switch.name} is the switch under test; write its values there, as in {switch.name}=x..y.")
    if switch.is_null_control and assignments[1] != assignments[2]:
        raise UsageError(
            f"{switch.text} asks for a null control, and --env-before and --env-after make the sides differ. Put the "
            "variable that differs into --switch."
        )
    if pins is not None:
        require_runs(pins)
    available = available_memory()
    at_a_time, share = shared_out(
        jobs, None if memory is None else math.ceil(memory * GIB), len(os.sched_getaffinity(0)), available
    )
    # The last check of all: a mistake on the command line leaves no folder.
    root = _root(root, axis.name or switch.axis)
    plan = ScreenPlan(
        root=root,
        switch=switch,
        target=target,
        backend=backend,
        suite=suite,
        entries=entries,
        interpreter=interpreter,
        inherited=dict(os.environ),
        env=assignments[0],
        env_before=assignments[1],
        env_after=assignments[2],
        stages=stages,
        configs=cast("PinMode", configs),
        pins=pins,
        self_check=self_check,
        jobs=at_a_time,
        timeout=timeout,
        memory=share,
        first_dtype=dtypes == "first",
        shapes=shape_plan,
        resume=resume,
        force=force,
    )
    shape_notes = shape_plan.notes if shape_plan is not None else ()
    if at_a_time * share > available:
        click.echo(
            f"{at_a_time} runs of up to {gib(share)} may take more than the {gib(available)} of memory available; "
            "lower --jobs or --memory to be safe.",
            err=True,
        )
    for note in (axis.described, *(selection_notes(entries) if wanted else ()), *shape_notes):
        if note:
            click.echo(note, err=True)
    console = _PatientConsole(highlight=False)
    with hold_root(root), _no_stray_processes():
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


class _PatientConsole(Console):
    """Goes on when its reader has gone (`| head`): the answer of a screen is in its files."""

    def on_broken_pipe(self) -> None:
        """Say nothing more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def _root(root: Path | None, axis: str) -> Path:
    if root is None:
        return new_default_root(Path("runs").absolute(), axis, datetime.now())
    if str(root) == ".":
        raise UsageError("--root would be the working directory itself; name a folder of its own.")
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EnvironmentUnfit(
            f"--root {root} can not be created: {error.strerror or error}. Name a folder that can."
        ) from error
    return root.absolute()


def _run(plan: ScreenPlan, console: Console) -> ScreenResult:
    """Run the screen; Ctrl-C and a polite kill end it with everything finished kept."""

    async def interruptible() -> ScreenResult:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        with ProgressReporter(len(plan.entries), console) as progress:
            return await run_screen(plan, progress)

    try:
        return asyncio.run(interruptible())
    except (KeyboardInterrupt, asyncio.CancelledError):
        click.echo(
            f"zl-bench: interrupted. Every finished operator is kept in {plan.root / TABLE_FILE}; "
            f"go on with --resume --root {plan.root}.",
            err=True,
        )
        raise SystemExit(ExitCode.INTERRUPTED) from None


@contextlib.contextmanager
def _no_stray_processes() -> Iterator[None]:
    """Adopt what a killed side server might leave behind, and end it."""
    processes.adopt_orphans()
    try:
        yield
    finally:
        processes.end_strays(())
