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

from collections.abc import Callable, Sequence
from typing import Any

from .device import Call, Device, Event
from .graphs import ColdGraph, WarmGraph
from .sampling import FEWEST_SAMPLES, FLUSH_MS, LAUNCHES, PAUSE_MS, Estimate, Samples, between, enough_for, pause

MARKS_MS = 0.03
"""What the host takes for a call's two events and its flush."""
SPACE_MS = 0.03
"""Between two queued warm calls the device spins so long, as a flush keeps it busy between cold ones. Back to back, short
kernels wait for their launches to be fetched, at a rate that is another in every process: of a kernel of 1 us, 5.6 % between
processes on an H200, and 3.6 % with groups of calls between two events; after a flush, 2.1 %."""
LONGEST_BATCH_MS = 300.0
"""To enqueue one, during which the device stands still."""
ATTEMPTS = 4
"""To keep the device busy for long enough that the host gets ahead."""


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
        attempts = ATTEMPTS
        while len(found.milliseconds) < count:
            for attempt in range(attempts):
                size = min(most, count - len(found.milliseconds))
                marks, in_time = self._batch(size, slack * size * enqueue_ms / 1e3)
                if in_time or attempt + 1 == attempts:
                    break
                # Either the device was not kept long enough, or its queue was full and the host had to wait for it.
                most, slack = max(1, size // 4), slack * 2
            found.launch_bound |= not in_time
            found.milliseconds += between(marks)
            if not in_time:  # it waits for the device itself, and more would cost much and say no more
                count, attempts = min(count, FEWEST_SAMPLES), 1
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
        samples = self._asked(wanted_ms)
        if 0 < len(samples) < FEWEST_SAMPLES and sum(samples) < wanted_ms / 2:
            # It plans by its own first calls, which held a compile: it clears the L2 by what may be the suite's own kernel.
            samples = self._asked(wanted_ms)
        median = sorted(samples)[len(samples) // 2] if samples else 0.0
        return Samples(samples, launch_bound=self._one.host_ms >= median)

    def _asked(self, wanted_ms: float) -> list[float]:
        try:
            found = self._do_bench(self._call, rep=max(1, int(wanted_ms)), return_mode="all")
        except (TypeError, AssertionError, ValueError):  # this Triton has no such mode
            found = self._do_bench(self._call, rep=max(1, int(wanted_ms)), quantiles=[0.5])
        return [float(one) for one in (found if isinstance(found, Sequence) else [found])]

    def release(self) -> None:
        """There is nothing to give back."""


Method = WarmGraph | ColdGraph | Queued | Direct


def _load(device: Device, call: Call, one: Estimate) -> None:
    pause(device, PAUSE_MS / 2)
    for _ in range(max(1, min(LAUNCHES, int(5 / max(one.device_ms, one.host_ms, 1e-2))))):
        call()
    device.synchronize()
