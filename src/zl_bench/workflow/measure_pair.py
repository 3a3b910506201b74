"""One pair of a measurement: a fresh process of each side on one card, which time the same rows.

With `turns` both are resident and meet at each row (`running/turns.py`). With `processes` one runs after the other, as a pair
of a screen does, and only the order of the two alternates from round to round: a contrast, to see what turn-taking does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from zl_bench.analysis.round_order import first_at_row, first_process
from zl_bench.errors import ZlBenchError
from zl_bench.model import SIDES, ProcessOutcome, RowKey, Run, Side
from zl_bench.running.compiled_code import TRITON, seed_code
from zl_bench.running.planner import CACHES, Continuation, RunPlan, TakingTurns, Timing, prepare
from zl_bench.running.servers import SideServers
from zl_bench.running.turns import EACH, OTHER, KeptTurns, TurnKeeper, TurnOrder
from zl_bench.store.layout import code_folder, round_folder, run_directory
from zl_bench.store.runs import read_run, write_outcome
from zl_bench.store.timed_rows import TimedRun, read_timed_run
from zl_bench.store.timings import AskedTiming
from zl_bench.workflow.attempts import ENOUGH_LOST, next_step
from zl_bench.workflow.measure_work import NodeToMeasure
from zl_bench.workflow.pair import PairSettings, run_plan

Alternation = Literal["turns", "processes"]
CUT_SHORT = ("timeout", "memory", "crashed", "not started")
"""Ends of a process that cost the pair. A test that failed leaves the rows before it, which stand if both sides have them."""


@dataclass(frozen=True)
class PairOfRuns:
    """How every pair of a measurement is run. `runs` has the measurement's root and its timing."""

    runs: PairSettings
    timing: Timing
    alternate: Alternation
    seed: int


@dataclass(frozen=True)
class RanPair:
    """What a pair left behind. `lost` says why it can not be used, as far as its processes tell."""

    sides: Mapping[Side, Run]
    timed: Mapping[Side, TimedRun]
    lost: str
    continuation: Continuation | None
    """What a repetition must know: the methods that have cost a process of this pair, or of an earlier one."""
    passed: Mapping[RowKey, str]
    started: str
    seconds: float


async def run_pair(
    node: NodeToMeasure, number: int, how: PairOfRuns, servers: SideServers, known: Continuation | None
) -> RanPair:
    """Run both sides of a node in that round. `known` is what earlier pairs of it have learnt about its calls."""
    start, started = time.monotonic(), datetime.now().astimezone().isoformat(timespec="milliseconds")
    plans = {side: _plan(node, number, side, how, known) for side in SIDES}
    kept = KeptTurns("", {})
    if how.alternate == "turns":
        outcomes, kept = await _in_turns(node, number, plans, how, servers)
    else:
        first = first_process(how.seed, number, f"{node.entry.text} {node.node}")
        outcomes = {side: await _run(plans[side], how, servers) for side in (first, OTHER[first])}
    asked = AskedTiming(how.timing.method, how.timing.l2)
    sides = {side: read_run(plans[side].directory, node.node, side, outcomes[side]) for side in SIDES}
    timed = {side: read_timed_run(plans[side].directory, asked) for side in SIDES}
    learnt = _learnt(timed, known)
    return RanPair(
        sides=sides,
        timed=timed,
        lost=_why_lost(sides, timed, kept),
        continuation=learnt,
        passed=kept.passed,
        started=started,
        seconds=round(time.monotonic() - start, 3),
    )


def first_side(node: NodeToMeasure, number: int, how: PairOfRuns, key: RowKey) -> Side:
    """The side that goes first at a row in that round."""
    if how.alternate == "turns":
        return first_at_row(how.seed, number, key)
    return first_process(how.seed, number, f"{node.entry.text} {node.node}")


async def _in_turns(
    node: NodeToMeasure, number: int, plans: Mapping[Side, RunPlan], how: PairOfRuns, servers: SideServers
) -> tuple[dict[Side, ProcessOutcome], KeptTurns]:
    order = TurnOrder(lambda key: key in node.rows, lambda key: first_at_row(how.seed, number, key))
    outcomes: dict[Side, ProcessOutcome] = {}
    async with TurnKeeper() as keeper:

        async def one(side: Side) -> None:
            turns = TakingTurns(keeper.socket, EACH, how.runs.timeout)
            try:
                outcomes[side] = await _run(replace(plans[side], turns=turns), how, servers)
            finally:
                keeper.ended(side)

        try:
            async with asyncio.TaskGroup() as group:
                keeping = group.create_task(keeper.keep(order))
                for side in SIDES:
                    group.create_task(one(side))
        except* (ZlBenchError, OSError) as errors:
            raise errors.exceptions[0] from None
    return outcomes, keeping.result()


async def _run(plan: RunPlan, how: PairOfRuns, servers: SideServers) -> ProcessOutcome:
    outcome = await servers.run(plan.side, prepare(plan, servers.plans[plan.side].environment), how.runs.timeout)
    write_outcome(plan.directory, outcome)
    return outcome


def _plan(node: NodeToMeasure, number: int, side: Side, how: PairOfRuns, known: Continuation | None) -> RunPlan:
    """The pins are the screen's, the compiled code the side's own; outputs were compared by the screen."""
    root = how.runs.root
    directory = _place(round_folder(root, number), node, side)
    code = seed_code(node.screened(side).directory, _place(code_folder(root), node, side))
    caches = {name: directory / folder for name, folder in CACHES.items()} | {TRITON: code}
    plan = run_plan(node.entry, node.node, side, directory, how.runs, node.pins)
    return replace(plan, numerics=False, timing=how.timing, continuation=known, caches=caches)


def _place(root: Path, node: NodeToMeasure, side: Side) -> Path:
    entry = node.entry
    several = len(entry.nodes) > 1
    return run_directory(root, entry.operator, entry.dtype, side, node.node, several=several).absolute()


def _learnt(timed: Mapping[Side, TimedRun], known: Continuation | None) -> Continuation | None:
    """What earlier pairs and this one have learnt, for both sides alike; None if this pair has learnt nothing."""
    steps = [step for side in SIDES if (step := next_step(timed[side].events)) is not None]
    if not steps:
        return None
    avoid = dict(known.avoid) if known is not None else {}
    for step in steps:
        for call, methods in step.avoid.items():
            avoid[call] = tuple(dict.fromkeys((*avoid.get(call, ()), *methods)))
    lost = sum("graph" in methods for methods in avoid.values())
    return Continuation(0, avoid, queue_rest=lost >= ENOUGH_LOST)


def _why_lost(sides: Mapping[Side, Run], timed: Mapping[Side, TimedRun], kept: KeptTurns) -> str:
    """Of what one side did wrong, rather than that the other one was then alone."""
    told = [
        f"{side}: {run.absence.reason}"
        for side, run in sides.items()
        if run.absence is not None and run.absence.kind in CUT_SHORT and not timed[side].left
    ]
    return "; ".join(told) or kept.lost
