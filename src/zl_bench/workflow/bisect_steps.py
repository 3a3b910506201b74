"""A step of a bisection by speed: some parts of the switch on, screened and measured in a root of its own.

Such a root is like any other, so that `show`, `report` and `judge` read it: its before side is that of the bisected root, its
after side has those parts on, and its pins are the bisected root's. Rows whose machine code is that of the before side are
never timed for their own sake; the others are measured by the rounds of `measure`, calibrated by the same placebos.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zl_bench.analysis.judgement import JudgedRow, SpeedVerdict
from zl_bench.analysis.looks import judge_looks
from zl_bench.analysis.reasons import describe_row
from zl_bench.analysis.rounds import pair_rounds
from zl_bench.analysis.wording import listed
from zl_bench.errors import EnvironmentUnfit, UsageError, ZlBenchError
from zl_bench.model import SIDES, RowKey, split_entry
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.switch import Switch, dropped_text, parse_switch
from zl_bench.store.bisect_log import Timed
from zl_bench.store.layout import ON_CARD_FOLDER
from zl_bench.store.measure_record import MeasureRecord, Recorded, row_of
from zl_bench.store.request import ScreenRequest, read_request
from zl_bench.store.screen import ScreenRecord
from zl_bench.suites.base import Entry
from zl_bench.workflow.measure import measure
from zl_bench.workflow.measure_plan import SECRET, MeasurePlan, on_card
from zl_bench.workflow.measure_result import MeasureResult, circumstances_of
from zl_bench.workflow.measure_work import Code, NodeToMeasure, Work, entries_of, find_work
from zl_bench.workflow.screen import ScreenPlan, screen
from zl_bench.workflow.subject import KernelSide

FOUND = (SpeedVerdict.FASTER, SpeedVerdict.SLOWER)
UNTOLD = (SpeedVerdict.UNTRUSTED, SpeedVerdict.INCONCLUSIVE, SpeedVerdict.LAUNCH_BOUND)
"""Words that answer nothing, the worst first."""


class OutOfTime(Exception):
    """The budget was spent before a step had its rounds."""


@dataclass(frozen=True)
class Bisected:
    """The root whose switch is bisected. `plan` is how it would be measured itself, of which each step's plan is made."""

    plan: MeasurePlan
    entry: str
    before: KernelSide
    """How the before side of the root is started."""
    target: str
    """What the kernels of the root were compiled for."""


def work_of(root: Bisected, row: RowKey | None) -> tuple[Entry, ...]:
    """The operator, as far as that row needs it, and those that placebos are borrowed from. It reads all their runs."""
    folder, named = root.plan.root, (root.entry,)
    verdicts = ScreenRecord(folder).finished()
    work = find_work(folder, verdicts, named, Code(root.plan.screen.backend.criterion_stage))
    own = [entry for entry in entries_of(folder, verdicts, named) if entry.text == root.entry]
    if row is not None:
        own = [replace(entry, nodes=(row.node,)) for entry in own]
    return (*own, *(entry for entry in work.entries if entry.text != root.entry))


def recorded_pins_root(root: Bisected) -> Path | None:
    """Where the operator's choices on a card are recorded, None where it has been run on none."""
    if root.plan.request.target is None:
        return root.plan.root
    again = root.plan.root / ON_CARD_FOLDER
    finished = {(one.operator, one.dtype) for one in ScreenRecord(again).finished()}
    operator, dtype = split_entry(root.entry)
    return again if (operator, dtype or "-") in finished else None


def step_screen(root: Bisected, on: KernelSide) -> ScreenPlan:
    """The screen whose before side is that of the root, and whose after side has the variables and the passes of `on`.

    Its switch is written as any other: the occurrences that are left out, or else one of the variables that differ.
    """
    plan, before, after = root.plan.screen, root.before.environment, on.environment
    differing = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    # Of a secret the root keeps a hash, and the plan was given its value again.
    values = {
        name: plan.env_after[name] if after[name].startswith(SECRET) else after[name]
        for name in differing
        if name in after
    }
    own = plan.switch.name if plan.switch.kind == "variable" else ""
    if on.dropped_pass is not None:
        plan = replace(plan, switch=parse_switch(f"pass:{dropped_text(on.dropped_pass)}"))
    else:
        name = own if own in differing or not differing else differing[0]
        text = f"{name}={before.get(name, '')}..{after.get(name, '')}"
        switch = Switch(text, "variable", name, before.get(name), values.pop(name, None))
        plan = replace(plan if name == own else _held(plan, own, before.get(own)), switch=switch)
    as_before = {name: value for name, value in plan.env_before.items() if name not in differing}
    return replace(plan, env_after={**as_before, **values})


def _held(plan: ScreenPlan, name: str, value: str | None) -> ScreenPlan:
    """The plan with that variable the same on both sides, where it is no longer the switch; None is unset."""
    if not name:
        return plan
    inherited = {other: there for other, there in plan.inherited.items() if other != name}
    return replace(plan, inherited=inherited, env={**plan.env, **({} if value is None else {name: value})})


async def timed_step(
    root: Bisected,
    folder: Path,
    plan: ScreenPlan,
    entries: Sequence[Entry],
    row: RowKey | None,
    deadline: float | None,
    progress: ProgressReporter,
) -> Timed:
    """Screen and measure a step into that folder, going on with what is there, and say what the rounds say of the row.

    Without a row it is the one that changes most, or else a word on all of them. `plan` has the switch and the pins. Raises
    OutOfTime, and the errors of the family where there can be no answer.
    """
    if deadline is not None and time.monotonic() >= deadline:
        raise OutOfTime
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    settled = on_card(plan, folder, entries, resume=True)
    progress.expect(len(entries))
    await screen(settled, progress)
    request = read_request(folder)
    assert request is not None  # the screen has written it
    _require_same_compilers(root.plan.request, request, root.plan.root)
    code = Code(plan.backend.criterion_stage)
    work = await asyncio.to_thread(find_work, folder, ScreenRecord(folder).finished(), (root.entry,), code)
    own = [node for node in work.nodes if node.entry.text == root.entry]
    _require_target(root, own)
    if not _changes(root, own, row, work, folder):
        return Timed(SpeedVerdict.IDENTICAL.value, row)
    left = None if deadline is None else max(0.0, deadline - time.monotonic())
    rounds = replace(
        root.plan, root=folder, request=request, screen=settled, named=(root.entry,), budget=left, resume=True
    )
    result = await measure(rounds, progress)
    recorded = MeasureRecord(folder).read()
    late = deadline is not None and time.monotonic() >= deadline
    return _answer(rounds, result, recorded, row, late=late)


def _changes(root: Bisected, own: Sequence[NodeToMeasure], row: RowKey | None, work: Work, folder: Path) -> bool:
    """Whether the machine code of the row, or of any row, is another than on the before side."""
    kinds = {key: one.kind for node in own for key, one in node.rows.items()}
    there = [kind for key, kind in kinds.items() if row in (None, key)]
    if not there:
        what = root.entry if row is None else f"{root.entry} {describe_row(row)}"
        raise UsageError(
            f"{what} can not be compared: both sides did not launch it with machine code that was recorded, so the goal speed "
            f"can not be told ({listed(work.notes) or 'see its verdict'}; {folder}). The goal broken finds what breaks it."
        )
    return "changed" in there


def _answer(
    plan: MeasurePlan, result: MeasureResult, recorded: Recorded | None, row: RowKey | None, *, late: bool
) -> Timed:
    judged = None if result.looked is None or recorded is None else _judged(plan, result, recorded, row)
    if recorded is None or judged is None or (late and judged.rounds < plan.rounds):
        if late:
            raise OutOfTime
        raise ZlBenchError(
            f"It could not be measured: {listed(result.failed) or 'no round has the row'}. What is measured is kept in "
            f"{plan.root}, and the steps before it in the log; the same command tries it again."
        )
    measured = circumstances_of(recorded)[judged.key]
    chosen = judged.key if row is not None or judged.verdict in FOUND else None
    return Timed(
        verdict=judged.verdict.value,
        row=chosen,
        rounds=judged.rounds,
        speedup=judged.speedup,
        ci_low=judged.ci_low,
        ci_high=judged.ci_high,
        mde=judged.mde,
        numerics_differ=measured.numerics_differ,
    )


def _judged(plan: MeasurePlan, result: MeasureResult, recorded: Recorded, row: RowKey | None) -> JudgedRow | None:
    """The row that answers: the one that was asked about, judged alone beside the placebos, or else what stands out most."""
    if row is None:
        assert result.looked is not None
        return _foremost([one for one in result.looked.judgement.rows if not one.placebo])
    alone = replace(
        recorded, rows=tuple(line for line in recorded.rows if line.get("identical") or row_of(line) == row)
    )
    looked = judge_looks(pair_rounds(alone.medians()), plan.rounds, plan.delta)
    return next((one for one in looked.judgement.rows if one.key == row), None)


def _foremost(rows: Sequence[JudgedRow]) -> JudgedRow | None:
    """The largest change that was found; without one, a row of the worst word, of which the one with the largest mde."""
    found = [one for one in rows if one.verdict in FOUND]
    if found:
        return max(found, key=lambda one: max(one.speedup or 1.0, 1 / (one.speedup or 1.0)))
    words = (*UNTOLD, SpeedVerdict.NO_CHANGE)
    worst = next((word for word in words if any(one.verdict is word for one in rows)), None)
    return max((one for one in rows if one.verdict is worst), key=lambda one: one.mde or 0.0, default=None)


def _require_same_compilers(screened: ScreenRequest, now: ScreenRequest, root: Path) -> None:
    """Raise UsageError if compilers or suite are not those of the root, whose verdict is what is bisected."""
    names = [*(f"{side} Triton" for side in SIDES), "suite's files"]
    changed = [name for name in names if screened.extra.get(name) != now.extra.get(name)]
    if changed:
        raise UsageError(
            f"{root} was screened with another {' and another '.join(changed)} than there is now. Nothing was measured; "
            "screen again, into another root."
        )


def _require_target(root: Bisected, nodes: Sequence[NodeToMeasure]) -> None:
    """Raise EnvironmentUnfit for a card that compiles for something else than the root did."""
    runs = [node.screened(side) for node in nodes for side in SIDES]
    found = {kernel.target for run in runs for row in run.rows for kernel in row.launches} - {"", None, root.target}
    if found:
        raise EnvironmentUnfit(
            f"{root.plan.root} was screened for {root.target}, and the card here compiles for {listed(map(str, found))}. "
            "Nothing was measured. Bisect on a card of that kind, or screen again for this one."
        )
