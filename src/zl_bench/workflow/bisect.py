"""`bisect`: which parts of a switch make the change in one kernel.

Steps: compile the before side, which everything is compared with; compile with the parts that the search asks for, each
compile written to the log, and looked up there when it has been done already; say what was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from zl_bench.analysis.bisection import Found, find_parts
from zl_bench.analysis.prints import digest_of
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.ir.stages import MACHINE_CODE_STAGES
from zl_bench.model import StageText
from zl_bench.store.bisect_log import BisectLog, Outcome
from zl_bench.store.replays import Replayed
from zl_bench.workflow.judge import StageFingerprints
from zl_bench.workflow.parts import Mask, Parts, SwitchParts, differing_variables, mask_parts, switch_parts
from zl_bench.workflow.replaying import compile_again, fidelity
from zl_bench.workflow.subject import KernelSide, Subject

Goal = Literal["ir", "code", "broken"]
"""What a compile can answer; that of the goal speed are rounds (`bisect_speed`)."""
GOALS: tuple[Goal, ...] = get_args(Goal)


@dataclass(frozen=True)
class Bisection:
    """What was found. `outcomes` has every set of parts that was tried; with none on, it is the before side's."""

    subject: Subject
    goal: Goal
    parts: SwitchParts
    found: Found
    outcomes: Mapping[Parts, Outcome]
    compiled: int
    """How many compiles it took now; the others were in the log."""


class Compiles:
    """Compiles with some parts on, and knows what has been compiled before."""

    def __init__(
        self, subject: Subject, goal: Goal, log: BisectLog, scratch: Path, timeout: float, tell: Callable[[str], None]
    ) -> None:
        self._subject = subject
        self._goal = goal
        self._log = log
        self._scratch = scratch
        self._timeout = timeout
        self._tell = tell
        self._prints = StageFingerprints()
        self.outcomes: dict[Parts, Outcome] = {}
        self.count = 0

    def before(self) -> Replayed:
        """The before side, whose result the others are compared with. Raises EnvironmentUnfit where it fails."""
        side = self._subject.sides["before"]
        again = self._compile(side)
        self._tell(f"  {fidelity(side, again, self._prints).describe('before')}")
        if again.failure is not None:
            raise EnvironmentUnfit(f"The before side {again.failure.describe()}. There is nothing to compare with.")
        self.outcomes[()] = self._outcome(again)
        return again

    def ask(self, asked: Mapping[str, Any]) -> None:
        """Take what the log has of that question."""
        self.outcomes |= {on: outcome for on, outcome in self._log.steps(asked).items() if on}

    def changes(self, parts: Parts, side: KernelSide) -> bool:
        """Whether the kernel meets the goal on that side, which has those parts on."""
        known = parts in self.outcomes
        if not known:
            start = time.monotonic()
            self.outcomes[parts] = self._outcome(self._compile(side))
            self._log.add(parts, self.outcomes[parts], time.monotonic() - start)
        outcome = self.outcomes[parts]
        changed = self._judge(parts, outcome)
        says = outcome.failure or ("changed" if changed else "not changed")
        self._tell(f"  {', '.join(parts)}: {says}{' (from the log)' if known else ''}")
        return changed

    def _judge(self, parts: Parts, outcome: Outcome) -> bool:
        if self._goal == "broken":
            return bool(outcome.failure)
        if outcome.digest is None:
            raise UsageError(
                f"With {', '.join(parts)} on the kernel {outcome.failure or 'can not be compared'}, so the goal "
                f"{self._goal} can not be told. The goal broken finds what breaks it."
            )
        return outcome.digest != self.outcomes[()].digest

    def _compile(self, side: KernelSide) -> Replayed:
        self.count += 1
        last = self._subject.criterion if self._goal == "ir" else "" if self._goal == "code" else self._subject.last
        folder = self._scratch / str(self.count)
        return compile_again(side, self._subject.target, folder, last=last, timeout=self._timeout).replayed

    def _outcome(self, again: Replayed) -> Outcome:
        stage = judged_stage(again, self._goal, self._subject.criterion)
        digest = digest_of(self._prints.of([stage]), stage.path) if stage is not None else None
        return Outcome(digest, again.failure.describe() if again.failure is not None else "")


def judged_stage(again: Replayed, goal: Goal, criterion: str) -> StageText | None:
    """The stage that the goal is about: the criterion's, or machine code; None if it was not made."""
    if goal == "ir":
        return again.stage(criterion)
    return next((stage for stage in again.stages if stage.name in MACHINE_CODE_STAGES), None)


def default_goal(subject: Subject) -> Goal:
    """What was recorded of the kernel: that a side could not compile it, or else that its IR may differ."""
    return "broken" if any(side.failed is not None for side in subject.sides.values()) else "ir"


def bisect(
    subject: Subject,
    goal: Goal,
    mask: Mask | None,
    log: Path,
    scratch: Path,
    timeout: float,
    tell: Callable[[str], None],
) -> Bisection:
    """Find the parts. Raises UsageError where the switch has none that a compile from IR can turn on."""
    compiles = Compiles(subject, goal, BisectLog(log), scratch, timeout, tell)
    _require_one_source(subject)
    pipeline = compiles.before().added
    parts = mask_parts(subject, mask) if mask is not None else switch_parts(subject, pipeline)
    if not parts.names:
        raise UsageError(_nothing_to_look_at(subject))
    for note in parts.notes:
        tell(f"  {note}")
    compiles.ask(_question(subject, goal, parts, compiles.outcomes[()]))
    if mask is not None and compiles.changes((f"{mask.name}=0",), parts.side(())):
        raise UsageError(
            f"With no bit of {mask.name} on, the change is there already: its bits are not what makes it. The log is {log}."
        )
    found = find_parts(parts.names, lambda some: compiles.changes(some, parts.side(some)))
    return Bisection(subject, goal, parts, found, compiles.outcomes, compiles.count)


def _question(subject: Subject, goal: Goal, parts: SwitchParts, before: Outcome) -> dict[str, Any]:
    return {
        "operator": subject.entry,
        "row": subject.row,
        "kernel": subject.name,
        "target": subject.target,
        "switch": subject.switch.text,
        "goal": goal,
        "parts": list(parts.names),
        "before": before.digest,
        "library": subject.sides["after"].library,
    }


def _require_one_source(subject: Subject) -> None:
    """The parts act on what is compiled, so it must be the same."""
    prints = StageFingerprints()
    sources = [side.source for side in subject.sides.values()]
    found = prints.of(sources)
    digests = {digest_of(found, source.path) for source in sources}
    if len(digests) > 1 or None in digests:
        variables = list(differing_variables(subject))
        only = (
            f" The sides differ in {variables[0]} alone, so there is nothing to divide." if len(variables) == 1 else ""
        )
        raise UsageError(
            f"What is compiled of {subject.name} is not the same on the two sides, so the switch acts before the first pass, "
            f"where its parts can not be told from a recorded kernel. Nothing was compiled.{only} "
            f"`zl-bench trace {subject.root} {subject.entry} --row {subject.row}` shows what each side's passes make of it."
        )


def _nothing_to_look_at(subject: Subject) -> str:
    """Why the switch has no part, and what has one."""
    if subject.switch.kind == "pass":
        why = f"{subject.name} goes through no pass {subject.switch.name} on its way to {subject.criterion}"
        return f"There is nothing to divide: {why}. Another row (--row) may; --mask NAME=VALUE looks at the bits of a mask."
    return (
        f"There is nothing to divide: the two sides of {subject.switch.text} differ in no variable. Parts are the occurrences "
        "of pass:NAME, variables that differ (--env-after), and the bits of a mask (--mask NAME=VALUE)."
    )
