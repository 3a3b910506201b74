"""Three ways to time a call on a device, each giving samples in milliseconds.

    graph    the call is captured and replayed: no host in it. Warm, a graph holds many calls and a sample is a replay's time
             by their number; cold, it holds a flush of the L2 before each call and an event on either side of it.
    queued   calls between events, all enqueued while the device is kept busy by something else.
    direct   Triton's do_bench as it is.

Replays are enqueued one after another and waited for together: on an H200, waiting for each made the spread between
processes 5 to 25 times as large (0.02 to 0.25 % against 0.5 to 1.2 %).

Work comes in bursts, with pauses in which the device spins at little power and keeps its clock. Without them a card comes to
its power limit, where the clock jumps between steps: a matrix product of 182 us took 205 to 215 us then on an H200, and its
medians lay 0.7 to 1.3 % apart between processes, also after a second of it, against 0.15 % with pauses. All work is paced
alike, whatever the card says, so that the two sides of a pair never differ in it.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from .device import Call, CanNot, Device, Event, Graph

GRAPH_MS = 1.0
"""Work that a graph of warm calls holds, about."""
BURST_MS, PAUSE_MS = 10.0, 8.0
"""Of work at a time, and of rest before the next: see above."""
COLD_GRAPH_MS = BURST_MS
FLUSH_MS = 0.08
"""A guess at what flushing the L2 takes, to plan by."""
MOST_CALLS = 512
CAPTURE_MS = 100.0
"""Of the host's time, that capturing a graph may take, about."""
FEWEST_CALLS = 1
FEWEST_COLD_CALLS, MOST_COLD_CALLS = 4, 200
LAUNCHES = 600
"""Enqueued at a time: a device that is kept busy takes about 1000 before the host has to wait."""
FEWEST_SAMPLES, MOST_SAMPLES = 10, 5000
FEWEST_LONG_SAMPLES = 3
LONG_MS = 2000.0
"""Where the fewest samples take longer than this, FEWEST_LONG_SAMPLES must do."""
MARKS_MS = 0.03
"""What the host takes for a call's two events and its flush."""
SPACE_MS = 0.03
"""Between two queued warm calls the device spins so long, as a flush keeps it busy between cold ones. Back to back, short kernels
wait for their launches to be fetched, and that rate is another in every process: of a kernel of 1 us, 5.6 % between processes
on an H200, and 3.6 % with groups of calls between two events; after a flush, 2.1 %."""
LONGEST_BATCH_MS = 300.0
"""To enqueue one, during which the device stands still."""
ATTEMPTS = 4
"""To keep the device busy for long enough that the host gets ahead."""
LONGEST_BLOCK_MS = 20.0
"""Of the host's time for a call, to keep the device from it while it is estimated."""


@dataclass(frozen=True)
class Estimate:
    """What one call takes: of the device from the first of its work to the last, and of the host to enqueue it."""

    device_ms: float
    host_ms: float


@dataclass
class Samples:
    """Milliseconds per call. `launch_bound`: the host was slower than the device, so that they are the host's time."""

    milliseconds: list[float] = field(default_factory=list)
    launch_bound: bool = False


def estimate(device: Device, call: Call) -> Estimate:
    """The shorter of two calls: one on an idle device, and one that is enqueued while the device is kept from it.

    On an idle device, a call of several kernels takes as long as the host needs to enqueue them: a graph would be planned
    for a call that is ten times as long as it is, and hold too few of them.
    """
    idle = _one_call(device, call, 0.0)
    try:
        ahead = _one_call(device, call, 3 * min(idle.host_ms, LONGEST_BLOCK_MS) / 1e3)
    except CanNot:
        ahead = _one_call(device, call, 0.0)
    return min(idle, ahead, key=lambda one: one.device_ms)


def _one_call(device: Device, call: Call, blocked_seconds: float) -> Estimate:
    device.synchronize()
    first, last = device.event(), device.event()
    if blocked_seconds:
        device.block(blocked_seconds)
    first.record()
    start = time.perf_counter()
    call()
    host_ms = (time.perf_counter() - start) * 1e3
    last.record()
    device.synchronize()
    return Estimate(first.milliseconds_to(last), host_ms)


def enough_for(duration_ms: float, wanted_ms: float) -> int:
    """How many measurements of `duration_ms` fill `wanted_ms`, within what is sensible."""
    duration_ms = max(duration_ms, 1e-4)
    fewest = FEWEST_SAMPLES if FEWEST_SAMPLES * duration_ms <= LONG_MS else FEWEST_LONG_SAMPLES
    return max(fewest, min(MOST_SAMPLES, int(wanted_ms / duration_ms)))


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
            found += _between(self._marks)
        return Samples(found)

    def release(self) -> None:
        """Give the graph back."""
        self._graph.release()


class Queued:
    """Calls between events, each after a flush or a spin, enqueued while the device is kept from them."""

    def __init__(self, device: Device, call: Call, one: Estimate, *, cold: bool):
        self._device = device
        self._call = call
        self._one = one
        self._cold = cold
        device.block(0)  # CanNot now rather than later

    def load(self) -> None:
        """Keep the device busy for a while, and wait for it."""
        _load(self._device, self._call, self._one)

    def samples(self, wanted_ms: float) -> Samples:
        """In batches; `launch_bound` when the device could not be kept busy until a batch was enqueued."""
        # The device waits while a batch is enqueued, and runs it afterwards.
        each_ms = self._one.device_ms + self._one.host_ms + (FLUSH_MS if self._cold else SPACE_MS)
        count, found = enough_for(each_ms, wanted_ms), Samples()
        enqueue_ms, slack = self._one.host_ms + MARKS_MS, 1.5
        most = max(1, min(LAUNCHES // 10, int(LONGEST_BATCH_MS / enqueue_ms)))
        while len(found.milliseconds) < count:
            for attempt in range(ATTEMPTS):
                size = min(most, count - len(found.milliseconds))
                marks, in_time = self._batch(size, slack * size * enqueue_ms / 1e3)
                if in_time or attempt + 1 == ATTEMPTS:
                    break
                # Either the device was not kept long enough, or its queue was full and the host had to wait for it.
                most, slack = max(1, size // 4), slack * 2
            found.launch_bound |= not in_time
            found.milliseconds += _between(marks)
            if not in_time:  # it waits for the device itself, and more would cost much and say no more
                count = min(count, FEWEST_SAMPLES)
        return found

    def _batch(self, size: int, seconds: float) -> tuple[list[tuple[Event, Event]], bool]:
        marks = [(self._device.event(), self._device.event()) for _ in range(size)]
        self._device.block(seconds)
        freed = self._device.event()
        freed.record()
        for first, last in marks:
            if self._cold:
                self._device.flush()
            else:
                self._device.block(SPACE_MS / 1e3)
            first.record()
            self._call()
            last.record()
        in_time = not freed.done()
        self._device.synchronize()
        return marks, in_time

    def release(self) -> None:
        """There is nothing to give back."""


class Direct:
    """Triton's do_bench."""

    def __init__(self, device: Device, call: Call, one: Estimate, do_bench: Callable[..., Any]):
        self._device = device
        self._call = call
        self._one = one
        self._do_bench = do_bench

    def load(self) -> None:
        """do_bench warms up by itself."""
        _load(self._device, self._call, self._one)

    def samples(self, wanted_ms: float) -> Samples:
        """All of its samples, or the median where it gives no more.

        Launch bound: enqueueing a call takes the host longer than the time that was measured for the call, or nearly so,
        which no device work behind it could then explain.
        """
        try:
            found = self._do_bench(self._call, rep=max(1, int(wanted_ms)), return_mode="all")
        except (TypeError, AssertionError, ValueError):  # this Triton has no such mode
            found = self._do_bench(self._call, rep=max(1, int(wanted_ms)), quantiles=[0.5])
        samples = [float(one) for one in (found if isinstance(found, Sequence) else [found])]
        median = sorted(samples)[len(samples) // 2] if samples else 0.0
        return Samples(samples, launch_bound=self._one.host_ms >= median)

    def release(self) -> None:
        """There is nothing to give back."""


Method = WarmGraph | ColdGraph | Queued | Direct


def _most_captured(one: Estimate) -> int:
    return int(CAPTURE_MS / max(one.host_ms, 1e-3))


def pause(device: Device, milliseconds: float) -> None:
    """Have the device spin for so long; where nothing does that, it goes on without."""
    with contextlib.suppress(CanNot):
        device.block(milliseconds / 1e3)


def _load(device: Device, call: Call, one: Estimate) -> None:
    pause(device, PAUSE_MS / 2)
    for _ in range(max(1, min(LAUNCHES, int(5 / max(one.device_ms, one.host_ms, 1e-2))))):
        call()
    device.synchronize()


def _repeated(call: Call, count: int) -> Call:
    def body() -> None:
        for _ in range(count):
            call()

    return body


def _between(marks: Sequence[tuple[Event, Event]]) -> list[float]:
    return [first.milliseconds_to(last) for first, last in marks]
