"""The rounds of a measurement, pair by pair: run, check the code, check the card, keep or drop, repeat what was dropped.

While a pair is measured, the next one of its card starts up, if every row of the case is known to be timed by graph: a graph
is enqueued at once and times itself on the card, so what else the host does is not in it. Other methods have the host in what
they measure, and are left alone; so is a case that no pair has measured yet.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zl_bench.analysis.disturbances import disturbances, fewest_others
from zl_bench.analysis.wording import counted, listed, one_line
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import SIDES, Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.planner import Continuation
from zl_bench.running.servers import SideServers
from zl_bench.store.measure_record import MeasureRecord, Recorded
from zl_bench.workflow.liveness import card_target
from zl_bench.workflow.measure_ahead import Ahead, Task
from zl_bench.workflow.measure_lines import beside, paired_times, round_lines
from zl_bench.workflow.measure_pair import PairOfRuns, RanPair, StartedPair
from zl_bench.workflow.measure_work import Code, NodeToMeasure

MOST_FAILURES = 2
"""Pairs of a case that fail one after the other, before it is given up: a failure that chance made is rare, and never twice."""
MOST_LEARNT = 12
"""Pairs of a case that may be lost to ways of timing that cost a process, each of which is then avoided."""

Case = tuple[str, str]
"""Operator entry and node."""


@dataclass(frozen=True)
class _Ending:
    """What became of one pair. Without a `why` it stands."""

    why: str = ""
    deviation: bool = False
    disturbed: bool = False

    @property
    def failed(self) -> bool:
        """Whether its processes came to no end that says something of the code or the card."""
        return bool(self.why) and not self.deviation and not self.disturbed


class Rounds:
    """Runs pairs into a record, on so many `cards`. `deadline` is a moment of time.monotonic() after which none is begun; with
    `ahead` the next pair of a card may start up while one is measured.
    """

    def __init__(
        self,
        how: PairOfRuns,
        code: Code,
        record: MeasureRecord,
        common: Mapping[str, Any],
        progress: ProgressReporter,
        *,
        rounds: int,
        cards: int,
        deadline: float | None,
        ahead: bool,
        recorded: Recorded,
    ):
        self._how = how
        self._code = code
        self._record = record
        self._common = common
        self._progress = progress
        self._rounds = rounds
        self._cards = cards
        self._deadline = deadline
        self._ahead = ahead
        self.stopped = dict(recorded.stopped)
        """By operator entry, why it launches other code than was screened."""
        self.given_up: dict[Case, str] = {}
        """Cases that fail, or are disturbed again and again; another command may try them again."""
        self.out_of_time = False
        self._known: dict[Case, Continuation] = {}
        self._learnt: Counter[Case] = Counter()
        self._failures: Counter[Case] = Counter()
        self._disturbed: Counter[Case] = Counter()
        self._others: dict[str, int | None] = {}
        """By card, how many other processes are on it all along."""
        self._by_graph: dict[Case, bool] = {}
        """Whether all that was timed of a case was timed by graph."""
        for line in recorded.rows:
            self._note_method((str(line["entry"]), str(line["case"])), line)

    async def on_card(self, waiting: deque[Task], servers: SideServers) -> None:
        """Work on what is waiting, with the servers of one card, until nothing is left. Raises the errors of the family."""
        async with Ahead(lambda task, known: StartedPair(task.node, task.number, self._how, servers, known)) as ahead:
            while ahead.task is not None or waiting:
                if ahead.task is None and self._spent:
                    self._leave(waiting)
                else:
                    await self._one(ahead.task or waiting.popleft(), servers, ahead, waiting)

    def _leave(self, waiting: deque[Task]) -> None:
        """Begin nothing more, and say so once, not once for every pair."""
        left = [task for task in waiting if not self._abandoned(task)]
        waiting.clear()
        if left:
            self.out_of_time = True
            self._progress.note(f"{counted(len(left), 'pair')} not begun: the budget is spent")

    async def _one(self, task: Task, servers: SideServers, ahead: Ahead, waiting: deque[Task]) -> None:
        """Run pairs of the task until one stands, or it is not worth another."""
        name = f"{task.node.text} round {task.number}"
        self._progress.started(name)
        while not (told := self._why_not(task)):
            started = await ahead.take(task, self._known.get(_case(task)))
            try:
                accompanied = self._begin_next(task, ahead, waiting)
                pair = await started.measured()
            finally:
                await started.close()
            # Fingerprints are taken while nothing of this card is timed; other cards' pairs go on.
            ending, told = await asyncio.to_thread(self._settle, task, pair, accompanied)
            if ending.failed and pair.continuation is None:
                await self._require_card(servers, ending.why)
            if not self._goes_on(task, pair, ending):
                break
            self._progress.note(f"{name}: dropped and repeated: {one_line(ending.why)}")
        if ahead.task is task:  # it was begun, and is not to be measured any more
            await ahead.drop()
        self._progress.ended(name, f"{name}: {told}")

    def _begin_next(self, task: Task, ahead: Ahead, waiting: deque[Task]) -> bool:
        """Have the next task of the card start up, if that disturbs nothing, and no other card is left without one.

        Whether there is one now.
        """
        case = _case(task)
        undisturbed = self._ahead and self._by_graph.get(case, False) and case not in self._known
        if undisturbed and ahead.task is None and len(waiting) >= self._cards and not self._why_not(waiting[0]):
            following = waiting.popleft()
            ahead.begin(following, self._known.get(_case(following)))
        return ahead.task is not None

    def _note_method(self, case: Case, line: Mapping[str, Any]) -> None:
        self._by_graph[case] = self._by_graph.get(case, True) and line["method"] == "graph"

    async def _require_card(self, servers: SideServers, why: str) -> None:
        """Raise EnvironmentUnfit if the card has gone: it would fail case after case, and give them all up."""
        try:
            await card_target(servers, self._how.runs.root)
        except EnvironmentUnfit as error:
            raise EnvironmentUnfit(
                f"A pair failed ({one_line(why)}), and its card does not answer any more: {error} Every finished round is "
                "kept; go on with --resume on a card that does (`zl-bench doctor` looks at one)."
            ) from error

    def _why_not(self, task: Task) -> str:
        """Why no pair of the task is to be begun, empty if one is."""
        why = self._abandoned(task)
        if not why and self._spent:
            self.out_of_time = True
            return "not begun: the budget is spent"
        return why

    def _abandoned(self, task: Task) -> str:
        """Why no pair of the task is to be begun, however much time there is; empty if there is no reason."""
        if task.node.entry.text in self.stopped:
            return "not begun: it was stopped"
        return "not begun: it was given up" if _case(task) in self.given_up else ""

    @property
    def _spent(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _goes_on(self, task: Task, pair: RanPair, ending: _Ending) -> bool:
        """Note what the pair's ending says of further ones; whether this round of the case is tried once more."""
        case = _case(task)
        if not ending.why:
            self._failures[case] = 0
            return False
        if ending.deviation:
            self.stopped[task.node.entry.text] = ending.why
            return False
        if pair.continuation is not None and self._learnt[case] < MOST_LEARNT:
            self._learnt[case] += 1
            self._known[case] = pair.continuation
            return True
        kind, most = (self._disturbed, max(3, self._rounds)) if ending.disturbed else (self._failures, MOST_FAILURES)
        kind[case] += 1
        if kind[case] >= most:
            self.given_up[case] = (
                f"{counted(most, 'pair')} of it {'disturbed' if ending.disturbed else 'failed'}: {ending.why}"
            )
        return case not in self.given_up

    def _settle(self, task: Task, pair: RanPair, accompanied: bool) -> tuple[_Ending, str]:
        """Judge a pair and put it into the record."""
        times = paired_times(task.node, pair)
        ending = self._ending(task.node, pair, times)
        if ending.deviation:
            self._record.add_stopped(task.place, ending.why)
            return ending, f"stopped: {ending.why}"
        if ending.why:
            self._record.add_dropped(task.place, ending.why, {"started": pair.started, "seconds": pair.seconds})
            return ending, f"dropped: {one_line(ending.why)}"
        hashes: dict[Side, Any] = {side: self._code.hashes(pair.sides[side], times.rows) for side in SIDES}
        lines = round_lines(task.node, task.number, pair, times, hashes, self._how, self._common)
        missing = [
            {"row": f"{key.operator} {key.dtype} {key.detail}", "why": why} for key, why in times.missing.items()
        ]
        opened = sorted({device for side in SIDES for device in pair.timed[side].opened})
        about = {"started": pair.started, "seconds": pair.seconds, "missing": missing, "opened": opened,
                 "accompanied": accompanied}  # fmt: skip
        self._record.add_pair(task.place, lines, about)
        for line in lines:
            self._note_method(_case(task), line)
        lost = f", {len(missing)} not timed ({listed(times.missing.values(), shown=1)})" if missing else ""
        return ending, f"{counted(len(times.rows), 'row')} in {pair.seconds:.1f} s{lost}"

    def _ending(self, node: NodeToMeasure, pair: RanPair, times: Any) -> _Ending:
        if pair.lost:
            return _Ending(pair.lost)
        for side in SIDES:
            deviation = self._code.deviation(node.screened(side), pair.sides[side], node.rows)
            if deviation:
                return _Ending(deviation, deviation=True)
        if not times.rows:
            reasons = listed(times.missing.values(), shown=1)
            return _Ending(f"no row was timed on both sides: {reasons}")
        turns, card = beside(times.rows), _card_of(pair)
        self._others[card] = fewest_others(turns, self._others.get(card))
        found = disturbances(turns, self._others[card])
        return _Ending("; ".join(found), disturbed=bool(found))


def _case(task: Task) -> Case:
    return task.node.entry.text, task.node.node


def _card_of(pair: RanPair) -> str:
    told = next(iter(pair.timed.values())).card
    return told.get("uuid") or told.get("name") or ""
