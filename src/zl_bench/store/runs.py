"""Reading back what one run left behind: its events, how its process ended, and why rows are absent."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from zl_bench.analysis.shapes import shape_text
from zl_bench.errors import EnvironmentUnfit
from zl_bench.inside.zl_probe.wire import EVENTS_FILE, INPUT_FILE, OUTCOME_FILE, read_events
from zl_bench.model import BenchmarkShapes, ProcessOutcome, Run, Side
from zl_bench.store.absences import Record, absence
from zl_bench.store.events import Event, number, of_kind, text
from zl_bench.store.rows import distinct_pins, read_rows, seconds_told


def read_run(directory: Path, node: str, side: Side, outcome: ProcessOutcome) -> Run:
    """The run in `directory`, whatever became of its process. `outcome` is how the launcher saw it end.

    A damaged record is no error: the events before the damage count, and the run's absence names it.
    """
    events, damage = _events(directory / EVENTS_FILE)
    try:
        return _run(directory, node, side, events, damage, outcome)
    except (KeyError, AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        damage = f"{EVENTS_FILE} holds an event that can not be understood ({type(error).__name__}: {error})"
        return _run(directory, node, side, (), damage, outcome)


def _run(directory: Path, node: str, side: Side, events: Sequence[Event], damage: str, outcome: ProcessOutcome) -> Run:
    rows, failed = read_rows(directory, events)
    pins, missing_pins = distinct_pins(events)
    spans = seconds_told(events)
    begin: Event = next(of_kind(events, "begin"), {})
    end: Event = next(of_kind(events, "end"), {})
    return Run(
        node=node,
        side=side,
        directory=directory,
        rows=rows,
        failed_rows=failed,
        pins=pins,
        missing_pins=missing_pins,
        compiles=sum(1 for _ in of_kind(events, "compile")),
        cached_kernels=number(end, "cached_kernels"),
        foreign_kernels=tuple(
            dict.fromkeys(text(event, "kernel") for event in of_kind(events, "compile") if event.get("foreign"))
        ),
        absence=absence(Record(events, damage, outcome, bool(rows), failed, _operator(directory, node))),
        environment=dict(begin),
        shapes=tuple(_benchmark_shapes(event) for event in of_kind(events, "shapes")),
        left_processes=outcome.left,
        # The outcome's seconds are those of all processes of the run together, its limit is the last one's.
        unfinished_seconds=outcome.seconds - sum(spans) if outcome.seconds is not None and spans else None,
        limit_seconds=(
            outcome.seconds - sum(spans[:-1]) if outcome.seconds is not None and outcome.kind == "timeout" else None
        ),
    )


def write_outcome(directory: Path, outcome: ProcessOutcome) -> None:
    """Keep how a run's process ended beside its events, so that the run can be judged again later.

    A run that removed its own directory has nothing to keep it beside; its absence will say that it left no record.
    """
    if not directory.is_dir():
        return
    try:
        (directory / OUTCOME_FILE).write_text(json.dumps(asdict(outcome)) + "\n", encoding="utf-8")
    except OSError as error:
        raise EnvironmentUnfit(
            f"can not write {directory / OUTCOME_FILE}: {error.strerror or error}. Every finished operator is "
            "kept; make room, or check the permissions, and go on with --resume."
        ) from error


def read_outcome(directory: Path) -> ProcessOutcome:
    """How the run's process ended, as `write_outcome` kept it; without that, what the events alone can tell."""
    try:
        record = json.loads((directory / OUTCOME_FILE).read_text(encoding="utf-8"))
        seconds = record.get("seconds")
        return ProcessOutcome(
            kind=record["kind"],
            code=int(record["code"]),
            detail=str(record["detail"]),
            left=int(record.get("left", 0)),
            seconds=None if seconds is None else float(seconds),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        pass
    events, _ = _events(directory / EVENTS_FILE)
    if not events:
        return ProcessOutcome("not started", detail="the run left no record")
    return ProcessOutcome("exited", detail="how the process ended was not recorded")


def _events(path: Path) -> tuple[list[Event], str]:
    """The readable events and, if the file is damaged or unreadable, what is wrong with it."""
    events: list[Event] = []
    try:
        for event in read_events(str(path)):
            if not isinstance(event, dict):
                return events, f"{path.name} holds something else than events"
            events.append(event)
    except (ValueError, RecursionError) as error:
        return events, f"{path.name} is damaged: {error}"
    except OSError as error:
        return events, f"{path.name} can not be read: {error.strerror or error}"
    return events, ""


def _benchmark_shapes(event: Event) -> BenchmarkShapes:
    return BenchmarkShapes(
        operator=text(event, "operator"),
        classes=tuple(str(name) for name in event.get("classes") or ()),
        shapes=tuple(shape_text(shape) for shape in event.get("shapes") or ()),
        file=text(event, "file"),
    )


def _operator(directory: Path, node: str) -> str:
    """The operator's name as the run was told it, for messages."""
    try:
        return str(json.loads((directory / INPUT_FILE).read_text(encoding="utf-8"))["operator"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return node
