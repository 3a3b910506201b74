"""Where a run that takes turns waits, before it first uses the card, until the pair before it is done with it.

It comes there by itself when its tests are collected, or earlier, where something that it imports needs the card.
"""

import os
import sys
import time
import traceback
from collections.abc import Callable

from ..recorder import EventSink
from ..untouched import CardDiffers, Untouched
from .turns import Gate

UNUSABLE = 70
"""The exit status of a run whose card is not the one that its side's imports were told of."""


class Entrance:
    """One run's. `use` is what it does first when it has been let in."""

    def __init__(self, untouched: Untouched, gate: Gate, recorder: EventSink, use: Callable[[], None]):
        self._untouched = untouched
        self._gate = gate
        self._recorder = recorder
        self._use = use

    @classmethod
    def before(cls, untouched: Untouched, gate: Gate, recorder: EventSink, use: Callable[[], None]) -> "Entrance":
        """One through which whatever needs the card must go; at once, where nobody could notice that it is needed."""
        entrance = cls(untouched, gate, recorder, use)
        untouched.on_use = entrance.enter
        if not untouched.notices:
            entrance.enter()
        return entrance

    def enter(self) -> None:
        """Wait to be let in, unless it has been."""
        if self._untouched.touched:
            return
        start = time.monotonic()
        self._gate.enter()
        self._untouched.touch()
        self._recorder.event("entered", waited_s=round(time.monotonic() - start, 3))
        try:
            self._untouched.require_same()
        except CardDiffers:  # the suite's code, which may have called this, is not to catch it
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(UNUSABLE)
        self._use()
