"""`screen`: one pair of runs per operator, one verdict each.

Steps: prepare the root, start both sides, confirm that the switch is live, run the pairs, close with the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.axis import AxisState, axis_state
from zl_bench.analysis.shapes import shapes_summary, unused_keys
from zl_bench.analysis.wording import counted
from zl_bench.errors import ExitCode, UsageError, ZlBenchError
from zl_bench.fleet.pool import HeldCard
from zl_bench.model import SIDES, OperatorVerdict, Pin, Side, Status, Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.environment import recordable
from zl_bench.running.planner import PinMode
from zl_bench.running.servers import SideServers
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import Switch
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import REQUEST_FILE, SHAPES_FILE, run_request_file
from zl_bench.store.pins import recorded_pins
from zl_bench.store.screen import ScreenRecord
from zl_bench.suites.base import Entry
from zl_bench.suites.shape_file import known_keys
from zl_bench.workflow.liveness import Liveness, examine, require_live, write_liveness
from zl_bench.workflow.pair import PairSettings, screen_operator
from zl_bench.workflow.plan import SuitePlan, left_out_variables, shapes_asked, side_plan, suite_as_asked
from zl_bench.workflow.requests import request_of, settle_request
from zl_bench.workflow.workers import CardWorkers


@dataclass(frozen=True, kw_only=True)
class ScreenPlan(SuitePlan):
    """What the command line asked for, checked."""

    switch: Switch
    env_before: Mapping[str, str]
    env_after: Mapping[str, str]
    stages: str
    configs: PinMode
    pins: Path | None
    self_check: bool
    jobs: int
    """Operators at a time without a card; with cards, one on each."""


@dataclass(frozen=True)
class ScreenResult:
    """The verdicts of all operators of the request that are finished, and what they say of the axis together."""

    verdicts: tuple[OperatorVerdict, ...]
    order: tuple[tuple[str, str], ...]
    axis: AxisState
    liveness: Liveness
    shapes: tuple[str, ...] = ()
    """Where shapes were asked for: sentences about what became of them in the whole screen."""


async def screen(plan: ScreenPlan, progress: ProgressReporter) -> ScreenResult:
    """Screen the plan's operators into its root, which the caller holds. Raises the errors of the family."""
    record = ScreenRecord(plan.root)
    kept = _kept(plan, record.prepare())
    async with AsyncExitStack() as stack:
        workers = None
        if plan.target is None:
            opened = CardWorkers(plan, progress, lambda held: SideServers(side_plans(plan, held)))
            workers = await stack.enter_async_context(opened)
        servers = workers.servers if workers else await stack.enter_async_context(SideServers(side_plans(plan)))
        await _settle_request(plan, servers)
        if plan.shapes is not None:
            write_atomically(plan.root / SHAPES_FILE, plan.shapes.content, kept="nothing was started")
        liveness = await examine(plan.switch, servers, plan.target, plan.root)
        write_liveness(plan.root, liveness)
        require_live(plan.switch, liveness, progress, force=plan.force)
        _note_what_matters(plan, kept, progress)
        finished = {(verdict.operator, verdict.dtype): verdict for verdict in kept}
        order = tuple(_identity(entry) for entry in plan.entries)
        record.write_table(list(finished.values()), order)

        async def run_entry(entry: Entry, servers: SideServers) -> None:
            progress.started(entry.text)
            judged = await screen_operator(entry, pair_settings(plan), servers, _given_pins(plan, entry))
            record.append(judged)
            finished[_identity(entry)] = judged.verdict
            record.write_table(list(finished.values()), order)
            progress.finished(judged.verdict)

        entries = [entry for entry in plan.entries if _identity(entry) not in finished]
        if workers is not None:
            await workers.work(entries, run_entry)
        else:
            await _in_parallel(entries, lambda entry: run_entry(entry, servers), plan.jobs)
    verdicts = tuple(finished.values())
    state = axis_state(verdicts, known=liveness.known, null_control=plan.switch.is_null_control)
    return ScreenResult(verdicts, order, state, liveness, _about_shapes(plan, verdicts))


def exit_code(verdicts: Sequence[OperatorVerdict], fail_on: Sequence[Verdict]) -> ExitCode:
    """The exit code of a screen that came to its end."""
    if any(verdict.verdict in fail_on for verdict in verdicts):
        return ExitCode.VERDICT_FOUND
    if any(verdict.verdict is Verdict.BROKEN or verdict.failed_runs for verdict in verdicts):
        return ExitCode.FAILED_RUN
    return ExitCode.OK


def side_plans(plan: ScreenPlan, held: HeldCard | None = None) -> dict[Side, SidePlan]:
    """How the processes of each side start: the same environment but for the switch and --env-before, --env-after."""
    own = {"before": plan.env_before, "after": plan.env_after}
    return {side: side_plan(plan, side, plan.switch, own[side], held) for side in SIDES}


def _note_what_matters(plan: ScreenPlan, kept: Sequence[OperatorVerdict], progress: ProgressReporter) -> None:
    settled = {*plan.env_before, *plan.env_after, *plan.switch.variables("before")}
    if left_out := left_out_variables(plan, settled):
        progress.note(f"not inherited: {', '.join(left_out)}; --env NAME=VALUE sets one on both sides")
    if plan.stages != "all":
        progress.note("--stages ttgir: no machine code is made, so the target's limits are not checked")
    if kept:
        progress.note(f"--resume: {counted(len(kept), 'finished operator')} skipped: {_names(kept)}")


def _kept(plan: ScreenPlan, finished: Sequence[OperatorVerdict]) -> list[OperatorVerdict]:
    """The finished operators to keep: none in a fresh root; when resuming all but those that failed and are asked."""
    if finished and not plan.resume:
        raise UsageError(
            f"{plan.root} already has {counted(len(finished), 'finished operator')} ({_names(finished)}). "
            "Go on with --resume, which skips them, or name another folder with --root."
        )
    if any((plan.root / run_request_file(side)).exists() for side in SIDES):
        raise UsageError(f"{plan.root} has runs of one side, which a screen's would replace. Name another with --root.")
    asked = {_identity(entry) for entry in plan.entries}
    return [
        verdict
        for verdict in finished
        if (verdict.operator, verdict.dtype) not in asked or verdict.status is not Status.FAILED
    ]


async def _settle_request(plan: ScreenPlan, servers: SideServers) -> None:
    """Write down what is asked, or check that a root to resume was asked the same."""
    asked = request_of(
        plan,
        await servers.start(),
        switch=plan.switch.text,
        stages=plan.stages,
        configs=plan.configs,
        env_before=recordable(plan.env_before),
        env_after=recordable(plan.env_after),
        pins=str(plan.pins.absolute()) if plan.pins else None,
        self_check=plan.self_check,
    )
    settle_request(plan, asked, REQUEST_FILE)


def pair_settings(plan: ScreenPlan) -> PairSettings:
    """What is the same for every operator of the plan."""
    return PairSettings(
        root=plan.root,
        suite=suite_as_asked(plan),
        shapes=plan.shapes.asked if plan.shapes is not None else None,
        switch=plan.switch,
        target=plan.target,
        stages=plan.stages,
        configs=plan.configs,
        criterion=plan.backend.criterion_stage,
        first_dtype=plan.first_dtype,
        timeout=plan.timeout,
        self_check=plan.self_check,
        backend=plan.backend,
        timing=plan.timing,
        at_once=plan.target is not None and plan.configs == "first" and 2 * len(plan.entries) <= plan.jobs,
    )


def _about_shapes(plan: ScreenPlan, verdicts: Sequence[OperatorVerdict]) -> tuple[str, ...]:
    if plan.shapes is None:
        return ()
    used = {key for verdict in verdicts for key in verdict.shape_keys}
    unused = unused_keys(shapes_asked(plan), used, known_keys(plan.suite, plan.entries))
    return (shapes_summary(verdicts), *unused)


def _given_pins(plan: ScreenPlan, entry: Entry) -> tuple[Pin, ...] | None:
    return None if plan.pins is None else recorded_pins(plan.pins, entry.operator, entry.dtype)


async def _in_parallel(entries: Sequence[Entry], work: Callable[[Entry], Awaitable[None]], jobs: int) -> None:
    """Work on `jobs` entries at a time. The first error ends the others, whose processes are killed."""
    free = asyncio.Semaphore(jobs)

    async def one(entry: Entry) -> None:
        async with free:
            await work(entry)

    try:
        async with asyncio.TaskGroup() as group:
            for entry in entries:
                group.create_task(one(entry))
    except* (ZlBenchError, OSError) as errors:
        raise errors.exceptions[0] from None


def _identity(entry: Entry) -> tuple[str, str]:
    return entry.operator, entry.dtype or "-"


def _names(verdicts: Sequence[OperatorVerdict]) -> str:
    names = [
        verdict.operator if verdict.dtype == "-" else f"{verdict.operator}:{verdict.dtype}" for verdict in verdicts
    ]
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
