"""A device of our own making, with a clock of its own, so that timing can be tested where there is none."""

from __future__ import annotations

from collections import deque

from zl_probe.timing.device import CanNot, Untrustworthy


class SimulatedEvent:
    """Notes the simulated device's time."""

    def __init__(self, device):
        self._device = device
        self.at = None

    def record(self):
        self._device.enqueue(self)

    def done(self):
        return self.at is not None and self.at <= self._device.host_ms

    def milliseconds_to(self, later):
        return later.at - self.at


class SimulatedGraph:
    """What was enqueued during a capture."""

    def __init__(self, device, work):
        self._device = device
        self._work = work

    def replay(self):
        self._device.replays += 1
        if self._device.wedges_on_replay:
            self._device.wedged()
        for item in self._work:
            self._device.enqueue(item)

    def release(self):
        self._device.released += 1


class SimulatedDevice:
    """Work takes the milliseconds that it says; the host spends `launch_ms` on each.

    `poisons`: a capture fails. `waiting`: each call makes the host wait. `blocks`, `graphs`: what it can do at all.
    `queue`: how much it takes before the host has to wait. `broken`: it answers with an error from then on.
    """

    def __init__(
        self, *, launch_ms=0.001, flush_ms=0.08, poisons=False, waiting=False, blocks=True, graphs=True, queue=100_000
    ):
        self.host_ms = 0.0
        self.free_ms = 0.0
        self.launch_ms = launch_ms
        self.flush_ms = flush_ms
        self.poisons, self.waiting, self.blocks, self.graphs = poisons, waiting, blocks, graphs
        self.wedges_on_replay = False
        self.wedged = lambda: None
        self.replays = self.released = self.flushes = 0
        self.spins = []
        self.random = 7
        self._captured = None
        self._ends = deque(maxlen=queue)
        self.broken = False

    def call(self, milliseconds):
        """A call that keeps the device busy for so long, and draws a random number."""

        def call():
            self.random += 1
            self.enqueue(milliseconds)
            if self.waiting:
                self.synchronize()

        return call

    def enqueue(self, item):
        """Milliseconds of work, or an event to be stamped when the device gets there."""
        if self._captured is not None:
            self._captured.append(item)
            return
        if len(self._ends) == self._ends.maxlen:
            self.host_ms = max(self.host_ms, self._ends[0])
        self.host_ms += self.launch_ms
        self.free_ms = max(self.free_ms, self.host_ms)
        if isinstance(item, SimulatedEvent):
            item.at = self.free_ms
        else:
            self.free_ms += item
        self._ends.append(self.free_ms)

    def synchronize(self):
        if self.broken:
            raise RuntimeError("simulated: the device is broken")
        self.host_ms = max(self.host_ms, self.free_ms)

    def event(self, *, in_graph=False):
        return SimulatedEvent(self)

    def capture(self, body):
        if not self.graphs:
            raise CanNot("simulated: no graphs")
        self._captured = []
        try:
            body()
            if self.poisons:
                raise Untrustworthy("simulated: the capture failed")
            return SimulatedGraph(self, self._captured)
        finally:
            self._captured = None

    def waits(self, call):
        call()
        return "simulated: the call waits" if self.waiting else ""

    def flush(self):
        self.flushes += 1
        self.enqueue(self.flush_ms)

    def block(self, seconds):
        if not self.blocks:
            raise CanNot("simulated: nothing blocks")
        self.spins.append(seconds * 1e3)
        self.enqueue(seconds * 1e3)

    def random_state(self):
        return self.random

    def restore_random_state(self, state):
        self.random = state


class SimulatedClocks:
    """A card whose clock reads what it is told, one reading after another, the last for good."""

    def __init__(self, *readings):
        self._readings = list(readings)

    def clock(self):
        return self._readings.pop(0) if len(self._readings) > 1 else self._readings[0]

    def reading(self):
        return {"clock_mhz": self.clock(), "memory_clock_mhz": 1, "temperature_c": 2, "power_w": 3.5, "throttle": []}

    def card(self):
        return {"name": "simulated card", "uuid": "SIM-0", "driver": "1", "processes": []}
