"""The rows of one run as its events tell them, put together from all that is told about each.

A run may take several processes, one after the other in one events.jsonl: each begins with a `begin`, numbers its kernels
afresh, and may tell again of a row that the one before it had told of. Then the last word counts, in the first one's place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from zl_bench.model import FailedRow, Kernel, KernelIdentity, MissingPin, Pin, Row, RowKey, StageText
from zl_bench.store.events import Event, number, of_kind, text
from zl_bench.store.timings import asked_timing, latencies, never_told, outputs, row_key

TIMED = ("begin", "row", "row_failed")
"""The events between which a row was at work."""


def processes(events: Sequence[Event]) -> list[Sequence[Event]]:
    """The events of each process of the run, in order."""
    starts = [place for place, event in enumerate(events) if event.get("event") == "begin"]
    return [events[start:end] for start, end in pairwise([0, *starts[1:], len(events)])]


def read_rows(directory: Path, events: Sequence[Event]) -> tuple[tuple[Row, ...], tuple[FailedRow, ...]]:
    """The measured rows and the failed ones.

    A row that names a kernel which was never recorded can not be compared and is a failed row. Raises KeyError,
    AttributeError, TypeError or ValueError for an event that can not be understood.
    """
    told: dict[RowKey, list[Row | FailedRow]] = {}
    for process in processes(events):
        told.update(_told(directory, process))  # which leaves a key that is there already in its place
    everything = [row for rows in told.values() for row in rows]
    # Of a failed row that is told twice the last word counts: it also knows whether the failure ended the test.
    failed = {row.key: row for row in everything if isinstance(row, FailedRow)}
    measured = [row for row in everything if isinstance(row, Row)]
    return tuple(_with_details(directory, events, measured)), tuple(failed.values())


def distinct_pins(events: Sequence[Event]) -> tuple[tuple[Pin, ...], tuple[MissingPin, ...]]:
    """The run's pins and those that were missing.

    A later process replays what an earlier one had chosen: that is no choice of its own, and if it has no use for it, since
    the row is done, nothing is missing.
    """
    pins: list[Pin] = []
    missing: list[MissingPin] = []
    for process in processes(events):
        earlier = {(pin.tuner, pin.key): pin.configuration for pin in pins}
        for pin in map(_pin, of_kind(process, "pin")):
            if earlier.get((pin.tuner, pin.key)) != pin.configuration:
                pins.append(pin)
        for event in of_kind(process, "pin_missing"):
            pin_missing = MissingPin(*(text(event, name) for name in ("tuner", "key", "reason")))
            if (pin_missing.tuner, pin_missing.key) not in earlier:
                missing.append(pin_missing)
    return tuple(pins), tuple(missing)


def seconds_told(events: Sequence[Event]) -> list[float]:
    """How long each process of the run was at the rows that it told of, of those that tell the time."""
    spans = []
    for process in processes(events):
        # A process that gave up did so at the end of its time; of another, what followed its last row is another matter.
        times = [event for event in process if event.get("event") in (*TIMED, "abandoned") and "t" in event]
        if times:
            spans.append(float(times[-1]["t"]) - float(times[0]["t"]))
    return spans


def _told(directory: Path, process: Sequence[Event]) -> dict[RowKey, list[Row | FailedRow]]:
    """What one process told of its rows, by their keys."""
    kernels = {str(event["id"]): _kernel(directory, event) for event in of_kind(process, "kernel")}
    seconds = _row_seconds(process)
    told: dict[RowKey, list[Row | FailedRow]] = {}
    for event in process:
        kind = event.get("event")
        if kind in ("row", "row_failed"):
            row = _row(event, kernels, seconds) if kind == "row" else _failed_row(event)
            told.setdefault(row.key, []).append(row)
    return told


def _row(event: Event, kernels: Mapping[str, Kernel], seconds: Mapping[RowKey, float]) -> Row | FailedRow:
    key, names = row_key(event), [str(name) for name in event.get("launches", [])]
    unknown = next((name for name in names if name not in kernels), None)
    if unknown is not None:
        return FailedRow(key, "read", f"launched kernel {unknown} was never recorded")
    ran = event.get("ran")
    return Row(
        key=key,
        launches=tuple(kernels[name] for name in names),
        guesses=number(event, "guesses"),
        ran=None if ran is None else dict(ran),
        seconds=seconds.get(key),
    )


def _with_details(directory: Path, events: Sequence[Event], rows: Sequence[Row]) -> list[Row]:
    """The rows with what was timed and sampled of each."""
    asked = asked_timing(directory)
    timed, sampled = latencies(events, asked), outputs(directory, events)
    detailed = []
    for row in rows:
        latency = timed.get((row.key, "operator"))
        if latency is None and asked is not None:
            latency = never_told(asked, row.key, events)
        baseline = timed.get((row.key, "baseline"))
        detailed.append(replace(row, latency=latency, baseline=baseline, outputs=sampled.get(row.key)))
    return detailed


def _row_seconds(process: Sequence[Event]) -> dict[RowKey, float]:
    """How long each row took: since the one before it, measured or failed, or since the process began."""
    seconds: dict[RowKey, float] = {}
    for earlier, event in pairwise(event for event in process if event.get("event") in TIMED):
        if event.get("event") == "row" and "t" in earlier and "t" in event:
            seconds[row_key(event)] = float(event["t"]) - float(earlier["t"])
    return seconds


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
    shared, registers, spills = (
        None if event.get(name) is None else int(event[name]) for name in ("shared", "registers", "spills")
    )
    source, options = event.get("source"), event.get("options")
    return Kernel(
        identity,
        shared,
        tuple(_stage(directory, name, stage) for name, stage in event.get("stages", {}).items()),
        text(event, "configuration"),
        registers,
        spills,
        source=None if source is None else _stage(directory, "source", source),
        target=text(event, "target"),
        options=None if options is None else dict(options),
    )


def _stage(directory: Path, name: str, reference: Event) -> StageText:
    return StageText(name, directory / str(reference["file"]), str(reference.get("sha256") or ""))


def _failed_row(event: Event) -> FailedRow:
    return FailedRow(
        key=row_key(event),
        phase="compile" if event.get("phase") == "compile" else "run",
        message=text(event, "message"),
        kernel=text(event, "kernel"),
        stage=text(event, "stage"),
        whole_test=bool(event.get("whole_test")),
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
