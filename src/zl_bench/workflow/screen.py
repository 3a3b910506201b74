"""`screen`: one pair of runs per operator, one verdict each.

Steps: prepare the root, start both sides, confirm that the switch is live, run the pairs, close with the table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from zl_bench import __version__
from zl_bench.analysis.axis import AxisState, axis_state
from zl_bench.analysis.shapes import shapes_summary, unused_keys
from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import hidden_cards, variables_of_other_vendors
from zl_bench.errors import DeadAxis, ExitCode, UsageError, ZlBenchError
from zl_bench.model import SIDES, OperatorVerdict, Pin, Side, Status, Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.environment import not_inherited, recordable, side_environment
from zl_bench.running.planner import PinMode
from zl_bench.running.servers import SideServers
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import Switch
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import SHAPES_FILE
from zl_bench.store.pins import recorded_pins
from zl_bench.store.request import ScreenRequest, read_request, require_same, write_request
from zl_bench.store.screen import ScreenRecord
from zl_bench.suites.base import Entry, Suite, content_hash
from zl_bench.suites.shape_file import ShapePlan, known_keys
from zl_bench.workflow.liveness import Liveness, examine
from zl_bench.workflow.pair import PairSettings, screen_operator


@dataclass(frozen=True, kw_only=True)
class ScreenPlan:
    """What the command line asked for, checked. `inherited` is the environment that both sides are based on."""

    root: Path
    switch: Switch
    target: str
    backend: DeviceBackend
    suite: Suite
    entries: tuple[Entry, ...]
    interpreter: Path
    inherited: Mapping[str, str]
    env: Mapping[str, str]
    env_before: Mapping[str, str]
    env_after: Mapping[str, str]
    stages: str
    configs: PinMode
    pins: Path | None
    self_check: bool
    jobs: int
    timeout: float
    memory: int | None = None
    """Bytes that each run may take with all its processes."""
    first_dtype: bool = False
    shapes: ShapePlan | None = None
    resume: bool
    force: bool


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
    async with SideServers(side_plans(plan)) as servers:
        versions = await servers.start()
        builds = {f"{side} Triton": str(found["triton"]["library_sha256"]) for side, found in versions.items()}
        _settle_request(plan, builds)
        if plan.shapes is not None:
            write_atomically(plan.root / SHAPES_FILE, plan.shapes.content, kept="nothing was started")
        liveness = await examine(plan.switch, servers, plan.target, plan.root)
        if not liveness.known and not plan.force:
            raise DeadAxis(
                f"The axis {plan.switch.text} is dead: {liveness.finding}. No operator was compiled. "
                "Check the name and the compiler, or go on regardless with --force."
            )
        if not liveness.known:
            progress.note(f"{liveness.finding}: going on because of --force")
        if left_out := _left_out(plan):
            progress.note(f"not inherited: {', '.join(left_out)}; --env NAME=VALUE sets one on both sides")
        if plan.stages != "all":
            progress.note("--stages ttgir: no machine code is made, so the target's limits are not checked")
        finished = {(verdict.operator, verdict.dtype): verdict for verdict in kept}
        if finished:
            progress.note(f"--resume: {len(finished)} finished operators are skipped: {_names(kept)}")
        order = tuple(_identity(entry) for entry in plan.entries)
        record.write_table(list(finished.values()), order)

        async def run_entry(entry: Entry) -> None:
            progress.started(entry.text)
            judged = await screen_operator(entry, _settings(plan), servers, _given_pins(plan, entry))
            record.append(judged)
            finished[_identity(entry)] = judged.verdict
            record.write_table(list(finished.values()), order)
            progress.finished(judged.verdict)

        await _in_parallel([entry for entry in plan.entries if _identity(entry) not in finished], run_entry, plan.jobs)
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


def side_plans(plan: ScreenPlan) -> dict[Side, SidePlan]:
    """How the processes of each side start: the same environment but for the switch and --env-before, --env-after."""
    own = {"before": plan.env_before, "after": plan.env_after}
    inherited = {
        name: value for name, value in plan.inherited.items() if name not in variables_of_other_vendors(plan.backend)
    }
    return {
        side: SidePlan(
            side=side,
            interpreter=plan.switch.interpreter(side) or plan.interpreter,
            environment=side_environment(
                inherited,
                plan.switch.variables(side),
                {**plan.backend.environment, **plan.env, **own[side]},
                hidden_cards(plan.backend, plan.target),
                plan.suite.import_paths,
            ),
            log=plan.root / f"side_{side}.log",
            target=plan.target,
            modules=plan.suite.modules,
            memory=plan.memory,
            caches=plan.root / f"side_{side}.cache",
        )
        for side in SIDES
    }


def _left_out(plan: ScreenPlan) -> list[str]:
    """Variables of the user's environment that no side gets and that the command line does not settle."""
    settled = {*plan.env, *plan.env_before, *plan.env_after, *plan.switch.variables("before")}
    return sorted(set(not_inherited(plan.inherited)) - settled)


def _kept(plan: ScreenPlan, finished: Sequence[OperatorVerdict]) -> list[OperatorVerdict]:
    """The finished operators to keep: none in a fresh root; when resuming all but those that failed and are asked."""
    if finished and not plan.resume:
        raise UsageError(
            f"{plan.root} already has {len(finished)} finished operators ({_names(finished)}). "
            "Go on with --resume, which skips them, or name another folder with --root."
        )
    asked = {_identity(entry) for entry in plan.entries}
    return [
        verdict
        for verdict in finished
        if (verdict.operator, verdict.dtype) not in asked or verdict.status is not Status.FAILED
    ]


def _settle_request(plan: ScreenPlan, builds: Mapping[str, str]) -> None:
    """Write down what is asked, or check that a root to resume was asked the same. Operators may be added."""
    asked = ScreenRequest(
        switch=plan.switch.text,
        target=plan.target,
        suite=plan.suite.name,
        stages=plan.stages,
        configs=plan.configs,
        env=recordable(plan.env),
        env_before=recordable(plan.env_before),
        env_after=recordable(plan.env_after),
        operators=tuple(entry.text for entry in plan.entries),
        tool_version=__version__,
        started=datetime.now().astimezone().isoformat(timespec="seconds"),
        pins=str(plan.pins.absolute()) if plan.pins else None,
        self_check=plan.self_check,
        criterion=plan.backend.criterion_stage,
        shapes=_shapes_asked(plan),
        shape_file=plan.shapes.given if plan.shapes is not None else None,
        extra={
            **builds,
            "suite folder": str(plan.suite.root),
            "suite's files": content_hash(plan.suite.root),
            "dtypes": "first" if plan.first_dtype else "own",
        },
    )
    recorded = read_request(plan.root)
    if recorded is not None and plan.resume:
        require_same(plan.root, replace(recorded, operators=asked.operators), asked)
        asked = replace(asked, started=recorded.started)
    write_request(plan.root, asked)


def _settings(plan: ScreenPlan) -> PairSettings:
    return PairSettings(
        root=plan.root,
        suite=_suite_with_shapes(plan),
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
    )


def _suite_with_shapes(plan: ScreenPlan) -> Suite:
    """The suite, told to read the root's shape file where shapes are asked for.

    Name and path are one argument: as one of its own, pytest would take the path for a place to collect from.
    """
    if plan.shapes is None:
        return plan.suite
    option = f"{plan.suite.shape_option}={(plan.root / SHAPES_FILE).absolute()}"
    return replace(plan.suite, pytest_args=(*plan.suite.pytest_args, option))


def _shapes_asked(plan: ScreenPlan) -> dict[str, str]:
    if plan.shapes is None:
        return {}
    asked = plan.shapes.asked
    return {key: " ".join(shapes) for key, shapes in asked.by_key.items() if key in asked.keys}


def _about_shapes(plan: ScreenPlan, verdicts: Sequence[OperatorVerdict]) -> tuple[str, ...]:
    if plan.shapes is None:
        return ()
    used = {key for verdict in verdicts for key in verdict.shape_keys}
    unused = unused_keys(_shapes_asked(plan), used, known_keys(plan.suite, plan.entries))
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
