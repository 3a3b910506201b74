"""One node's two runs, sorted out: rows that pair, rows that one side broke, rows that one side never reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from zl_bench.analysis.pairing import NOTHING_UNSTABLE, criterion_print, pair_rows, self_differences, unreadable_row
from zl_bench.analysis.prints import Fingerprints, StageRules
from zl_bench.analysis.wording import counted
from zl_bench.model import (
    SIDES,
    Absence,
    BrokenRow,
    FailedRow,
    KernelIdentity,
    Numerics,
    OneSidedRow,
    PairedRow,
    Row,
    RowKey,
    Run,
    Side,
)

BREAKING_ABSENCES = ("failed", "timeout", "memory", "crashed")
"""Ways for a run to end early that break the first row which it then never reached. A stand-in device that can not do
something, a dtype, a skip or a process that never started say nothing about the switch."""

CUT_SHORT = ("crashed", "memory", "timeout", "not started")
"""Ends of a process before its time, whatever rows it had by then."""

STUCK_SHARE, STUCK_FACTOR = 0.5, 10.0
"""A run that ran out of time was stuck in a row if that row had taken this share of the whole time, and this many times
what it took on the other side. Else the limit was short, which says nothing about the switch."""

Keyed = TypeVar("Keyed", Row, FailedRow)

NOTHING_COMPARED: Mapping[RowKey, Numerics] = {}

OTHER: dict[Side, Side] = {"before": "after", "after": "before"}


@dataclass(frozen=True)
class SortedNode:
    """The rows of one node's pair of runs, each in exactly one place, in the order in which they were measured."""

    node: str
    before: Run
    after: Run
    paired: tuple[PairedRow, ...]
    broken: tuple[BrokenRow, ...]
    one_sided: tuple[OneSidedRow, ...]
    failed: tuple[tuple[Side, FailedRow], ...]
    paired_kernels: tuple[tuple[Side, KernelIdentity, str, int], ...]
    """(side, identity, criterion digest, converts) of each distinct kernel that the paired rows launched."""
    launches_anywhere: bool
    """Whether any row of either side launched a Triton kernel, paired or not."""
    unchecked_rows: int = 0
    """Paired rows that a self-check was asked for and has no repetition of."""

    def run(self, side: Side) -> Run:
        """The run of that side."""
        return self.before if side == "before" else self.after


@dataclass
class _Half:
    """One side while it is being sorted: comparable rows and failed rows by key, and the order of the rows."""

    run: Run
    rows: dict[RowKey, Row] = field(default_factory=dict)
    failed: dict[RowKey, FailedRow] = field(default_factory=dict)


def sort_node(
    before: Run,
    after: Run,
    prints: Fingerprints,
    rules: StageRules,
    again: Run | None = None,
    numerics: Mapping[RowKey, Numerics] = NOTHING_COMPARED,
) -> SortedNode:
    """Put every row of two runs of one node where it belongs.

    `again` is the before side's repetition (self-check); `numerics` is how the outputs of its rows compare.
    """
    before, after = captured(before), captured(after)
    halves: dict[Side, _Half] = {"before": _half(before, prints, rules), "after": _half(after, prints, rules)}
    repeated = _half(again, prints, rules) if again is not None else None
    left, right = halves["before"], halves["after"]

    paired: list[PairedRow] = []
    unchecked = 0
    for key, row in left.rows.items():
        if key not in right.rows:
            continue
        unstable = NOTHING_UNSTABLE
        if repeated is not None:
            repetition = repeated.rows.get(key)
            unchecked += repetition is None
            unstable = self_differences(row, repetition, prints, rules)
        compared = pair_rows(row, right.rows[key], prints, rules, unstable)
        paired.append(replace(compared, numerics=_weigh(numerics.get(key), compared, row, prints, rules)))

    broken: list[BrokenRow] = []
    one_sided: list[OneSidedRow] = []
    for side in SIDES:
        broke, alone = _missing_on(side, halves[side], halves[OTHER[side]])
        broken.extend(broke)
        one_sided.extend(alone)
    kernels = dict.fromkeys(
        (side, kernel.identity, found.digest, found.converts)
        for row in paired
        for side in SIDES
        for kernel in halves[side].rows[row.key].launches
        for found in (criterion_print(kernel, prints, rules),)
    )
    return SortedNode(
        node=before.node,
        before=before,
        after=after,
        paired=tuple(paired),
        broken=tuple(broken),
        one_sided=tuple(one_sided),
        failed=tuple((side, row) for side in SIDES for row in halves[side].failed.values()),
        paired_kernels=tuple(kernels),
        launches_anywhere=any(row.launches for half in halves.values() for row in half.run.rows),
        unchecked_rows=unchecked,
    )


def captured(run: Run) -> Run:
    """The run itself, or a failed run without rows if a shared cache may have given it the other side's code, or if it
    compiled kernels and its rows show no launch of any.

    Such rows would read as NO_KERNEL while the cache says otherwise (R4). Compiles of a run that failed explain
    themselves: a row or a test that raised after compiling leaves kernels behind that no row ever launched.
    """
    if run.foreign_kernels and run.rows:
        reason = (
            f"{', '.join(run.foreign_kernels)} came out of a cache that this run had not filled; its code may be the "
            "other side's"
        )
        return replace(run, rows=(), absence=Absence("foreign cache", reason))
    failed = run.failed_rows or (run.absence is not None and not run.absence.clean)
    compiled = max(run.compiles, run.cached_kernels)
    if not compiled or not run.rows or failed or any(row.launches for row in run.rows):
        return run
    reason = f"{counted(compiled, 'kernel')} compiled in {counted(len(run.rows), 'row')}, but no launch was captured"
    return replace(run, rows=(), absence=Absence("nothing captured", reason))


def _weigh(
    found: Numerics | None, paired: PairedRow, row: Row, prints: Fingerprints, rules: StageRules
) -> Numerics | None:
    """What a difference is worth, given the row's comparison and the kernels that it launches.

    The same code with a kernel that lets the order of atomics show differs from itself from run to run, which is not on the
    switch's account. Code that differs may owe its difference to either, and keeps it.
    """
    identical = not paired.changed and paired.sequence == "same" and paired.machine_code == "same"
    if found is None or found.same or not identical:
        return found
    unordered = any(criterion_print(kernel, prints, rules).unordered for kernel in row.launches)
    return replace(found, unordered=unordered)


def _half(run: Run, prints: Fingerprints, rules: StageRules) -> _Half:
    half = _Half(run, failed={row.key: row for row in distinct_rows(run.failed_rows)})
    for row in distinct_rows(run.rows):
        rejected = unreadable_row(row, prints, rules)
        if rejected is not None:
            half.failed.setdefault(row.key, rejected)
        elif row.key not in half.failed:
            half.rows[row.key] = row
    return half


def distinct_rows(rows: Sequence[Keyed]) -> list[Keyed]:
    """The rows with unique keys: a repeated key, which a probe should not write, moves to the next free ordinal."""
    used: set[RowKey] = set()
    distinct = []
    for row in rows:
        key = row.key
        while key in used:
            key = replace(key, ordinal=key.ordinal + 1)
        used.add(key)
        distinct.append(row if key == row.key else replace(row, key=key))
    return distinct


def _missing_on(side: Side, here: _Half, there: _Half) -> tuple[list[BrokenRow], list[OneSidedRow]]:
    """The rows that the other side measured and this one did not: broken here, or merely not reached."""
    broken: list[BrokenRow] = []
    one_sided: list[OneSidedRow] = []
    missing = []
    for key in there.rows:
        failure = here.failed.get(key)
        if failure is not None and failure.phase == "read":
            # Measured, but its record is damaged: that is no doing of the switch.
            one_sided.append(OneSidedRow(key, OTHER[side], failure.message))
        elif failure is not None:
            broken.append(BrokenRow(key, side, failure.phase, failure.kernel, failure.stage, failure.message))
        elif key not in here.rows:
            missing.append(key)
    if not missing:
        return broken, one_sided
    absence = here.run.absence
    # A failure that ended its test may carry a key of its own: the row's detail was not known yet when it happened.
    ended = [row for row in here.failed.values() if row.whole_test]
    strays = [row for row in ended if row.key not in there.rows and row.key not in there.failed]
    if strays:
        first, *missing = missing
        failure = strays[0]
        broken.append(BrokenRow(first, side, failure.phase, failure.kernel, failure.stage, failure.message))
    elif absence is not None and _breaks(absence, ended) and _stuck(here.run, there.rows[missing[0]]):
        first, *missing = missing
        phase = "compile" if absence.kind == "failed" and (absence.kernel or absence.stage) else absence.kind
        broken.append(BrokenRow(first, side, phase, absence.kernel, absence.stage, absence.reason))
    why = _why_missing(absence, ended)
    one_sided.extend(OneSidedRow(key, OTHER[side], why) for key in missing)
    return broken, one_sided


def _breaks(absence: Absence, ended: list[FailedRow]) -> bool:
    """Whether the run's early end is a failure of the first row that it did not reach."""
    if absence.clean or absence.kind not in BREAKING_ABSENCES:
        return False
    # A failed test with a failed row of its own is that row's failure, wherever it was counted.
    return absence.kind != "failed" or not ended


def _stuck(run: Run, row: Row) -> bool:
    """False for a run that ran out of time without being stuck in that row, as the other side measured it."""
    if run.absence is None or run.absence.kind != "timeout":
        return True
    spent, limit, other = run.unfinished_seconds, run.limit_seconds, row.seconds
    if spent is None or limit is None or other is None:
        return False
    return spent >= STUCK_SHARE * limit and spent >= STUCK_FACTOR * other


def _why_missing(absence: Absence | None, ended: list[FailedRow]) -> str:
    if ended:
        return f"the test ended before it: {ended[0].message}"
    if absence is not None:
        return absence.reason
    return "the run ended in good order without it"
