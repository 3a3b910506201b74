"""`bisect --goal speed`: which parts of a switch make an operator slower or faster, measured on a card.

Steps: measure the whole switch, which says the row to follow and the direction; ask the search of the other goals, whose
every question is a step (`bisect_steps`), screened and, where the machine code is another, measured; stop where the rounds
do not answer. Each answer goes to the log; a step that was cut short goes on in its own root.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from zl_bench.analysis.bisection import Found, find_parts
from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import RowKey
from zl_bench.reports.progress import ProgressReporter
from zl_bench.store.bisect_log import BisectLog, Timed
from zl_bench.store.layout import bisect_step_folder, bisect_steps_folder
from zl_bench.store.request import ScreenRequest
from zl_bench.workflow.bisect_steps import (
    FOUND,
    UNTOLD,
    Bisected,
    OutOfTime,
    recorded_pins_root,
    step_screen,
    timed_step,
    work_of,
)
from zl_bench.workflow.measure_plan import MeasurePlan, require_card_of
from zl_bench.workflow.parts import Mask, Parts, SwitchParts, mask_parts, switch_parts
from zl_bench.workflow.replaying import compile_again
from zl_bench.workflow.screen import ScreenPlan
from zl_bench.workflow.subject import Subject

Result = TypeVar("Result")
Runner = Callable[[Callable[[ProgressReporter], Awaitable[Result]]], Result]
"""Runs asynchronous work to its end, an interrupt included."""
Tell = Callable[[Parts, Timed, bool], None]
"""Is told what came of a step, and whether the log had it."""


@dataclass(frozen=True)
class Stopped:
    """Why the search went no further: with those parts on, the rounds say nothing, or there was no time for them."""

    parts: Parts
    timed: Timed | None
    """None where the budget was spent."""


@dataclass(frozen=True)
class SpeedBisection:
    """What was found. `outcomes` has every set of parts that was tried; all of them are the whole switch."""

    parts: Parts
    outcomes: Mapping[Parts, Timed]
    steps: Path
    """The folder with the roots of the steps."""
    found: Found | None = None
    """None where there was nothing to search, or the search was stopped."""
    stopped: Stopped | None = None


class _Untold(Exception):
    """The rounds of a step that is needed do not answer."""

    def __init__(self, stopped: Stopped):
        super().__init__(stopped)
        self.stopped = stopped


class Measures:
    """Screens and measures parts, and knows which have been measured before."""

    def __init__(
        self,
        root: Bisected,
        parts: SwitchParts,
        row: RowKey | None,
        log: Path,
        asked: Mapping[str, Any],
        run: Runner[Timed],
        tell: Tell,
    ) -> None:
        budget = root.plan.budget
        self._deadline = None if budget is None else time.monotonic() + budget
        self._root = root
        self._parts = parts
        self._log_file = log
        self._log = BisectLog(log)
        self._run = run
        self._tell = tell
        self._entries = work_of(root, row)
        self._pins = recorded_pins_root(root)
        self.row = row
        """The row to follow; None until the whole switch has shown one."""
        self.outcomes: dict[Parts, Timed] = self._log.timed_steps(asked)
        self._logged = frozenset(self.outcomes)

    def whole(self, *, as_screened: bool) -> Timed:
        """All parts, the switch itself where it was screened so; the row to follow is the one that they move most.

        Raises _Untold, as `changes` does.
        """
        name = self._parts.names
        plan = self._root.plan.screen if as_screened else step_screen(self._root, self._parts.side(name))
        timed = self._timed(name, replace(plan, pins=self._pins))
        if self._pins is None:  # it has never run on a card, where the whole switch's before side has chosen now
            self._pins = bisect_step_folder(self._log_file, name)
        self.row = timed.row
        return timed

    def changes(self, parts: Parts, name: Parts, direction: SpeedVerdict) -> bool:
        """Whether the row changes in that direction with those parts on, a step that is called `name`."""
        plan = step_screen(self._root, self._parts.side(parts))
        return self._timed(name, replace(plan, pins=self._pins)).verdict == direction.value

    def _timed(self, name: Parts, plan: ScreenPlan) -> Timed:
        if name not in self.outcomes:
            start, folder = time.monotonic(), bisect_step_folder(self._log_file, name)
            root, entries, row, deadline = self._root, self._entries, self.row, self._deadline
            try:
                self.outcomes[name] = self._run(
                    lambda progress: timed_step(root, folder, plan, entries, row, deadline, progress)
                )
            except OutOfTime:
                raise _Untold(Stopped(name, None)) from None
            self._log.add(name, self.outcomes[name], time.monotonic() - start)
        timed = self.outcomes[name]
        self._tell(name, timed, name in self._logged)
        if SpeedVerdict(timed.verdict) in UNTOLD:
            raise _Untold(Stopped(name, timed))
        return timed


def bisect_speed(
    subject: Subject,
    row: RowKey | None,
    plan: MeasurePlan,
    mask: Mask | None,
    log: Path,
    scratch: Path,
    timeout: float,
    run: Runner[Timed],
    tell: Tell,
) -> SpeedBisection:
    """Find the parts. `plan` is how the subject's root would be measured on the cards, and `row` the one to follow.

    Raises UsageError and EnvironmentUnfit where that can not be told, ZlBenchError where a step could not be measured.
    """
    require_card_of(plan.request, plan.screen.cards, plan.root)
    parts = parts_to_measure(subject, mask, scratch / "pipeline", timeout)
    asked = question(subject.entry, row, plan, parts, {side: one.library for side, one in subject.sides.items()})
    root = Bisected(plan, subject.entry, subject.sides["before"], subject.target)
    return search(Measures(root, parts, row, log, asked, run, tell), parts, mask, log)


def search(measures: Measures, parts: SwitchParts, mask: Mask | None, log: Path) -> SpeedBisection:
    """Measure the whole, then search for what makes its change."""

    def ended(found: Found | None = None, stopped: Stopped | None = None) -> SpeedBisection:
        return SpeedBisection(parts.names, measures.outcomes, bisect_steps_folder(log), found, stopped)

    try:
        direction = SpeedVerdict(measures.whole(as_screened=mask is None).verdict)
        if direction not in FOUND or not parts.names:
            return ended()
        if mask is not None and measures.changes((), (f"{mask.name}=0",), direction):
            raise UsageError(
                f"With no bit of {mask.name} on, the row is {direction.value} already: its bits are not what makes it. "
                f"The log is {log}."
            )
        return ended(find_parts(parts.names, lambda some: _asked(measures, parts.names, some, direction)))
    except _Untold as untold:
        return ended(stopped=untold.stopped)


def _asked(measures: Measures, whole: Parts, some: Parts, direction: SpeedVerdict) -> bool:
    """The search's question; the whole has been answered, and told, before it."""
    return some == whole or measures.changes(some, some, direction)


def question(
    entry: str, row: RowKey | None, plan: MeasurePlan, parts: SwitchParts, libraries: Mapping[Any, str]
) -> dict[str, Any]:
    """What a log is about: everything that an answer depends on."""
    request: ScreenRequest = plan.request
    return {
        "operator": entry,
        "row": None if row is None else asdict(row),
        "switch": request.switch,
        "goal": "speed",
        "parts": list(parts.names),
        "rounds": plan.rounds,
        "delta": plan.delta,
        "seed": plan.seed if plan.seed_given else None,
        "timing": [plan.timing.method, plan.timing.l2, plan.alternate],
        "card": sorted({card.name or card.vendor for card in plan.screen.cards}),
        "libraries": dict(libraries),
    }


def parts_to_measure(subject: Subject, mask: Mask | None, folder: Path, timeout: float) -> SwitchParts:
    """The parts, if there are any: the whole switch can be measured all the same.

    The occurrences of a pass are counted in the pipeline of the subject's kernel, compiled again without a card.
    """
    if mask is not None:
        return mask_parts(subject, mask)
    if subject.switch.kind != "pass":
        return switch_parts(subject, ())
    before, last = subject.sides["before"], subject.criterion
    again = compile_again(before, subject.target, folder, last=last, timeout=timeout).replayed
    if again.failure is not None:
        raise EnvironmentUnfit(f"The before side {again.failure.describe()}. There is no pipeline to count passes in.")
    return switch_parts(subject, again.added)
