"""What timing needs of a device, so that it can be tested with a simulated one."""

from collections.abc import Callable
from typing import Any, Protocol

from .random_numbers import RandomNumbers

Call = Callable[[], Any]
"""Enqueues the work to be timed on the current stream; it may return before that is done."""


class CanNot(Exception):
    """The device, or the call on it, does not bear this way of timing. Nothing is wrong with the process."""


class Untrustworthy(Exception):
    """A capture failed. What comes after it in this process can not be trusted: later random numbers raise, for one."""


class Event(Protocol):
    """A point in a stream at which the device notes the time."""

    def record(self) -> None:
        """Enqueue it; within a capture, as a node of the graph."""

    def done(self) -> bool:
        """Whether the device has come to it."""

    def milliseconds_to(self, later: "Event") -> float:
        """From this one to a later one, after both are done."""


class Graph(Protocol):
    """Work that was captured."""

    def replay(self) -> None:
        """Enqueue it again."""

    def release(self) -> None:
        """Give its memory back."""


class Device(RandomNumbers, Protocol):
    """The device on which this process runs its cases."""

    def synchronize(self) -> None:
        """Wait until all that was enqueued is done."""

    def event(self, *, in_graph: bool = False) -> Event:
        """A new event. With in_graph it can be recorded in a capture and read after a replay; CanNot without such events."""

    def capture(self, body: Call) -> Graph:
        """Capture what `body` enqueues. CanNot without graphs, Untrustworthy after a capture that failed."""

    def waits(self, call: Call) -> str:
        """Run the call once; where it makes the host wait for the device, so that no graph can hold it, why; else empty."""

    def flush(self) -> None:
        """Enqueue going through more memory than the L2 holds."""

    def block(self, seconds: float) -> None:
        """Enqueue something that keeps the device from what follows for about so long. CanNot where there is no such thing."""
