"""Takes turns with the other side's process, so that both time a row within the same second, on the same card.

Two processes are resident. Each starts up as far as it can without the card, on which the pair before may still be timed, and
waits there to be let in. Then at each timed row they meet: each prepares it (captures its graph) when it is told to, and then
times it when it is told to, for a share of the time that it would take alone. Who goes when is the tool's to say, over
a socket (see wire.py); nothing is timed while the other side does anything. A side whose channel is silent for too long, or
closed, ends its process: the pair is lost, and half of one would say nothing.
"""

import json
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ..recorder import EventSink
from .sampling import Samples
from .warmup import WarmUp


class NotTimed(Exception):
    """The row is not timed in this round, on neither side, for the reason given."""


class Alone(Exception):
    """There is nobody left to take turns with, for the reason given."""


@dataclass(frozen=True)
class Turn:
    """What one turn found. `before` and `after` are what the card told on either side of the samples."""

    warm_up: WarmUp
    samples: Samples
    before: Any
    after: Any


TakeTurn = Callable[[float, "float | None"], Turn]
"""Warms up and times, for that share of the usual time; the card was under load until that moment, if it is known."""


class Gate(Protocol):
    """Where a run waits until it may use the card, and a row until it may be prepared and timed."""

    def enter(self) -> None:
        """The run has started up as far as it can without the card. Returns when it may use it."""

    def arrive(self, about: Mapping[str, Any]) -> None:
        """The row has run. Returns when it may be prepared; raises NotTimed where it is not to be."""

    def take(self, method: str, turn: TakeTurn) -> list[Turn]:
        """The row is prepared to be timed by that method. Returns all its turns; raises NotTimed, or what a turn raises."""

    def refuse(self, why: str) -> None:
        """The row can not be timed here by any method."""


class NoGate:
    """Nobody to wait for: one turn, which takes its whole time."""

    def enter(self) -> None:
        """Go on."""

    def arrive(self, about: Mapping[str, Any]) -> None:
        """Go on."""

    def take(self, method: str, turn: TakeTurn) -> list[Turn]:
        """Time it at once."""
        return [turn(1.0, None)]

    def refuse(self, why: str) -> None:
        """Nobody needs to hear."""


class Channel:
    """JSON objects, one a line, over a stream socket. Raises Alone when the other end is gone or silent for too long."""

    def __init__(self, stream: socket.socket, patience_seconds: float):
        self._stream = stream
        self._patience_seconds = patience_seconds
        self._buffer = b""

    @classmethod
    def to(cls, name: str, patience_seconds: float) -> "Channel":
        """Connect to the abstract Unix socket of that name. Raises OSError where nobody listens."""
        stream = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        stream.settimeout(patience_seconds)
        stream.connect(b"\0" + name.encode())
        return cls(stream, patience_seconds)

    def say(self, **message: Any) -> None:
        """Send one message."""
        try:
            self._stream.sendall(json.dumps(message).encode() + b"\n")
        except OSError as error:
            raise Alone(f"the tool does not listen any more ({error})") from error

    def hear(self, *, patient: bool = False) -> dict[str, Any]:
        """The next message; a patient one waits for it until the other end is gone."""
        self._stream.settimeout(None if patient else self._patience_seconds)
        while b"\n" not in self._buffer:
            try:
                data = self._stream.recv(1 << 16)
            except TimeoutError:
                raise Alone(f"it was nobody's turn for {self._patience_seconds:.0f} s") from None
            except OSError as error:
                raise Alone(f"the tool is gone ({error})") from error
            if not data:
                raise Alone("the tool has closed the channel")
            self._buffer += data
        line, self._buffer = self._buffer.split(b"\n", 1)
        message: dict[str, Any] = json.loads(line)
        return message


class Turns:
    """This process's place at the gate. `leave` ends the process; `share` is what a turn takes of the usual time."""

    def __init__(self, channel: Channel, share: float, recorder: EventSink, leave: Callable[[], None]):
        self._channel = channel
        self._share = share
        self._recorder = recorder
        self._leave = leave

    @classmethod
    def of(cls, given: Mapping[str, Any], recorder: EventSink, leave: Callable[[], None]) -> Gate:
        """The gate that input.json names, if any. Raises OSError where nobody keeps it."""
        turns = given.get("turns")
        if not turns:
            return NoGate()
        channel = Channel.to(turns["socket"], float(turns["patience_s"]))
        channel.say(side=given["side"], pid=os.getpid())
        return cls(channel, 1 / int(turns["each"]), recorder, leave)

    def enter(self) -> None:
        """Wait to be let in, for as long as the pair before takes."""
        self._say(ready=True)
        self._ordered(patient=True)

    def arrive(self, about: Mapping[str, Any]) -> None:
        """Wait until the other side is at this row too, and it is this side's time to prepare it."""
        self._say(row=dict(about))
        order = self._ordered()
        if order["do"] != "prepare":
            raise NotTimed(order.get("why") or "it was not to be timed")

    def take(self, method: str, turn: TakeTurn) -> list[Turn]:
        """Take turns until told that the row is done. One that fails costs the row, on both sides."""
        self._say(prepared=method)
        taken: list[Turn] = []
        while True:
            order = self._ordered()
            if order["do"] != "turn":
                break
            try:
                taken.append(turn(self._share, order.get("loaded")))
            except Exception as error:
                self._say(failed=f"{type(error).__name__}: {error}"[:500])
                raise NotTimed(self._ordered().get("why", "")) from error
            self._say(timed=True)
        if order.get("why"):
            raise NotTimed(order["why"])
        return taken

    def refuse(self, why: str) -> None:
        """Say so, and wait until the other side has been told."""
        self._say(refused=why[:500])
        self._ordered()

    def _say(self, **message: Any) -> None:
        try:
            self._channel.say(**message)
        except Alone as alone:
            self._go(str(alone))

    def _ordered(self, *, patient: bool = False) -> dict[str, Any]:
        try:
            order = self._channel.hear(patient=patient)
        except Alone as alone:
            order = {"do": "leave", "why": str(alone)}
        if order["do"] == "leave":
            self._go(order.get("why", ""))
        return order

    def _go(self, why: str) -> None:
        self._recorder.event("left", why=why)
        self._leave()
        raise Alone(why)  # for a leave() that a test lets return
