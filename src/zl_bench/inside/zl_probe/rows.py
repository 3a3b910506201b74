"""Turns each call of a benchmark's timing function into one row."""

import contextlib
import functools
import inspect
import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from . import failures, offline
from .capture import Capture
from .outputs import Outputs
from .pins import Pins
from .recorder import Recorder
from .timing.summary import as_asked
from .timing.timer import NoTimer, Timer

Label = dict[str, str]
"""node, operator, dtype, detail: a row's key but for its ordinal."""

PLACEHOLDER_MS = 1.0
"""Handed back to the benchmark where nothing is timed at all: it may divide by it. It is recorded nowhere; in a run that times
others of its calls, where the benchmark's own table might be believed, it is NaN instead.
"""


class Rows:
    """Stands in for `triton.testing.do_bench` and its graph variant while a case runs."""

    def __init__(
        self,
        recorder: Recorder,
        capture: Capture,
        pins: Pins,
        *,
        outputs: Outputs | None = None,
        from_call: int = 0,
    ):
        self._recorder = recorder
        self._capture = capture
        self._pins = pins
        self._outputs = outputs
        self._from_call = from_call
        """Another process has recorded the calls before this one."""
        self._calls = 0
        self.timer: Timer | NoTimer | None = None
        """None where nothing is timed."""
        self._ordinals: dict[tuple[str, ...], int] = {}
        self.label: Label | None = None
        """Set by the plugin around each test."""
        self.baseline = False
        """While set, what is timed is not the operator under test: it makes no row, and is run only to be timed."""
        self._guesses = 0
        self._running = False

    def install(self) -> Callable[..., Any]:
        """Replace the timing functions before any benchmark file can import them by name; return Triton's own do_bench."""
        import triton.testing

        own: Callable[..., Any] = triton.testing.do_bench
        for name in ("do_bench", "do_bench_cudagraph"):
            original = getattr(triton.testing, name, None)
            if original is not None:
                setattr(triton.testing, name, self._row_instead_of(original))
        return own

    def _row_instead_of(self, original: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(original)

        @functools.wraps(original)
        def do_bench(fn: Callable[[], Any], *args: Any, **kwargs: Any) -> float | list[float]:
            if self._pins.tuning_depth:
                result: float | list[float] = original(fn, *args, **kwargs)
                return result
            given = signature.bind(fn, *args, **kwargs).arguments
            if self._running:  # timing within a timed call: its launches are the outer row's
                fn()
            elif self.label is None:
                self._recorder.event("unlabelled_row", caller=_place(sys._getframe(1)))
                fn()
            else:
                samples = self._timed_call(fn, given.get("grad_to_none") or ())
                if samples is not None:
                    return as_asked(samples, given.get("quantiles"), given.get("return_mode", "mean"))
            untimed = [PLACEHOLDER_MS if self.timer is None else math.nan]
            return as_asked(untimed, given.get("quantiles"), given.get("return_mode", "mean"))

        return do_bench

    def _timed_call(self, call: Callable[[], Any], grad_to_none: Iterable[Any]) -> list[float] | None:
        """One of the calls that the benchmark itself times; None where it is not timed here."""
        number, self._calls = self._calls, self._calls + 1
        if number < self._from_call:
            if not self.baseline:
                self._advance()
            return None
        if not self.baseline:
            return self.row(call, grad_to_none, number)
        if self.timer is None or not self.timer.plan.baseline:
            return None
        self._running = True
        try:
            # What fails here fails again where it is timed, and is told there: it costs the comparison, not the row.
            with contextlib.suppress(Exception):
                call()
            return self.timer.time(call, grad_to_none, self.key(), number, "baseline")
        finally:
            self._running = False

    def row(self, call: Callable[[], Any], grad_to_none: Iterable[Any] = (), number: int = 0) -> list[float] | None:
        """Run the call twice, record what the second one launched, and time it if that is asked for.

        The first call settles what happens once only: tuning, compiling, building caches. A timed call would not do
        that again, so it is not part of the row. As Triton's do_bench does, the gradients of the tensors in
        `grad_to_none` are dropped before the timed call, which else would add to them.

        A call that raises is a failed row, whatever the test makes of the exception, and takes up an ordinal as any row.
        Returns the samples in milliseconds, None where nothing is timed.
        """
        self._running = True
        try:
            launches = self._launches(call, grad_to_none)
        except (Exception, pytest.fail.Exception) as error:
            self._record_failure(error)
            raise
        finally:
            self._running = False
        guesses = offline.guesses()
        ran = {} if launches else {"ran": offline.take_operations()}
        self._recorder.event("row", **self.key(), launches=launches, guesses=guesses - self._guesses, **ran)
        self._guesses = guesses
        try:
            return self._time_row(call, grad_to_none, number)
        finally:
            self._advance()

    def _time_row(self, call: Callable[[], Any], grad_to_none: Iterable[Any], number: int) -> list[float] | None:
        if self.timer is None:
            return None
        self._running = True
        try:
            return self.timer.time(call, grad_to_none, self.key(), number, "operator")
        finally:
            self._running = False

    def _launches(self, call: Callable[[], Any], grad_to_none: Iterable[Any]) -> list[int]:
        offline.begin_call()
        result = call()
        if self._outputs is not None:
            self._outputs.record(self.key(), result)
        del result
        for tensor in grad_to_none:
            tensor.grad = None
        offline.begin_call()
        self._capture.start()
        try:
            call()
        finally:
            launches = self._capture.stop()
        if self.timer is not None:
            self.timer.settle()
        return launches

    def _record_failure(self, error: BaseException) -> None:
        needed = failures.needed_device(error)
        if needed is not None:
            self._recorder.event("needs_device", operation=needed.operation)
        record = {**self.key(), **failures.fields(error)}
        self._recorder.event("row_failed", **record, whole_test=False)
        failures.mark(error, record)
        self._advance()

    def _advance(self) -> None:
        position = self._position()
        self._ordinals[position] = self._ordinals.get(position, 0) + 1

    def key(self) -> dict[str, Any]:
        """The key that the next row of the current test will have."""
        label = self.label or {"node": "", "operator": "", "dtype": "-", "detail": ""}
        return {**label, "ordinal": self._ordinals.get(self._position(), 0)}

    def _position(self) -> tuple[str, ...]:
        return tuple((self.label or {}).values())


def _place(frame: Any) -> str:
    return "{}:{}".format(frame.f_code.co_filename.rsplit("/", 1)[-1], frame.f_lineno)
