"""The pytest plugin of a measured process: connects pytest's events with the recorder."""

import os
from collections.abc import Callable, Generator
from typing import Any

import pytest

from . import labels
from .compiling import compile_failure
from .offline.errors import NeedsDevice
from .recorder import Recorder
from .rows import Rows

MESSAGE_LIMIT = 4_000


class ProbePlugin:
    """One case: collects its tests, keeps those of the asked dtype, labels rows and records every failure."""

    def __init__(
        self,
        recorder: Recorder,
        rows: Rows,
        dtype: str | None,
        *,
        dtype_by_option: bool = False,
        start: Callable[[Any], None] | None = None,
        only: str | None = None,
    ):
        self._only = os.path.realpath(only) if only else None
        self._start = start
        """Labels the rows of a test in the suite's own way; None: by the test's name and parameters."""
        self._recorder = recorder
        self._rows = rows
        self._dtype = dtype
        self._fitting = (dtype, None) if dtype_by_option else (dtype,)  # None: the test has no dtype parameter

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Any) -> bool | None:
        """Pass over the files beside the one that holds the node: pytest asks every plugin about each of them."""
        if self._only is None or collection_path.suffix != ".py" or os.path.realpath(collection_path) == self._only:
            return None
        return True if collection_path.name != "__init__.py" else None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        """Deselect the dtypes that were not asked for, after every other plugin has had its say."""
        if self._dtype is not None:
            kept = [item for item in items if labels.dtype_of(item) in self._fitting]
            dropped = [item for item in items if item not in kept]
            if items and not kept:
                available = list(dict.fromkeys(filter(None, map(labels.dtype_of, items))))
                self._recorder.event("deselected", dtype=self._dtype, available=available)
            if dropped:
                config.hook.pytest_deselected(items=dropped)
            items[:] = kept
        self._recorder.event("collected", nodes=[item.nodeid for item in items])

    def pytest_collectreport(self, report: Any) -> None:
        """A file that can not be collected is a failure with a reason, not an absence of tests."""
        if report.skipped:
            self._recorder.event("test", node=report.nodeid, outcome="skipped", message=_skip_reason(report.longrepr))
        elif report.failed:
            message = _last_line(str(report.longrepr))
            self._recorder.event("test", node=report.nodeid, outcome="failed", message=message)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, None]:
        """Label the rows of this test."""
        self._rows.label = labels.label_of(item)
        if self._start is not None:
            self._start(item)
        yield
        self._rows.label = None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Generator[None, Any, None]:
        """Record how each phase ended; the exception itself is at hand only here."""
        outcome = yield
        report = outcome.get_result()
        if report.skipped:
            reason = getattr(report, "wasxfail", None) or _skip_reason(report.longrepr)
            self._recorder.event("test", node=item.nodeid, outcome="skipped", message=reason)
        elif report.failed and call.excinfo is None:  # a strict xfail that passed raised nothing
            self._recorder.event("test", node=item.nodeid, outcome="failed", message=str(report.longrepr))
        elif report.failed:
            self._failed(item, call.excinfo)
        elif report.when == "call":
            self._recorder.event("test", node=item.nodeid, outcome="passed", message="")

    def _failed(self, item: Any, excinfo: Any) -> None:
        error = _reported(excinfo.value)
        compiler = compile_failure(error)
        needs = _needs_device(error)
        if needs is not None:
            self._recorder.event("needs_device", operation=needs.operation)
        message = f"{type(error).__name__}: {str(error)[:MESSAGE_LIMIT]}{_where(error)}"
        if compiler and compiler["cause"]:
            message = f"{message}: {compiler['cause'][:MESSAGE_LIMIT]}"
        self._recorder.event(
            "row_failed",
            **self._rows.key(),
            phase="compile" if compiler else "run",
            message=message,
            kernel=compiler["kernel"] if compiler else "",
            stage=_place(compiler) if compiler else "",
            whole_test=True,
        )
        self._recorder.event("test", node=item.nodeid, outcome="failed", message=message)


def _place(compiler: dict[str, Any]) -> str:
    """The stage that failed and, where MLIR named it, the pass."""
    return f"{compiler['stage']} ({compiler['pass']})" if compiler["pass"] else str(compiler["stage"])


def _reported(error: BaseException) -> BaseException:
    """The exception that a suite's `pytest.fail(str(error))` was called for, where it was called for one."""
    while isinstance(error, pytest.fail.Exception) and error.__context__ is not None:
        error = error.__context__
    return error


def _needs_device(error: BaseException | None) -> NeedsDevice | None:
    """The stand-in's refusal behind an exception, however often it was caught and raised anew."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, NeedsDevice):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None


def _where(error: BaseException) -> str:
    """` (file.py:line)` of the innermost frame; of an assertion of pytest's own nothing is hidden either."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return " ({}:{})".format(trace.tb_frame.f_code.co_filename.rsplit("/", 1)[-1], trace.tb_lineno)


def _skip_reason(longrepr: Any) -> str:
    """The reason of a skip as it was written; pytest puts `Skipped: ` before it."""
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")]
    chosen = (errors or lines or ["unknown"])[-1]
    return chosen[2:].strip() if chosen.startswith("E ") else chosen.strip()
