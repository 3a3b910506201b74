"""Reads the choices of the other side's run while that is still going on, so that both sides can run at once.

The other run's record is a file that grows by whole lines; the tool writes `outcome.json` beside it once the run has ended.
Only where no autotuner is timed can a choice be had so early, and be the one that the other run keeps.
"""

import json
import os
import time
from collections.abc import Callable
from typing import Any

from .wire import EVENTS_FILE, OUTCOME_FILE

LOOK_AGAIN_SECONDS = 0.02


class FollowedPins:
    """The `pin` events of the run in `directory`, each once, in order."""

    def __init__(self, directory: str, pause: Callable[[float], None] = time.sleep):
        self._events = os.path.join(directory, EVENTS_FILE)
        self._outcome = os.path.join(directory, OUTCOME_FILE)
        self._read = 0
        self._pause = pause
        self.over = False
        """Whether the run has ended and everything was read."""

    def until(self, enough: Callable[[], bool], take: Callable[[dict[str, Any]], None]) -> None:
        """Hand the events to `take` until there are enough, or no more to come."""
        while not enough() and not self.over:
            ended = os.path.exists(self._outcome)
            new = self._new()
            for event in new:
                take(event)
            if ended and not new:
                self.over = True
            elif not new:
                self._pause(LOOK_AGAIN_SECONDS)

    def _new(self) -> list[dict[str, Any]]:
        try:
            with open(self._events, "rb") as stream:
                stream.seek(self._read)
                data = stream.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._read += len(whole)
        return [event for line in whole.splitlines() if b'"pin"' in line and (event := _pin(line)) is not None]


def _pin(line: bytes) -> "dict[str, Any] | None":
    try:
        event = json.loads(line)
    except ValueError:
        return None  # a damaged record is for its reader to tell
    return event if isinstance(event, dict) and event.get("event") == "pin" else None
