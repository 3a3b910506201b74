"""Reading what one run of a measurement timed: each row with its turns, and what the card told beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zl_bench.inside.zl_probe.wire import EVENTS_FILE, read_events
from zl_bench.model import CardReading, Latency, RowKey
from zl_bench.store.events import Event, number, of_kind, text
from zl_bench.store.timings import AskedTiming, card_reading, latencies, row_key


@dataclass(frozen=True)
class TimedTurn:
    """One turn of a row: the card before and after it."""

    median_ms: float
    samples: int
    before: CardReading | None
    after: CardReading | None


@dataclass(frozen=True)
class TimedRow:
    """A row that was timed, or was to be. `started` is in seconds since the epoch, when it was told."""

    latency: Latency
    turns: tuple[TimedTurn, ...]
    warmup_ms: float
    others: tuple[dict[str, Any], ...]
    """The processes of others on the card, after it."""
    told: float


@dataclass(frozen=True)
class TimedRun:
    """A run's rows, the card that it ran on, and the devices that its process had open when it was forked."""

    rows: dict[RowKey, TimedRow]
    card: dict[str, Any]
    opened: tuple[str, ...]
    left: str
    """Why it ended before its time, if it had nobody left to take turns with."""
    events: tuple[Event, ...]


def read_timed_run(directory: Path, asked: AskedTiming) -> TimedRun:
    """What can be read of the run in `directory`; what is damaged is as if it had not been told."""
    events = _events(directory)
    timed = latencies(events, asked)
    rows: dict[RowKey, TimedRow] = {}
    for event in of_kind(events, "latency"):
        if text(event, "role") == "baseline":
            continue
        try:
            key = row_key(event)
            rows[key] = _row(event, timed[key, "operator"])
        except (TypeError, ValueError, KeyError, OverflowError, AttributeError):
            continue
    card = next(of_kind(events, "card"), {})
    begin = next(of_kind(events, "begin"), {})
    return TimedRun(
        rows=rows,
        card={name: text(card, name) for name in ("name", "uuid", "driver")},
        opened=tuple(map(str, begin.get("opened") or ())),
        left=next((text(event, "why") for event in of_kind(events, "left")), ""),
        events=tuple(events),
    )


def reading_record(reading: CardReading | None) -> dict[str, Any] | None:
    """A reading as JSON holds it."""
    return None if reading is None else asdict(reading)


def _row(event: Event, latency: Latency) -> TimedRow:
    turns = tuple(map(_turn, event.get("turns") or ()))
    if not turns and not latency.invalid:
        turns = (TimedTurn(latency.median_ms, latency.samples, latency.before, latency.after),)
    others = tuple(dict(one) for one in event.get("others") or ())
    return TimedRow(latency, turns, float(event.get("warmup_ms") or 0.0), others, float(event.get("t") or 0.0))


def _turn(told: Event) -> TimedTurn:
    median = told.get("median_ms")
    return TimedTurn(
        math.nan if median is None else float(median),
        number(told, "samples"),
        card_reading(told.get("before")),
        card_reading(told.get("after")),
    )


def _events(directory: Path) -> Sequence[Event]:
    events: list[Event] = []
    try:
        for event in read_events(str(directory / EVENTS_FILE)):
            if isinstance(event, dict):
                events.append(event)
    except (OSError, ValueError):
        pass  # what came before the damage counts
    return events
