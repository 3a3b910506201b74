"""One worker a card: each takes a card, starts the sides on it, and works on operators until there are none left."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from zl_bench.errors import ZlBenchError
from zl_bench.fleet.cards import Card, ask, processes_on
from zl_bench.fleet.locks import lock_folder
from zl_bench.fleet.pool import CardPool, HeldCard
from zl_bench.model import Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.servers import SideServers
from zl_bench.store.cards import CardUse, OtherProcess, append_use
from zl_bench.workflow.plan import SuitePlan, opened_devices

Item = TypeVar("Item")
OpenServers = Callable[[HeldCard], SideServers]


class CardWorkers:
    """The cards of a plan at work. An async context manager: entering it takes a first card and opens the sides on it,
    leaving it ends every process and lets go of every card.
    """

    def __init__(self, plan: SuitePlan, progress: ProgressReporter, open_servers: OpenServers):
        self._plan = plan
        self._progress = progress
        self._open_servers = open_servers
        self._pool = CardPool(plan.cards, lock_folder(plan.inherited), plan.root, progress.note, plan.wait)
        self._first = AsyncExitStack()
        self.servers: SideServers
        """Those of the first card, once it is taken."""

    async def __aenter__(self) -> Self:
        servers = await self._first.enter_async_context(self._workplace(lambda: True))
        if servers is None:
            raise ValueError("a first card is always wanted")
        self.servers = servers
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._first.aclose()

    async def work(self, items: Sequence[Item], work: Callable[[Item, SideServers], Awaitable[None]]) -> None:
        """Hand out what there is to do in order, each to the next worker that is free. The first error ends the others."""

        async def until_none_is_left(waiting: deque[Item], servers: SideServers) -> None:
            while waiting:
                await work(waiting.popleft(), servers)

        await self.share(items, until_none_is_left)

    async def share(
        self, items: Sequence[Item], on_card: Callable[[deque[Item], SideServers], Awaitable[None]]
    ) -> None:
        """Have every card take what it does next from the left of what is waiting. The first error ends the others."""
        waiting = deque(items)

        async def first() -> None:
            async with self._first:  # whoever waits for this card need not wait for the others
                await on_card(waiting, self.servers)

        async def another() -> None:
            async with self._workplace(lambda: bool(waiting)) as servers:
                if servers is not None:
                    await on_card(waiting, servers)

        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(first())
                for _ in range(min(len(self._plan.cards), len(items)) - 1):
                    group.create_task(another())
        except* (ZlBenchError, OSError) as errors:
            raise errors.exceptions[0] from None

    @asynccontextmanager
    async def _workplace(self, wanted: Callable[[], bool]) -> AsyncIterator[SideServers | None]:
        """The sides on a card that was free; None if none is wanted any more, or to be had."""
        held = await self._pool.take(wanted)
        if held is None:
            yield None
            return
        try:
            await self._note_use(held.card)
            async with self._open_servers(held) as servers:
                self._note_opened(held.card, await servers.start())
                yield servers
        finally:
            self._pool.release(held)

    def _note_opened(self, card: Card, versions: Mapping[Side, Mapping[str, Any]]) -> None:
        opened = opened_devices(versions)
        if opened:
            self._progress.note(f"importing has opened {opened}: if the runs can not use {card}, that may be why")

    async def _note_use(self, card: Card) -> None:
        """Write down that the card is used from now on, and who else has it open: nothing of ours has, yet."""
        found = await asyncio.to_thread(processes_on, card, self._plan.backend, ask(self._plan.inherited))
        others = None if found is None else [OtherProcess(other.pid, other.name, other.used_mib) for other in found]
        now = datetime.now().astimezone().isoformat(timespec="seconds")
        append_use(self._plan.root, CardUse(now, card.index, card.uuid, card.name, card.pci, others))
        if found:
            told = ", ".join(map(str, found))
            self._progress.note(f"{card} is open in other processes as well, which may disturb what runs on it: {told}")
