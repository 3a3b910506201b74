"""Appends events and raw IR to a run's directory, so that whatever is written survives what happens next."""

import hashlib
import json
import os
import time
from typing import Any, Protocol

from . import wire


class EventSink(Protocol):
    """Where events go."""

    def event(self, event: str, **fields: Any) -> None:
        """Take one event."""


def write_whole(path: str, data: bytes) -> None:
    """Write a file that is there with all of its content, or not at all."""
    with open(path + ".part", "wb") as stream:
        stream.write(data)
    os.replace(path + ".part", path)


class Recorder:
    """Writes one run's events.jsonl and its ir/ folder.

    Every event is a single `write` on an O_APPEND descriptor, so a kill leaves complete lines and at most one cut one.
    OSError (a full disk) is not caught: the run must end visibly, and the tool reads the prefix.
    """

    def __init__(self, out: str):
        self._out = out
        os.makedirs(os.path.join(out, wire.IR_FOLDER), exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._descriptor = os.open(os.path.join(out, wire.EVENTS_FILE), flags, 0o644)
        self._owner = os.getpid()
        self._files: set[str] = set()

    def event(self, event: str, **fields: Any) -> None:
        """Append one event. A process forked off the run has no voice here."""
        if os.getpid() != self._owner:
            return
        line = json.dumps({"event": event, "t": round(time.time(), 6), **fields}, default=str) + "\n"
        data = line.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._descriptor, data) :]

    def put_ir(self, stage: str, content: str | bytes) -> dict[str, str]:
        """Store one stage's raw content under its hash and return the event's reference to it."""
        data = content.encode("utf-8", "surrogateescape") if isinstance(content, str) else bytes(content)
        digest = hashlib.sha256(data).hexdigest()
        name = f"{wire.IR_FOLDER}/{digest[:24]}.{stage}"
        if name not in self._files:
            write_whole(os.path.join(self._out, name), data)
            self._files.add(name)
        return {"file": name, "sha256": digest}
