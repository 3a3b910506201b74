"""What the probe knows of FlagGems: how its benchmark classes name rows.

Watches the `Benchmark` objects of an untouched checkout. Contract (benchmark/base.py): for each dtype `run` asks
`get_input_iter`, for each input `record_shapes`, and then `get_latency` of torch's operator, if asked for, and of its own.

Its modes `operator` and `wrapper` (`--mode`, or set by a test file) measure with the host's clock, by no function that could be
replaced: for as long as it takes a latency, such a benchmark is in the mode `kernel`, which calls do_bench. So every mode makes
rows, and what times them is the probe's own method; the modes say only what the suite prints.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

from . import failures
from .recorder import EventSink
from .rows import Rows
from .wire import FIRST_DTYPE

SUITE = "flaggems"
BASE_MODULE = "benchmark.base"
BASELINE_METRIC = "latency_base"
UNLABELLED = "-"
HOST_MODES = ("OPERATOR", "WRAPPER")
"""Names of the modes in which it calls no do_bench, in its enumeration."""
DO_BENCH_MODE = "KERNEL"
DETAIL_LIMIT = 100_000
"""Characters of a size detail above which it is abridged."""


class BenchmarkWatch:
    """Labels rows by the benchmark object that is running, and keeps the torch baseline from becoming rows."""

    def __init__(self, recorder: EventSink, rows: Rows, dtype: str | None):
        self._recorder = recorder
        self._rows = rows
        self._first_only = dtype == FIRST_DTYPE
        self._watched: Any = None
        self._node = ""
        self._baseline_due = False
        self._shape_file = ""
        self._shapes_told: Any = None

    def start(self, item: Any) -> None:
        """Label the rows of this test from now on; its module, and so the base class, has been imported."""
        self._node = item.nodeid.split("[", 1)[0]
        marks = [mark.name for mark in item.iter_markers() if mark.name not in ("parametrize", "skip", "skipif")]
        self._label(operator=marks[0] if marks else item.name, dtype=UNLABELLED, detail="")
        base = sys.modules.get(BASE_MODULE)
        benchmark = getattr(base, "Benchmark", None)
        if benchmark is not None and benchmark is not self._watched:
            self._watched = benchmark
            self._watch_class(benchmark)

    def _label(self, **changed: str) -> None:
        self._rows.label = {**(self._rows.label or {}), "node": self._node, **changed}

    def _watch_class(self, benchmark: Any) -> None:
        original = benchmark.__init__

        @functools.wraps(original)
        def __init__(this: Any, *args: Any, **kwargs: Any) -> None:
            original(this, *args, **kwargs)
            self._watch_object(this)

        benchmark.__init__ = __init__

    def _watch_object(self, benchmark: Any) -> None:
        """Watch one object's methods: subclasses override them, so the class is no place to do it."""
        for name, watch in (
            ("set_dtypes", self._set_dtypes),
            ("set_shapes", self._set_shapes),
            ("get_input_iter", self._get_input_iter),
            ("record_shapes", self._record_shapes),
            ("get_latency", self._get_latency),
        ):
            method = getattr(benchmark, name, None)
            if callable(method):
                setattr(benchmark, name, functools.partial(watch, benchmark, method))

    def _set_dtypes(self, benchmark: Any, method: Callable[..., Any], asked: Any = None) -> Any:
        own = list(benchmark.dtypes)
        self._label(operator=str(benchmark.op_name))
        if self._first_only and not asked:
            asked = own[:1]
        refused = [_dtype_name(dtype) for dtype in asked or () if dtype not in own]
        if refused:
            available = [_dtype_name(dtype) for dtype in own]
            self._recorder.event("deselected", dtype=", ".join(refused), available=available)
        try:
            return method(asked)
        except ValueError as error:
            if refused:
                failures.mark_refusal(error)
            raise

    def _set_shapes(self, benchmark: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._shape_file = str(next(iter((*args, *kwargs.values())), "") or "")
        return method(*args, **kwargs)

    def _tell_shapes(self, benchmark: Any) -> None:
        """Record the object's shapes if they are not those told last: where inputs are made, nobody sets them any more."""
        shapes = getattr(benchmark, "shapes", None)
        if not isinstance(shapes, (list, tuple)):
            return
        told = {
            "node": self._node,
            "operator": str(benchmark.op_name),
            "classes": [definition.__name__ for definition in type(benchmark).__mro__[:-1]],
            "file": self._shape_file,
            "shapes": [_plain(shape) for shape in shapes],
        }
        if told != self._shapes_told:
            self._shapes_told = told
            self._recorder.event("shapes", **told)

    def _get_input_iter(self, benchmark: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        given = args[0] if args else next(iter(kwargs.values()), UNLABELLED)
        self._label(operator=str(benchmark.op_name), dtype=_dtype_name(given), detail="")
        self._tell_shapes(benchmark)
        return method(*args, **kwargs)

    def _record_shapes(self, benchmark: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        detail = method(*args, **kwargs)
        if len(str(detail)) > DETAIL_LIMIT:  # a list of a million numbers, which the suite would copy, encode and print
            detail = _abridged(str(detail))
        self._tell_shapes(benchmark)
        self._baseline_due = BASELINE_METRIC in benchmark.to_bench_metrics
        self._label(operator=str(benchmark.op_name), detail=str(detail))
        return detail

    def _get_latency(self, benchmark: Any, method: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self._rows.baseline, self._baseline_due = self._baseline_due, False
        try:
            with _by_do_bench():
                return method(*args, **kwargs)
        finally:
            self._rows.baseline = False


@contextlib.contextmanager
def _by_do_bench() -> Iterator[None]:
    """Have FlagGems measure by do_bench, whatever its mode."""
    config: Any = getattr(sys.modules.get(BASE_MODULE), "Config", None)
    mode = getattr(config, "mode", None)
    other = getattr(type(mode), DO_BENCH_MODE, None)
    if other is None or getattr(mode, "name", "") not in HOST_MODES:
        yield
        return
    config.mode = other
    try:
        yield
    finally:
        config.mode = mode


def _abridged(text: str) -> str:
    """The beginning of a text, its length, and a digest that keeps it apart from others."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[:80]}… ({len(text)} characters, SHA-256 {digest})"


def _dtype_name(dtype: Any) -> str:
    return str(dtype).rsplit(".", 1)[-1]


def _plain(value: Any) -> Any:
    """A shape as JSON holds it: lists, numbers and flags as they are, anything else by its text."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
