"""Loads the card until its clock is steady: by time, not by count.

An idle H200 sits at 345 MHz against 1980 under load, and what is measured on the way up is up to 5.7 times too long.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

IDLE_MS, HOT_MS = 300.0, 50.0
"""How long to load a card that had nothing to do, and one that has just been measured on."""
LONGEST_MS = 1000.0
WINDOW_MS = 50.0
"""The clock is steady when its readings over this long agree."""
FEWEST = 3
AGREEMENT = 0.01
STAYS_HOT_SECONDS = 0.1


@dataclass(frozen=True)
class WarmUp:
    """How long the card was loaded, and whether its clock came to rest; one at its power limit never does."""

    milliseconds: float
    steady: bool


class Warmer:
    """Remembers when the card was last under load."""

    def __init__(self, read_clock: Callable[[], int | None], now: Callable[[], float] = time.perf_counter):
        self._read_clock = read_clock
        self._now = now
        self._loaded_until: float | None = None

    def warm_up(self, load: Callable[[], Any], least_ms: float | None = None) -> WarmUp:
        """Repeat `load`, which keeps the card busy for some milliseconds and waits for it, until the clock is steady.

        Without a clock to read, until its own durations agree. At least for `least_ms`, if that is given.
        """
        start = self._now()
        hot = self._loaded_until is not None and start - self._loaded_until < STAYS_HOT_SECONDS
        least = least_ms or (HOT_MS if hot else IDLE_MS)
        readings: deque[tuple[float, float]] = deque()
        while True:
            before = self._now()
            load()
            after = self._now()
            clock = self._read_clock()
            elapsed = (self._now() - start) * 1e3
            readings.append((elapsed, after - before if clock is None else float(clock)))
            while len(readings) > FEWEST and readings[0][0] < elapsed - WINDOW_MS:
                readings.popleft()
            steady = _agree([value for _, value in readings])
            if (elapsed >= least and steady) or elapsed >= LONGEST_MS:
                return WarmUp(elapsed, steady)

    def loaded(self) -> None:
        """Note that the card was busy until now."""
        self._loaded_until = self._now()

    def loaded_at(self, moment: float | None) -> None:
        """Note that another process kept the card busy until that moment, of the clock that all processes share."""
        if moment is not None and (self._loaded_until is None or moment > self._loaded_until):
            self._loaded_until = moment


def at_rest(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> bool:
    """Whether the card's readings on either side of a measurement agree about its clock; what is not told is no objection."""
    clocks = [reading["clock_mhz"] for reading in (before, after) if reading and reading.get("clock_mhz")]
    return not clocks or max(clocks) <= min(clocks) * (1 + AGREEMENT)


def _agree(values: list[float]) -> bool:
    return len(values) >= FEWEST and max(values) <= min(values) * (1 + AGREEMENT)
