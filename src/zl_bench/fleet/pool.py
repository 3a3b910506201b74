"""Hands out the asked cards one by one, each with its lock, waiting for those that others use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder

POLL = 0.5
"""Seconds between two looks at a lock."""


@dataclass(frozen=True)
class HeldCard:
    """A card that this process holds the lock of. `descriptor` holds it too, in whatever process inherits it."""

    card: Card
    descriptor: int


class CardPool:
    """The cards that this process may use.

    Args:
        cards: them all.
        folder: where the locks are.
        root: what the cards are used for, for the messages of others.
        tell: hears who is waited for.
        wait: seconds to wait for a card that somebody else uses; None for as long as it takes.
    """

    def __init__(
        self, cards: Sequence[Card], folder: Path, root: Path, tell: Callable[[str], None], wait: float | None = None
    ):
        self.cards = tuple(cards)
        self._root = root
        self._locks = {card: CardLock(card, folder) for card in cards}
        self._held: set[Card] = set()
        self._tell = tell
        self._told: dict[Card, Holder | None] = {}
        self._gone_on_without: set[Card] = set()
        self._wait = wait
        self._had_one = False

    async def take(self, wanted: Callable[[], bool] = lambda: True) -> HeldCard | None:
        """Any card that is free, as soon as one is; None once none is wanted any more, or after the waiting time.

        Raises EnvironmentUnfit, which names the holders, if this process had no card at all after the waiting time.
        """
        start = time.monotonic()
        while wanted():
            busy = [card for card in self.cards if card not in self._held]
            for card in busy:
                lock = self._locks[card]
                if lock.take(Holder.of_this_process(self._root)):
                    self._held.add(card)
                    self._had_one = True
                    self._told.pop(card, None)
                    return HeldCard(card, lock.descriptor)
            if self._wait is not None and time.monotonic() - start >= self._wait:
                self._give_up(busy)
                return None
            self._tell_of(busy)
            await asyncio.sleep(POLL)
        return None

    def release(self, held: HeldCard) -> None:
        """Let go of a card; whatever used it has ended."""
        self._locks[held.card].release()
        self._held.discard(held.card)

    def _give_up(self, busy: Sequence[Card]) -> None:
        if not self._had_one:
            used = "; ".join(self._used(card) for card in busy)
            raise EnvironmentUnfit(
                f"Every card that was asked for is in use: {used}. Nothing was started; wait longer (--wait), or name "
                "other cards with --cards."
            )
        for card in busy:
            if card not in self._gone_on_without:
                self._gone_on_without.add(card)
                self._tell(f"{self._used(card)}: going on without it")

    def _tell_of(self, busy: Sequence[Card]) -> None:
        """Once for each holder of each card."""
        for card in busy:
            holder = self._locks[card].holder()
            if card not in self._told or self._told[card] != holder:
                self._told[card] = holder
                self._tell(f"{self._used(card)}: waiting for it")

    def _used(self, card: Card) -> str:
        return f"{card} is used by {self._locks[card].told_holder()}"
