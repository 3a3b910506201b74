"""What `doctor` asks of a card: calls of known length timed by each method, and what its clock does when load comes.

The calls are torch's spinning kernel, which counts cycles: of one length, of twice that, and of none. So two methods must
agree on the first, the second must take twice as long, and the third is what a method adds of its own. The timer is the one
that rows are timed by. Nothing is judged here. The answer, as JSON::

    {"reason": why there is nothing else, else empty,
     "card": {name, uuid, driver, processes} | null,
     "clock": {"idle": READING | null, "ramp": [[milliseconds under load, MHz], …], "loaded": READING | null} | null,
     "timings": [{"method", "l2", "what": "known" | "doubled" | "empty", "expected_ms": by the card's clock | null,
                  "measured_ms": the median | null, "note": why there is none, else empty}, …]}
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from .device import CanNot, Device, Untrustworthy
from .nvml import Clocks, clocks_of
from .timer import ORDER, Timer, TimingPlan
from .torch_device import TICKS_PER_SECOND, TorchDevice

KNOWN_SECONDS = 1e-3
"""Long against what any method adds of its own, which is some microseconds."""
CALLS = (("known", KNOWN_SECONDS), ("doubled", 2 * KNOWN_SECONDS), ("empty", 0.0))
REGIMES = (("direct", "cold"), ("queued", "warm"), ("queued", "cold"), ("graph", "warm"), ("graph", "cold"))
"""Graphs come last: a failed capture leaves a process in which nothing else can be measured."""
REST_SECONDS = 2.0
"""How long the card is left alone, so that its clock falls."""
WATCHED_SECONDS = 1.0
"""How long its clock is watched under load."""
LOAD_SECONDS = 5e-3
FLUSHES = 50
"""The load where nothing blocks the device: about as long."""


class Answer:
    """What was found so far, taken from the timer's own events."""

    def __init__(self) -> None:
        self.found: dict[str, Any] = {"reason": "", "card": None, "clock": None, "timings": []}

    def event(self, event: str, **fields: Any) -> None:
        """Keep what a `card`, a `latency` or an `abandoned` event says."""
        if event == "card":
            self.found["card"] = fields
        elif event in ("latency", "abandoned"):
            self.found["timings"].append(_timing(event, fields))

    def write(self, out: str) -> None:
        """Write it to `out`, whole or not at all."""
        with open(out + ".part", "w", encoding="utf-8") as stream:
            json.dump(self.found, stream)
        os.replace(out + ".part", out)


def examine(
    device: Device,
    clocks: Clocks,
    do_bench: Callable[..., Any],
    methods: Iterable[str],
    answer: Answer,
    leave: Callable[[], None],
) -> None:
    """Watch the clock, then time every call by these methods, into `answer`.

    `leave` ends the process, with what was found until then, after a failed capture or where the device does not answer;
    should it return after a failed capture, what could not be trusted any more is not measured.
    """
    answer.found["clock"] = watch_clock(device, clocks)
    chosen = set(methods)
    try:
        for method, l2 in REGIMES:
            if method in chosen:
                _time_calls(method, l2, device, clocks, do_bench, answer, leave)
    except Untrustworthy:
        return


def watch_clock(
    device: Device,
    clocks: Clocks,
    sleep: Callable[[float], None] = time.sleep,
    now: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """The card's clock after a rest, then reading after reading under load, and the whole reading in the end."""
    device.synchronize()
    sleep(REST_SECONDS)
    idle = clocks.reading()
    ramp: list[tuple[float, int]] = []
    start = now()
    while now() - start < WATCHED_SECONDS:
        _load(device)
        clock = clocks.clock()
        if clock is None:
            return {"idle": idle, "ramp": [], "loaded": None}
        ramp.append((round((now() - start) * 1e3, 3), clock))
    return {"idle": idle, "ramp": ramp, "loaded": clocks.reading()}


def write(device_name: str, methods: Iterable[str], out: str) -> None:
    """Examine the current device of torch.`device_name` and write the answer to `out`. Opens the card."""
    answer = Answer()
    device = TorchDevice.of(device_name)
    if device is None:
        answer.found["reason"] = f"the torch of {sys.executable} is not there, or finds no {device_name} device to use"
        answer.write(out)
        return

    def leave() -> None:
        answer.write(out)
        sys.stdout.flush()
        os._exit(0)

    import triton.testing

    device.use_own_stream()
    examine(device, clocks_of(device.module), triton.testing.do_bench, methods, answer, leave)
    answer.write(out)


def _time_calls(
    method: str,
    l2: str,
    device: Device,
    clocks: Clocks,
    do_bench: Callable[..., Any],
    answer: Answer,
    leave: Callable[[], None],
) -> None:
    others = tuple(name for name in ORDER if name != method)
    plan = TimingPlan(method, l2, False, dict.fromkeys(range(len(CALLS)), others), False)
    timer = Timer(plan, device, clocks, answer, do_bench, leave)
    for number, (what, seconds) in enumerate(CALLS):
        # The last line of the log says what was going on, should the process have to be killed.
        print(f"timing a call by {method}, L2 {l2}: {what}", flush=True)
        key = {"operator": "self-test", "detail": what, "policy": l2, "seconds": seconds}
        timer.time(_spinning(device, seconds), (), key, number, "operator")


def _spinning(device: Device, seconds: float) -> Callable[[], None]:
    return lambda: device.block(seconds)


def _load(device: Device) -> None:
    """Keep the device busy for some milliseconds, and wait for it."""
    try:
        device.block(LOAD_SECONDS)
    except CanNot:
        for _ in range(FLUSHES):
            device.flush()
    device.synchronize()


def _timing(event: str, fields: dict[str, Any]) -> dict[str, Any]:
    found = {
        "method": fields["method"],
        "l2": fields["policy"],
        "what": fields["detail"],
        "expected_ms": None,
        "measured_ms": None,
    }
    if event == "abandoned":
        return {**found, "note": f"{fields['why']}: {fields['message']}"}
    found["expected_ms"] = _expected(fields["seconds"], fields["before"], fields["after"])
    if fields["invalid"]:
        return {**found, "note": "; ".join(one["why"] for one in fields["fell_back"]) or fields["invalid"]}
    return {**found, "measured_ms": fields["median_ms"], "note": ""}


def _expected(seconds: float, before: dict[str, Any] | None, after: dict[str, Any] | None) -> float | None:
    """How long the spinning kernel's cycles take at the clock that was read beside the measurement; None of no cycles."""
    clocks = [reading["clock_mhz"] for reading in (before, after) if reading and reading["clock_mhz"]]
    if not clocks or not seconds:
        return None
    cycles, per_millisecond = seconds * TICKS_PER_SECOND, float(sum(clocks)) / len(clocks) * 1e3
    return cycles / per_millisecond
