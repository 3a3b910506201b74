"""Times one call: by the method that was asked for, or by the next one that the call bears, and says how it went.

graph falls back to queued, queued to direct. A capture that failed leaves a process which nothing can be trusted in, and so
does a device that does not answer: then the run is given up with an `abandoned` event, and a fresh process goes on with it.
"""

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from .. import wire
from ..recorder import EventSink
from . import graphs, methods, sampling
from .device import Call, CanNot, Device, Untrustworthy
from .nvml import Clocks
from .random_numbers import unmoved
from .summary import Summary, summarise, summarise_turns
from .telling import NOTHING_SAID, said, values
from .turns import Gate, NoGate, NotTimed, Turn
from .warmup import IDLE_MS, Warmer, WarmUp, at_rest
from .watchdog import watchdog

ORDER = ("graph", "queued", "direct")
SAMPLE_MS, RESTLESS_SAMPLE_MS = 100.0, 400.0
"""How much to measure; more where the clock does not come to rest."""
PATIENCE_SECONDS, PATIENCE_CALLS = 60.0, 500
"""A device is given up when it has not answered for so long and for the time of so many calls."""


@dataclass(frozen=True)
class TimingPlan:
    """What input.json asks for. `avoid`: by call, the methods that it must not be timed by."""

    method: str
    l2: str
    baseline: bool
    avoid: Mapping[int, tuple[str, ...]]
    queue_rest: bool

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "TimingPlan | None":
        """The plan in input.json, None if nothing is to be timed."""
        timing, going_on = given.get("timing"), given.get("continue") or {}
        if not timing:
            return None
        avoid = {int(call): tuple(names) for call, names in (going_on.get("avoid") or {}).items()}
        return cls(
            timing["method"], timing["l2"], bool(timing.get("baseline")), avoid, bool(going_on.get("queue_rest"))
        )

    def methods_for(self, call: int) -> list[str]:
        """Those to try for a call, in order; none for a call that every one of them has lost a process to."""
        return [name for name in ORDER[ORDER.index(self.method) :] if not self._why_not(name, call)]

    def passed_over(self, call: int) -> list[dict[str, str]]:
        """Those that would have come before the first one to try, each with why it is not tried."""
        reasons = ((name, self._why_not(name, call)) for name in ORDER[ORDER.index(self.method) :])
        return [{"method": name, "why": why} for name, why in takewhile(lambda reason: reason[1], reasons)]

    def _why_not(self, name: str, call: int) -> str:
        if name in self.avoid.get(call, ()):
            return "it left an earlier process of this run unusable"
        return "graphs left earlier processes of this run unusable" if self.queue_rest and name == "graph" else ""


def leave() -> None:
    """End this process at once: pytest's own way out may need the device. What was written is flushed first."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


class Timer:
    """Times the calls of one run."""

    def __init__(
        self,
        plan: TimingPlan,
        device: Device,
        clocks: Clocks,
        recorder: EventSink,
        do_bench: Callable[..., Any],
        leave: Callable[[], None] = leave,
        patience_seconds: float = PATIENCE_SECONDS,
        gate: Gate | None = None,
    ):
        self.plan = plan
        self._device = device
        self._clocks = clocks
        self._recorder = recorder
        self._do_bench = do_bench
        self._leave = leave
        self._patience_seconds = patience_seconds
        self._gate = gate or NoGate()
        """Where a row of the operator waits until it is this process's turn."""
        self._warmer = Warmer(clocks.clock)
        self._card_told = False

    def settle(self) -> None:
        """Wait for what was enqueued, and raise what that raises: an error of a call must not be taken for one of timing it."""
        self._device.synchronize()

    def time(
        self, call: Call, grad_to_none: Iterable[Any], key: Mapping[str, Any], number: int, role: str
    ) -> list[float]:
        """Time a call that has run before and return the samples in milliseconds, none where there is no valid latency.

        Args:
            call: what the benchmark gave to do_bench.
            grad_to_none: tensors whose gradients are dropped before each call.
            key: the row's.
            number: which of the benchmark's own calls this is, from 0.
            role: "operator" or "baseline".
        """
        self._tell_card()
        with unmoved(self._device):
            try:
                return self._by_any_method(call, grad_to_none, {"call": number, **key, "role": role})
            finally:
                self._warmer.loaded()

    def _by_any_method(self, call: Call, grad_to_none: Iterable[Any], about: dict[str, Any]) -> list[float]:
        fell_back = self.plan.passed_over(about["call"])
        gate = self._gate if about["role"] == "operator" else NoGate()
        try:
            gate.arrive(about)
        except NotTimed as reason:
            self._tell(about, self.plan.method, summarise([]), fell_back, invalid=str(reason))
            return []
        for method in self.plan.methods_for(about["call"]):
            try:
                return self._measured(method, _dropping(call, grad_to_none), about, fell_back, gate)
            except NotTimed as reason:
                self._tell(about, method, summarise([]), fell_back, invalid=str(reason))
                if not self._answers():
                    self._give_up(about, method, "poisoned", str(reason))
                return []
            except CanNot as refusal:
                fell_back.append({"method": method, "why": str(refusal)})
            except Untrustworthy as error:
                self._give_up(about, method, "poisoned", str(error))
                raise
            except Exception as error:  # whatever the suite's code raises, the row was measured and stays
                why = f"{type(error).__name__}: {error}"[:500]
                if not self._answers():
                    self._give_up(about, method, "poisoned", why)
                    raise
                fell_back.append({"method": method, "why": why})
        gate.refuse("; ".join(f"{one['method']}: {one['why']}" for one in fell_back))
        self._tell(about, fell_back[-1]["method"], summarise([]), fell_back)
        return []

    def _measured(
        self, name: str, call: Call, about: dict[str, Any], fell_back: list[dict[str, str]], gate: Gate
    ) -> list[float]:
        one = sampling.estimate(self._device, call)
        patience = self._patience_seconds + PATIENCE_CALLS * max(one.device_ms, one.host_ms) / 1e3
        wedged = f"the device did not answer for {patience:.0f} s"

        def watched() -> contextlib.AbstractContextManager[None]:
            return watchdog(patience, lambda: self._give_up(about, name, "wedged", wedged))

        with watched():
            method = self._prepared(name, call, one)
        try:

            def turn(share: float, loaded: float | None) -> Turn:
                with watched():
                    return self._turn(method, share, loaded)

            turns = gate.take(name, turn)
        finally:
            with watched():
                method.release()
        summary = summarise_turns([turn.samples.milliseconds for turn in turns])
        self._tell(about, name, summary, fell_back, others=self._clocks.card()["processes"], **said(turns))
        # A suite that divides by zero loses its other rows.
        return [] if summary.invalid else [one for turn in turns for one in turn.samples.milliseconds]

    def _turn(self, method: methods.Method, share: float, loaded: float | None) -> Turn:
        """Warm up and measure, for that share of the usual time; the card was under load until `loaded`, if that is known.

        A clock that was held down, or raised, by what ran before may start to move only now: then what was measured counts as
        load, and it is measured again, for longer.
        """
        self._warmer.loaded_at(loaded)
        start = time.perf_counter()
        warm_up = self._warmer.warm_up(method.load)
        turn = self._sampled(method, warm_up, (SAMPLE_MS if warm_up.steady else RESTLESS_SAMPLE_MS) * share)
        if warm_up.steady and not at_rest(turn.before, turn.after):
            more = self._warmer.warm_up(method.load, IDLE_MS)
            under_load = (time.perf_counter() - start) * 1e3
            turn = self._sampled(method, WarmUp(under_load, more.steady), RESTLESS_SAMPLE_MS * share)
        self._warmer.loaded()
        return turn

    def _sampled(self, method: methods.Method, warm_up: WarmUp, wanted_ms: float) -> Turn:
        before = self._clocks.reading()
        samples = method.samples(wanted_ms)
        return Turn(warm_up, samples, before, self._clocks.reading())

    def _prepared(self, name: str, call: Call, one: sampling.Estimate) -> methods.Method:
        cold = self.plan.l2 == "cold"
        if name == "direct":
            return methods.Direct(self._device, call, one, self._do_bench)
        if name == "queued":
            return methods.Queued(self._device, call, one, cold=cold)
        why = self._device.waits(call)
        if why:
            raise CanNot(why)
        return (graphs.ColdGraph if cold else graphs.WarmGraph)(self._device, call, one)

    def _tell(
        self, about: dict[str, Any], method: str, summary: Summary, fell_back: list[dict[str, str]], **more: Any
    ) -> None:
        circumstances = {**NOTHING_SAID, "invalid": summary.invalid, **more}
        l2 = self.plan.l2 if method != "direct" else "cold"
        self._recorder.event(
            "latency",
            **about,
            method=method,
            l2=l2,
            **values(summary),
            fell_back=fell_back,
            **circumstances,
        )
        if method != "graph":
            why = "; ".join(f"{one['method']}: {one['why']}" for one in fell_back) or "as asked"
            row = " ".join(str(about[name]) for name in ("operator", "dtype", "detail") if about.get(name))
            print(f"{wire.DIRECT_MARKER} {method}: {row} ({about['role']}): {' '.join(why.split())}", flush=True)

    def _answers(self) -> bool:
        """Whether the device is still of use: some errors outlive the call that caused them, and fail every later one."""
        try:
            self._device.synchronize()
        except Exception:  # noqa: BLE001 - a vendor's torch may raise anything
            return False
        return True

    def _give_up(self, about: dict[str, Any], method: str, why: str, message: str) -> None:
        self._recorder.event("abandoned", **about, method=method, why=why, message=message[:500])
        self._leave()

    def _tell_card(self) -> None:
        if not self._card_told:
            self._card_told = True
            self._recorder.event("card", **self._clocks.card())


class NoTimer:
    """Stands where timing was asked for and there is nothing to time on: says so of every call."""

    def __init__(self, plan: TimingPlan, recorder: EventSink, why: str):
        self.plan = plan
        self._recorder = recorder
        self._why = why

    def settle(self) -> None:
        """There is nothing to wait for."""

    def time(
        self, call: Call, grad_to_none: Iterable[Any], key: Mapping[str, Any], number: int, role: str
    ) -> list[float]:
        """No sample; the reason is recorded."""
        about = {"call": number, **key, "role": role, "method": self.plan.method, "l2": self.plan.l2}
        circumstances = {**NOTHING_SAID, "fell_back": [], "invalid": self._why}
        self._recorder.event("latency", **about, **values(summarise([])), **circumstances)
        return []


def _dropping(call: Call, tensors: Iterable[Any]) -> Call:
    """The call after the gradients of these tensors were dropped, as do_bench does: it would add to them."""
    dropped = tuple(tensors or ())
    if not dropped:
        return call

    def dropping() -> None:
        for tensor in dropped:
            tensor.grad = None
        call()

    return dropping
