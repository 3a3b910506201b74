"""Why a run ended early or empty, derived from how its process ended and from what it had recorded until then."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass

from zl_bench.analysis.wording import counted, listed, one_line
from zl_bench.model import Absence, FailedRow, ProcessOutcome
from zl_bench.store.events import Event, number, of_kind, text

NOTHING_COLLECTED = 5
"""Pytest's exit status when no test was collected."""
ENDED_EARLY = {2: "pytest was interrupted from within", 3: "pytest had an internal error"}
"""Pytest's exit statuses that say nothing of any test; who ends a run from outside uses a signal."""
NO_SUCH_DTYPE = re.compile(r"argument --dtypes: invalid choice: (\S+) \(choose from (.*)\)")
"""How argparse refuses a dtype that FlagGems' option does not know; up to Python 3.11 each name has quotes."""


@dataclass(frozen=True)
class Record:
    """What is known of one run."""

    events: Sequence[Event]
    damage: str
    """What is wrong with the events file, empty if nothing is."""
    outcome: ProcessOutcome
    has_rows: bool
    failed_rows: Sequence[FailedRow]
    operator: str
    """For messages."""


def absence(record: Record) -> Absence | None:
    """Why the run ended early or empty, None for an orderly end with rows.

    What is known best decides: how the process ended, whether its record is whole, then what its tests said.
    """
    return (
        _cut_short(record)
        or _refused_dtype(record)
        or _failed(record)
        or (None if record.has_rows else _without_rows(record))
    )


def _cut_short(record: Record) -> Absence | None:
    outcome, activity = record.outcome, _last_activity(record.events)
    match outcome.kind:
        case "not started":
            return Absence("not started", outcome.detail or "the process could not be started")
        case "timeout":
            return Absence("timeout", _listed("ran out of time", outcome.detail, activity))
        case "memory":
            return Absence("memory", _listed(f"crashed: out of memory ({outcome.detail})", activity))
        case "signal":
            return Absence("crashed", _listed(f"killed by {_signal_name(outcome.code)}", outcome.detail, activity))
    return _record_cut_short(record, activity)


def _record_cut_short(record: Record, activity: str) -> Absence | None:
    """A process that ended by itself, but not as its record says or before its record ends."""
    outcome = record.outcome
    if record.damage:
        return Absence("crashed", record.damage)
    given_up = _given_up(record)
    if given_up is not None:
        return given_up
    end = next(of_kind(record.events, "end"), None)
    if end is None:
        status = f"the process ended with exit status {outcome.code} before the end of its record"
        return Absence("crashed", _listed(status, outcome.detail, activity, "see run.log"))
    exit_status = number(end, "exit")
    if outcome.code not in (0, exit_status):
        return Absence("crashed", _listed(f"exit status {outcome.code} after its last event", outcome.detail))
    return _session_cut_short(record.events, end, activity)


def _given_up(record: Record) -> Absence | None:
    """A process that timing left unusable and that no other followed; one that was followed took nothing from the run."""
    turns = [event for event in record.events if event.get("event") in ("begin", "abandoned")]
    if not turns or turns[-1].get("event") != "abandoned":
        return None
    method, why = (text(turns[-1], name) or "unknown" for name in ("method", "why"))
    told = _listed(f"method {method}", why, one_line(text(turns[-1], "message")))
    reason = f"given up: timing left its process unusable ({told}), and no other went on, see run.log"
    detail = record.outcome.detail
    return Absence("crashed", detail if detail.startswith("given up") else _listed(reason, detail))


def _session_cut_short(events: Sequence[Event], end: Event, activity: str) -> Absence | None:
    """A session that pytest ended before its tests had all had their turn."""
    # A file that can not be collected interrupts pytest too, and has told its own reason.
    if any(test.get("outcome") == "failed" for test in of_kind(events, "test")):
        return None
    exit_status, unrun = number(end, "exit"), end.get("unrun") or []
    stopped = text(end, "stopped").strip().rstrip(":")
    if exit_status in ENDED_EARLY:
        return Absence("crashed", _listed(ENDED_EARLY[exit_status], stopped, activity, "see run.log"))
    if not stopped and not unrun:
        return None
    never = f"{counted(len(unrun), 'collected test')} never ran: {unrun[0]}" if unrun else ""
    return Absence("crashed", _listed("the session ended early", stopped, never))


def _refused_dtype(record: Record) -> Absence | None:
    """A suite that is told its dtypes by an option fails the test, and has refused before any row was tried."""
    refused = next(of_kind(record.events, "deselected"), None)
    if refused is None or record.has_rows or record.failed_rows:
        return None
    return Absence("dtype", _unsupported(refused, record.operator), clean=True)


def _failed(record: Record) -> Absence | None:
    """A refusal of the stand-in device or a failed test, with or without rows before it."""
    refused = next(of_kind(record.events, "needs_device"), None)
    if refused is not None:
        return Absence("needs a device", f"needs a device: {text(refused, 'operation')}")
    failure = next((test for test in of_kind(record.events, "test") if test.get("outcome") == "failed"), None)
    return _failed_test(record.events, failure) if failure is not None else None


def _without_rows(record: Record) -> Absence:
    """A run that wrote its record to the end, without a failed test and without rows."""
    if record.failed_rows:
        first = record.failed_rows[0]
        return Absence("failed", first.message, kernel=first.kernel, stage=first.stage)
    tests = list(of_kind(record.events, "test"))
    skipped = [text(test, "message") for test in tests if test.get("outcome") == "skipped"]
    if skipped:
        reasons = "; ".join(dict.fromkeys(reason for reason in skipped if reason))
        return Absence("skipped", f"skipped: {reasons or 'no reason given'}", clean=True)
    end = next(of_kind(record.events, "end"), {})
    return _nothing(record.events, number(end, "exit"), bool(tests))


def _nothing(events: Sequence[Event], exit_status: int, tested: bool) -> Absence:
    """The absence of a run that ended in order, without rows, and without a test that says why."""
    if tested:
        compiles = sum(1 for _ in of_kind(events, "compile"))
        though = f", though {counted(compiles, 'kernel')} compiled" if compiles else ""
        return Absence("nothing captured" if compiles else "nothing collected", f"the test measured nothing{though}")
    removed = [str(node) for event in of_kind(events, "removed") for node in event.get("nodes") or ()]
    if removed and exit_status in (0, NOTHING_COLLECTED):
        return Absence("nothing collected", f"deselected by the suite itself: {listed(removed)}", clean=True)
    if exit_status in (0, NOTHING_COLLECTED):
        return Absence("nothing collected", "no test was collected")
    told = [line.strip() for line in text(next(of_kind(events, "end"), {}), "message").splitlines() if line.strip()]
    unknown = next(filter(None, map(NO_SUCH_DTYPE.search, told)), None)
    if unknown is not None:
        dtype, known = (said.replace("'", "") for said in unknown.groups())
        return Absence("dtype", f"dtype {dtype} is not one of the suite's: {known}", clean=True)
    errors = [line for line in told if "error" in line.lower() and not line.startswith("ERROR: usage:")]
    why = (errors or told or ["see run.log"])[0]
    if "not found: " in why:  # defined under a condition that does not hold here, as far as its file can be read
        return Absence("nothing collected", f"no test was collected: {why.removeprefix('ERROR: ')}")
    return Absence("failed", f"pytest ended with exit status {exit_status} before any test ran: {why}")


def _failed_test(events: Sequence[Event], failure: Event) -> Absence:
    """A failed test; a failed compile is named as its cause when the test's message repeats the compiler's."""
    message = text(failure, "message") or "the test failed without a message"
    for event in reversed(list(of_kind(events, "compile_failed"))):
        first_line = next(iter(text(event, "message").strip().splitlines()), "")
        if first_line and first_line in message:
            return Absence("failed", message, kernel=text(event, "kernel"), stage=text(event, "stage"))
    return Absence("failed", message)


def _unsupported(event: Event, operator: str) -> str:
    available = event.get("available") or []
    names = ", ".join(str(name) for name in available) or "it has none"
    return f"dtype {text(event, 'dtype')} is not one of {operator}'s: {names}"


def _last_activity(events: Sequence[Event]) -> str:
    """Where a run was when it was cut short, as far as its record goes."""
    if not events:
        return "before its first event"
    if events[-1].get("event") == "end":
        return "after its last event"
    rows = sum(1 for _ in of_kind(events, "row"))
    where = f"after {counted(rows, 'row')}" if rows else "before its first row"
    last = next((event for event in reversed(events) if event.get("event") in ("compile", "row")), None)
    compiled = f", having compiled {text(last, 'kernel')}" if last is not None and last["event"] == "compile" else ""
    return where + compiled


def _listed(text: str, *details: str) -> str:
    return ", ".join([text, *(detail for detail in details if detail)])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(abs(number)).name
    except ValueError:
        return f"signal {abs(number)}"
