"""What every way of timing needs: how long a call takes, about, how many samples that makes, and pauses in between."""

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from .device import Call, CanNot, Device, Event

BURST_MS, PAUSE_MS = 10.0, 8.0
"""Of work at a time, and of rest before the next: see `methods`."""
FLUSH_MS = 0.08
"""A guess at what flushing the L2 takes, to plan by."""
LAUNCHES = 600
"""Enqueued at a time: a device that is kept busy takes about 1000 before the host has to wait."""
FEWEST_SAMPLES, MOST_SAMPLES = 10, 5000
FEWEST_LONG_SAMPLES = 3
LONG_MS = 2000.0
"""Where the fewest samples take longer than this, FEWEST_LONG_SAMPLES must do."""
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


def pause(device: Device, milliseconds: float) -> None:
    """Have the device spin for so long; where nothing does that, it goes on without."""
    with contextlib.suppress(CanNot):
        device.block(milliseconds / 1e3)


def between(marks: Sequence[tuple[Event, Event]]) -> list[float]:
    """Milliseconds from the first to the second of each pair."""
    return [first.milliseconds_to(last) for first, last in marks]
