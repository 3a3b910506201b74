"""Progress of a screen while it runs: a live bar on a terminal, one plain line per operator in a pipe."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from zl_bench.model import OperatorVerdict, Status
from zl_bench.reports.view import operator_name


class ProgressReporter:
    """Tells what runs and what has finished. Use as a context manager around the whole screen.

    Args:
        total: how many operators there are to finish.
        console: where to tell it; whether it is a terminal decides the form.
    """

    def __init__(self, total: int, console: Console) -> None:
        self._total = total
        self._done = 0
        self._console = console
        self._running: dict[str, float] = {}
        self._bar: Progress | None = None
        if console.is_terminal:
            self._bar = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                # Names of operators may hold brackets, which are no markup.
                TextColumn("{task.description}", markup=False),
                console=console,
                transient=True,
            )
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def expect(self, total: int) -> None:
        """Count from nothing again, up to so many: what is to be finished is known only now."""
        self._total, self._done = total, 0
        if self._bar is not None:
            self._bar.update(self._task, completed=0, total=total)

    def started(self, operator: str) -> None:
        """An operator's runs have begun. `operator` is `name` or `name:dtype`."""
        self._running[operator] = time.monotonic()
        self._describe()

    def finished(self, verdict: OperatorVerdict) -> None:
        """An operator has its verdict."""
        self.ended(operator_name(verdict), _told(verdict))

    def ended(self, operator: str, told: str) -> None:
        """An operator's runs have ended; `told` is the line about them."""
        self._done += 1
        self._running.pop(operator, None)
        self._line(f"[{self._done}/{self._total}] {told}")
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done)
        self._describe()

    def note(self, text: str) -> None:
        """A sentence about the screen as a whole."""
        self._line(text)

    def _line(self, text: str) -> None:
        self._console.print(Text(text), soft_wrap=True)
        self._console.file.flush()

    def _describe(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, description=", ".join(self._running))


def _told(verdict: OperatorVerdict) -> str:
    status = "" if verdict.status is Status.COMPLETE else f" {verdict.status.value}"
    reason = f": {verdict.reason}" if verdict.reason else ""
    return f"{operator_name(verdict)} {verdict.verdict.value}{status} {verdict.seconds:.1f} s{reason}"
