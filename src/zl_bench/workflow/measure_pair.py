"""One pair of a measurement: a fresh process of each side on one card, which time the same rows.

With `turns` both are resident and meet at each row (`running/turns.py`). They start up as soon as the pair is made, and wait
where they would first use the card until it is measured: the pair before may still be on it. With `processes` one runs after
the other, as a pair of a screen does, and only the order of the two alternates from round to round: a contrast, to see what
turn-taking does.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from zl_bench.analysis.nodes import CUT_SHORT
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


@dataclass(frozen=True)
class PairOfRuns:
    """How every pair of a measurement is run. `runs` has the measurement's root and its timing."""

    runs: PairSettings
    timing: Timing
    alternate: Alternation
    seed: int
    mirrored: bool = False
    """The other side first wherever the seed says which."""

    def first_at_row(self, number: int, key: RowKey) -> Side:
        """The side whose turn comes first at a row in that round."""
        return self._turned(first_at_row(self.seed, number, key))

    def first_process(self, number: int, node: NodeToMeasure) -> Side:
        """The side whose process goes first in that round, where processes alternate."""
        return self._turned(first_process(self.seed, number, f"{node.entry.text} {node.node}"))

    def _turned(self, side: Side) -> Side:
        return OTHER[side] if self.mirrored else side


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


class StartedPair:
    """Both sides of a node in one round. Make it within a running loop, and `close` it whatever happens.

    `known` is what earlier pairs of the node have learnt about its calls.
    """

    def __init__(
        self, node: NodeToMeasure, number: int, how: PairOfRuns, servers: SideServers, known: Continuation | None
    ):
        self.known = known
        self._node = node
        self._number = number
        self._how = how
        self._servers = servers
        self._entered = asyncio.Event()
        self._plans = {side: _plan(node, number, side, how, known) for side in SIDES}
        self._going = asyncio.create_task(self._in_turns()) if how.alternate == "turns" else None

    async def measured(self) -> RanPair:
        """Let both sides use the card, and wait until they have ended. Raises the errors of the family, and OSError."""
        start, started = time.monotonic(), datetime.now().astimezone().isoformat(timespec="milliseconds")
        self._entered.set()
        kept = KeptTurns("", {})
        if self._going is not None:
            outcomes, kept = await self._going
        else:
            first = self._how.first_process(self._number, self._node)
            outcomes = {side: await self._run(self._plans[side]) for side in (first, OTHER[first])}
        asked = AskedTiming(self._how.timing.method, self._how.timing.l2)
        folders = {side: self._plans[side].directory for side in SIDES}
        sides = {side: read_run(folders[side], self._node.node, side, outcomes[side]) for side in SIDES}
        timed = {side: read_timed_run(folders[side], asked) for side in SIDES}
        return RanPair(
            sides=sides,
            timed=timed,
            lost=_why_lost(sides, timed, kept),
            continuation=_learnt(timed, self.known),
            passed=kept.passed,
            started=started,
            seconds=round(time.monotonic() - start, 3),
        )

    async def close(self) -> None:
        """End what is left of its processes; of one that was never measured nothing stays."""
        if self._going is None:
            return
        self._going.cancel()
        await asyncio.gather(self._going, return_exceptions=True)
        if not self._entered.is_set():
            for plan in self._plans.values():
                await asyncio.to_thread(shutil.rmtree, plan.directory, ignore_errors=True)

    async def _in_turns(self) -> tuple[dict[Side, ProcessOutcome], KeptTurns]:
        order = TurnOrder(lambda key: key in self._node.rows, lambda key: self._how.first_at_row(self._number, key))
        outcomes: dict[Side, ProcessOutcome] = {}
        async with TurnKeeper() as keeper:

            async def one(side: Side) -> None:
                turns = TakingTurns(keeper.socket, EACH, self._how.runs.timeout)
                try:
                    outcomes[side] = await self._run(replace(self._plans[side], turns=turns))
                finally:
                    keeper.ended(side)

            async def keep() -> KeptTurns:
                await self._entered.wait()
                return await keeper.keep(order)

            try:
                async with asyncio.TaskGroup() as group:
                    keeping = group.create_task(keep())
                    for side in SIDES:
                        group.create_task(one(side))
            except* (ZlBenchError, OSError) as errors:
                raise errors.exceptions[0] from None
        return outcomes, keeping.result()

    async def _run(self, plan: RunPlan) -> ProcessOutcome:
        environment = self._servers.plans[plan.side].environment
        outcome = await self._servers.run(plan.side, prepare(plan, environment), self._how.runs.timeout, self._entered)
        write_outcome(plan.directory, outcome)
        return outcome


def first_side(node: NodeToMeasure, number: int, how: PairOfRuns, key: RowKey) -> Side:
    """The side that goes first at a row in that round."""
    return how.first_at_row(number, key) if how.alternate == "turns" else how.first_process(number, node)


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
    # A test that merely failed leaves the rows before it, which stand if both sides have them.
    told = [
        f"{side}: {run.absence.reason}"
        for side, run in sides.items()
        if run.absence is not None and run.absence.kind in CUT_SHORT and not timed[side].left
    ]
    return "; ".join(told) or kept.lost
