"""A call captured in a graph, and replayed: warm, many calls in a graph; cold, each after a flush and between two events."""

from itertools import pairwise

from .device import Call, Device, Event, Graph
from .sampling import BURST_MS, FLUSH_MS, LAUNCHES, PAUSE_MS, Estimate, Samples, between, enough_for, pause

GRAPH_MS = 1.0
"""Work that a graph of warm calls holds, about."""
COLD_GRAPH_MS = BURST_MS
MOST_CALLS = 512
CAPTURE_MS = 100.0
"""Of the host's time, that capturing a graph may take, about."""
FEWEST_CALLS = 1
FEWEST_COLD_CALLS, MOST_COLD_CALLS = 4, 200


class WarmGraph:
    """Many calls in one graph, so that a replay is long against the gap between two."""

    def __init__(self, device: Device, call: Call, one: Estimate):
        self._device = device
        most = min(MOST_CALLS, _most_captured(one))
        self._calls = max(FEWEST_CALLS, min(most, int(GRAPH_MS / max(one.device_ms, 1e-4))))
        self._graph = device.capture(_repeated(call, self._calls))
        self._replay_ms = self._calls * one.device_ms

    def load(self) -> None:
        """Keep the device busy for a while, and wait for it."""
        self._burst(self._replays_in(BURST_MS / 2))
        pause(self._device, PAUSE_MS / 2)
        self._device.synchronize()

    def samples(self, wanted_ms: float) -> Samples:
        """Replays with an event between each two, in bursts."""
        count = enough_for(self._replay_ms, wanted_ms)
        found: list[float] = []
        while len(found) < count:
            bursts: list[list[Event]] = []
            ahead = 0
            while ahead < min(LAUNCHES // 2, count - len(found)):
                pause(self._device, PAUSE_MS)
                bursts.append(self._burst(min(self._replays_in(BURST_MS), count - len(found) - ahead)))
                ahead += len(bursts[-1]) - 1
            self._device.synchronize()
            for marks in bursts:
                found += [earlier.milliseconds_to(later) / self._calls for earlier, later in pairwise(marks)]
        return Samples(found)

    def _replays_in(self, milliseconds: float) -> int:
        return max(1, min(LAUNCHES // 2, int(milliseconds / max(self._replay_ms, 1e-2))))

    def _burst(self, replays: int) -> list[Event]:
        """Enqueue that many, with an event before the first and one after each."""
        marks = [self._device.event() for _ in range(replays + 1)]
        marks[0].record()
        for mark in marks[1:]:
            self._graph.replay()
            mark.record()
        return marks

    def release(self) -> None:
        """Give the graph back."""
        self._graph.release()


class ColdGraph:
    """Calls in one graph, each after a flush of the L2 and between two events of its own."""

    def __init__(self, device: Device, call: Call, one: Estimate):
        self._device = device
        self._each_ms = max(one.device_ms, 1e-4) + FLUSH_MS
        most = min(MOST_COLD_CALLS, _most_captured(one))
        calls = max(FEWEST_COLD_CALLS, min(most, int(COLD_GRAPH_MS / self._each_ms)))
        self._marks = [(device.event(in_graph=True), device.event(in_graph=True)) for _ in range(calls)]
        device.flush()  # the memory for it must be there before the capture
        self._graph: Graph = device.capture(self._body(call))

    def _body(self, call: Call) -> Call:
        def body() -> None:
            for first, last in self._marks:
                self._device.flush()
                first.record()
                call()
                last.record()

        return body

    def load(self) -> None:
        """Keep the device busy for a while, and wait for it."""
        pause(self._device, PAUSE_MS)
        self._graph.replay()
        self._device.synchronize()

    def samples(self, wanted_ms: float) -> Samples:
        """The time between each call's events, of one replay after another."""
        count = enough_for(self._each_ms, wanted_ms)
        found: list[float] = []
        while len(found) < count:
            self.load()
            found += between(self._marks)
        return Samples(found)

    def release(self) -> None:
        """Give the graph back."""
        self._graph.release()


def _most_captured(one: Estimate) -> int:
    return int(CAPTURE_MS / max(one.host_ms, 1e-3))


def _repeated(call: Call, count: int) -> Call:
    def body() -> None:
        for _ in range(count):
            call()

    return body
