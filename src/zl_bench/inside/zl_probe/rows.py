"""Turns each call of a benchmark's timing function into one row."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from . import failures, offline
from .capture import Capture
from .pins import Pins
from .recorder import Recorder

Label = dict[str, str]
"""node, operator, dtype, detail: a row's key but for its ordinal."""

PLACEHOLDER_MS = 1.0
"""Handed back to the benchmark, which may divide by it; nothing was timed, and it is recorded nowhere."""


class Rows:
    """Stands in for `triton.testing.do_bench` and its graph variant while a case runs."""

    def __init__(self, recorder: Recorder, capture: Capture, pins: Pins):
        self._recorder = recorder
        self._capture = capture
        self._pins = pins
        self._ordinals: dict[tuple[str, ...], int] = {}
        self.label: Label | None = None
        """Set by the plugin around each test."""
        self.baseline = False
        """While set, what is timed is not the operator under test: it is not run and makes no row."""
        self._guesses = 0
        self._running = False

    def install(self) -> None:
        """Replace the timing functions before any benchmark file can import them by name."""
        import triton.testing

        for name in ("do_bench", "do_bench_cudagraph"):
            original = getattr(triton.testing, name, None)
            if original is not None:
                setattr(triton.testing, name, self._row_instead_of(original))

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
            elif not self.baseline:
                self.row(fn, given.get("grad_to_none") or ())
            return _untimed(given.get("quantiles"), given.get("return_mode", "mean"))

        return do_bench

    def row(self, call: Callable[[], Any], grad_to_none: Iterable[Any] = ()) -> None:
        """Run the call twice and record what the second one launched.

        The first call settles what happens once only: tuning, compiling, building caches. A timed call would not do
        that again, so it is not part of the row. As Triton's do_bench does, the gradients of the tensors in
        `grad_to_none` are dropped before the timed call, which else would add to them.

        A call that raises is a failed row, whatever the test makes of the exception, and takes up an ordinal as any row.
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
        self._advance()

    def _launches(self, call: Callable[[], Any], grad_to_none: Iterable[Any]) -> list[int]:
        offline.begin_call()
        call()
        for tensor in grad_to_none:
            tensor.grad = None
        offline.begin_call()
        self._capture.start()
        try:
            call()
        finally:
            launches = self._capture.stop()
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


def _untimed(quantiles: Any, return_mode: str) -> float | list[float]:
    """A value of the shape that Triton's do_bench returns for these arguments."""
    if quantiles is not None and len(quantiles) > 1:
        return [PLACEHOLDER_MS] * len(quantiles)
    return [PLACEHOLDER_MS] if quantiles is None and return_mode == "all" else PLACEHOLDER_MS
