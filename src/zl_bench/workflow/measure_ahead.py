"""The pair of a card that starts up while another one is measured there: at most one, and ended if nothing comes of it.

Starting up takes the host alone, since both sides wait before they would use the card (`measure_pair`). A pair that was begun
is used if it is what would be started now: this round of this case, with all that is known of its calls by now.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

from zl_bench.errors import ZlBenchError
from zl_bench.running.planner import Continuation
from zl_bench.store.measure_record import PairPlace
from zl_bench.workflow.measure_pair import StartedPair
from zl_bench.workflow.measure_work import NodeToMeasure


@dataclass(frozen=True)
class Task:
    """One case in one round, from 1."""

    node: NodeToMeasure
    number: int

    @property
    def place(self) -> PairPlace:
        """Where it stands in the record."""
        return PairPlace(self.node.entry.text, self.node.node, self.number)


class Ahead:
    """An async context manager: leaving it ends what was started and not used."""

    def __init__(self, start: Callable[[Task, Continuation | None], StartedPair]):
        self._start = start
        self._pair: StartedPair | None = None
        self.task: Task | None = None
        """What is to be done next on this card, if anything has been begun."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.drop()

    def begin(self, task: Task, known: Continuation | None) -> None:
        """Have its processes start up. Nothing else has been begun; what can not start is to say so when its time has come."""
        self.task = task
        with contextlib.suppress(ZlBenchError):
            self._pair = self._start(task, known)

    async def take(self, task: Task, known: Continuation | None) -> StartedPair:
        """A started pair of the task, which is the caller's to close: the one that was begun, or one that starts now."""
        if self.task is task:
            pair, self._pair, self.task = self._pair, None, None
            if pair is not None and pair.known == known:
                return pair
            if pair is not None:
                await pair.close()
        return self._start(task, known)

    async def drop(self) -> None:
        """End what was started."""
        pair, self._pair, self.task = self._pair, None, None
        if pair is not None:
            await pair.close()
