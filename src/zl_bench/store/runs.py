"""Reading back what one run left behind: its events, how its process ended, and why rows are absent."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from zl_bench.analysis.shapes import shape_text
from zl_bench.errors import EnvironmentUnfit
from zl_bench.inside.zl_probe.wire import EVENTS_FILE, INPUT_FILE, read_events
from zl_bench.model import (
    BenchmarkShapes,
    FailedRow,
    Kernel,
    KernelIdentity,
    MissingPin,
    Pin,
    ProcessOutcome,
    Row,
    RowKey,
    Run,
    Side,
    StageText,
)
from zl_bench.store.absences import Record, absence
from zl_bench.store.events import Event, number, of_kind, text

OUTCOME_FILE = "outcome.json"


def read_run(directory: Path, node: str, side: Side, outcome: ProcessOutcome) -> Run:
    """The run in `directory`, whatever became of its process. `outcome` is how the launcher saw it end.

    A damaged record is no error: the events before the damage count, and the run's absence names it.
    """
    events, damage = _events(directory / EVENTS_FILE)
    try:
        return _run(directory, node, side, events, damage, outcome)
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        damage = f"{EVENTS_FILE} holds an event that can not be understood ({type(error).__name__}: {error})"
        return _run(directory, node, side, (), damage, outcome)


def _run(directory: Path, node: str, side: Side, events: Sequence[Event], damage: str, outcome: ProcessOutcome) -> Run:
    kernels = {str(event["id"]): _kernel(directory, event) for event in of_kind(events, "kernel")}
    rows, unknown = _rows(events, kernels)
    # Of a row that is told twice the last word counts: it also knows whether the failure ended the test.
    told = {row.key: row for row in (*unknown, *(_failed_row(event) for event in of_kind(events, "row_failed")))}
    failed = tuple(told.values())
    begin: Event = next(of_kind(events, "begin"), {})
    end: Event = next(of_kind(events, "end"), {})
    return Run(
        node=node,
        side=side,
        directory=directory,
        rows=rows,
        failed_rows=failed,
        pins=tuple(_pin(event) for event in of_kind(events, "pin")),
        missing_pins=tuple(
            MissingPin(*(text(event, key) for key in ("tuner", "key", "reason")))
            for event in of_kind(events, "pin_missing")
        ),
        compiles=sum(1 for _ in of_kind(events, "compile")),
        cached_kernels=number(end, "cached_kernels"),
        foreign_kernels=tuple(
            dict.fromkeys(text(event, "kernel") for event in of_kind(events, "compile") if event.get("foreign"))
        ),
        absence=absence(Record(events, damage, outcome, bool(rows), failed, _operator(directory, node))),
        environment=dict(begin),
        shapes=tuple(_benchmark_shapes(event) for event in of_kind(events, "shapes")),
        left_processes=outcome.left,
        unfinished_seconds=_unfinished_seconds(events, outcome),
        limit_seconds=outcome.seconds if outcome.kind == "timeout" else None,
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
    except (OSError, ValueError, KeyError, TypeError):
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
    except ValueError as error:
        return events, f"{path.name} is damaged: {error}"
    except OSError as error:
        return events, f"{path.name} can not be read: {error.strerror or error}"
    return events, ""


def _kernel(directory: Path, event: Event) -> Kernel:
    identity = KernelIdentity(
        name=text(event, "name"),
        signature=text(event, "signature"),
        constants=text(event, "constants"),
        attributes=text(event, "attributes"),
        num_warps=number(event, "num_warps"),
        num_stages=number(event, "num_stages"),
        num_ctas=number(event, "num_ctas"),
    )
    shared = event.get("shared")
    stages = tuple(
        StageText(name, directory / str(stage["file"]), str(stage.get("sha256") or ""))
        for name, stage in event.get("stages", {}).items()
    )
    return Kernel(identity, None if shared is None else int(shared), stages, text(event, "configuration"))


def _key(event: Event) -> RowKey:
    return RowKey(
        node=text(event, "node"),
        operator=text(event, "operator"),
        dtype=text(event, "dtype"),
        ordinal=number(event, "ordinal"),
        detail=text(event, "detail"),
    )


def _rows(events: Sequence[Event], kernels: Mapping[str, Kernel]) -> tuple[tuple[Row, ...], list[FailedRow]]:
    """The measured rows; one that names a kernel which was never recorded can not be compared and is a failed row."""
    rows: list[Row] = []
    failed: list[FailedRow] = []
    seconds = _row_seconds(events)
    for event in of_kind(events, "row"):
        names = [str(name) for name in event.get("launches", [])]
        unknown = [name for name in names if name not in kernels]
        if unknown:
            failed.append(FailedRow(_key(event), "read", f"launched kernel {unknown[0]} was never recorded"))
        else:
            launches, ran = tuple(kernels[name] for name in names), event.get("ran")
            key, guesses = _key(event), number(event, "guesses")
            rows.append(Row(key, launches, guesses, None if ran is None else dict(ran), seconds.get(key)))
    return tuple(rows), failed


def _row_seconds(events: Sequence[Event]) -> dict[RowKey, float]:
    """How long each row took: since the one before it, measured or failed, or since the run began."""
    seconds: dict[RowKey, float] = {}
    times = [event for event in events if event.get("event") in ("begin", "row", "row_failed")]
    for earlier, event in pairwise(times):
        if event.get("event") == "row" and "t" in earlier and "t" in event:
            seconds[_key(event)] = float(event["t"]) - float(earlier["t"])
    return seconds


def _unfinished_seconds(events: Sequence[Event], outcome: ProcessOutcome) -> float | None:
    """How long a run that was ended had been at what followed its last row."""
    times = [event for event in events if event.get("event") in ("begin", "row", "row_failed") and "t" in event]
    if outcome.seconds is None or not times:
        return None
    return outcome.seconds - (float(times[-1]["t"]) - float(times[0]["t"]))


def _failed_row(event: Event) -> FailedRow:
    return FailedRow(
        key=_key(event),
        phase="compile" if event.get("phase") == "compile" else "run",
        message=text(event, "message"),
        kernel=text(event, "kernel"),
        stage=text(event, "stage"),
        whole_test=bool(event.get("whole_test")),
    )


def _benchmark_shapes(event: Event) -> BenchmarkShapes:
    return BenchmarkShapes(
        operator=text(event, "operator"),
        classes=tuple(str(name) for name in event.get("classes") or ()),
        shapes=tuple(shape_text(shape) for shape in event.get("shapes") or ()),
        file=text(event, "file"),
    )


def _pin(event: Event) -> Pin:
    how = event.get("how")
    return Pin(
        tuner=text(event, "tuner"),
        key=text(event, "key"),
        configuration=text(event, "configuration"),
        position=number(event, "position"),
        candidates=number(event, "candidates"),
        how=how if how in ("first", "all", "replayed") else "tuned",
        origin=text(event, "origin"),
    )


def _operator(directory: Path, node: str) -> str:
    """The operator's name as the run was told it, for messages."""
    try:
        return str(json.loads((directory / INPUT_FILE).read_text(encoding="utf-8"))["operator"])
    except (OSError, ValueError, KeyError, TypeError):
        return node
