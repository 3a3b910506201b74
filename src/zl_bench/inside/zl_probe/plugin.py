"""The pytest plugin of a measured process: connects pytest's events with the recorder."""

import gc
import os
import re
from collections.abc import Callable, Generator
from typing import Any

import pytest

from . import failures, labels
from .recorder import Recorder
from .rows import Rows

_PLACE = re.compile(r"""File "([^"]+)", line (\d+)|^(\S+\.py):(\d+):""", re.MULTILINE)
"""How Python and pytest name a line of a file in what they print of an exception."""


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
        collected: Callable[[], None] | None = None,
    ):
        self._only = os.path.realpath(only) if only else None
        self._only_name = os.path.basename(only) if only else ""
        self._start = start
        """Labels the rows of a test in the suite's own way; None: by the test's name and parameters."""
        self._recorder = recorder
        self._rows = rows
        self._collected = collected
        """What is left to do before the first test."""
        self._dtype = dtype
        self._chosen: list[str] = []
        self._own_choice: list[Any] = []
        self._tested: set[str] = set()
        self.stopped = ""
        """Why pytest ended before its tests did, empty if it did not."""
        self._fitting = (dtype, None) if dtype_by_option else (dtype,)  # None: the test has no dtype parameter

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path: Any) -> bool | None:
        """Pass over the files beside the one that holds the node: pytest asks every plugin about each of them."""
        name = collection_path.name
        if self._only is None or not name.endswith(".py") or name == "__init__.py":
            return None
        if name != self._only_name and not collection_path.is_symlink():
            return True
        return None if os.path.realpath(collection_path) == self._only else True

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
                self._own_choice = dropped
                config.hook.pytest_deselected(items=dropped)
            items[:] = kept
        self._recorder.event("collected", nodes=[item.nodeid for item in items])

    def pytest_deselected(self, items: list[Any]) -> None:
        """Note what the suite itself takes out: its conftest, or options of its configuration."""
        if items is not self._own_choice:
            self._recorder.event("removed", nodes=[item.nodeid for item in items])

    def pytest_collectreport(self, report: Any) -> None:
        """A file that can not be collected is a failure with a reason, not an absence of tests."""
        if report.skipped:
            self._test(report.nodeid, "skipped", _skip_reason(report.longrepr))
        elif report.failed:
            self._test(report.nodeid, "failed", _error_and_place(str(report.longrepr)))

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
        self._ended(item, outcome.get_result(), None if call.excinfo is None else call.excinfo.value)

    def pytest_collection_finish(self, session: Any) -> None:
        """Note what is to run, now that every plugin has had its say.

        What there is by now stays: suites ask for a garbage collection after every row, which need not look at all of it.
        """
        gc.freeze()
        self._chosen = [item.nodeid for item in session.items]
        if self._collected is not None:
            self._collected()

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Note why the session ends before its tests do: an interrupt, or the suite called `pytest.exit`."""
        self.stopped = f"{type(excinfo.value).__name__}: {excinfo.value}"

    def pytest_internalerror(self, excinfo: Any) -> None:
        """Note an error in pytest itself or in a plugin of the suite."""
        self.stopped = f"{type(excinfo.value).__name__}: {excinfo.value}"

    def unrun(self) -> list[str]:
        """The tests that were to run and of which nothing was recorded, in their order."""
        return [node for node in dict.fromkeys(self._chosen) if node not in self._tested]

    def _ended(self, item: Any, report: Any, error: BaseException | None) -> None:
        """Record how a phase ended; `error` is what it raised."""
        if report.skipped:
            record = None if error is None else failures.row_record(error)
            if record is not None:  # the suite skips, or expects to fail, because a row did
                self._recorder.event("row_failed", **record, whole_test=True)
            reason = getattr(report, "wasxfail", None) or _skip_reason(report.longrepr)
            self._test(item.nodeid, "skipped", reason)
        elif report.failed and error is not None:
            self._failed(item, error)
        elif report.failed:  # a strict xfail that passed raised nothing
            self._test(item.nodeid, "failed", str(report.longrepr))
        elif report.when == "call":
            self._test(item.nodeid, "passed", "")

    def _failed(self, item: Any, error: BaseException) -> None:
        if failures.is_refusal(error):  # no row failed: the `deselected` event says what was asked and what there is
            return self._test(item.nodeid, "failed", failures.fields(error)["message"])
        record = failures.row_record(error)
        needed = failures.needed_device(error)
        if record is None and needed is not None:
            self._recorder.event("needs_device", operation=needed.operation)
        said = {**(record or self._rows.key()), **failures.fields(error)}
        self._recorder.event("row_failed", **said, whole_test=True)
        return self._test(item.nodeid, "failed", said["message"])

    def _test(self, node: str, outcome: str, message: str) -> None:
        self._tested.add(node)
        self._recorder.event("test", node=node, outcome=outcome, message=message)


def _skip_reason(longrepr: Any) -> str:
    """The reason of a skip as it was written; pytest puts `Skipped: ` before it."""
    reason = longrepr[2] if isinstance(longrepr, tuple) else str(longrepr)
    return reason[len("Skipped: ") :] if reason.startswith("Skipped: ") else reason


def _error_and_place(text: str) -> str:
    """The last line of what pytest prints of an exception, and ` (file.py:line)` where it names one last."""
    places = [(one[0] or one[2], one[1] or one[3]) for one in _PLACE.findall(text)]
    where = f" ({os.path.basename(places[-1][0])}:{places[-1][1]})" if places else ""
    return f"{_last_line(text)}{where}"


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("E ")]
    chosen = (errors or lines or ["unknown"])[-1]
    return chosen[2:].strip() if chosen.startswith("E ") else chosen.strip()
