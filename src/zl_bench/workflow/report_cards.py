"""The cards that a root was made on, as far as its runs and its measured rounds tell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zl_bench.model import SIDES, Run
from zl_bench.reports import report_words
from zl_bench.reports.report_view import NOT_RECORDED, CardProvenance
from zl_bench.store.events import of_kind, whole_events
from zl_bench.store.layout import CARDS_FILE
from zl_bench.store.request import ScreenRequest
from zl_bench.workflow.report_round_rows import clock_readings
from zl_bench.workflow.report_rounds import MeasuredRoot

Card = Mapping[str, Any]


@dataclass
class _Seen:
    """What was told of cards beside latencies: by UUID, their names and drivers; the clocks, and what held them down."""

    cards: dict[str, Card] = field(default_factory=dict)
    clocks: list[int] = field(default_factory=list)
    throttle: dict[str, None] = field(default_factory=dict)


def cards_of(
    root: Path, request: ScreenRequest | None, runs: Sequence[Run], measured: MeasuredRoot | None
) -> Iterator[CardProvenance]:
    """Each card that was taken, or asked for, or that a measured round tells of, once."""
    taken = {str(use.get("uuid") or use.get("pci") or use.get("index")): use for use in _json_lines(root / CARDS_FILE)}
    asked: Sequence[Card] = request.cards if request is not None else ()
    seen = _Seen()
    if measured is not None:
        _see_rounds(measured, seen)
    if taken or asked:
        _see_runs(runs, seen)
    drivers = distinct(card.get("driver") for card in seen.cards.values())
    for card in list(taken.values()) or list(asked) or list(seen.cards.values()):
        of_it = seen.cards.get(str(card.get("uuid") or ""), {})
        yield CardProvenance(
            name=told(card.get("name") or of_it.get("name")),
            uuid=told(card.get("uuid")),
            pci=told(card.get("pci")),
            driver=told(of_it.get("driver") or drivers),
            clocks=report_words.clock_range(seen.clocks) or NOT_RECORDED,
            throttle=", ".join(seen.throttle) or ("none seen" if seen.clocks else NOT_RECORDED),
            others=_others(card),
        )


def told(value: object) -> str:
    """A value as text, or that it was not recorded."""
    return str(value) if value else NOT_RECORDED


def distinct(values: Iterable[object]) -> str:
    """Every different value, or that there was none."""
    return told(", ".join(dict.fromkeys(str(value) for value in values if value)))


def _see_runs(runs: Iterable[Run], seen: _Seen) -> None:
    for run in runs:
        for event in of_kind(whole_events(run.directory), "card"):
            seen.cards.setdefault(str(event.get("uuid") or ""), event)
        latencies = [row.latency for row in run.rows if row.latency is not None]
        for reading in (reading for latency in latencies for reading in (latency.before, latency.after)):
            if reading is not None:
                seen.clocks += [reading.clock_mhz] if reading.clock_mhz is not None else []
                seen.throttle |= dict.fromkeys(reading.throttle)


def _see_rounds(measured: MeasuredRoot, seen: _Seen) -> None:
    for line in measured.lines:
        card = line.get("card")
        if isinstance(card, dict) and (card.get("uuid") or card.get("name")):
            seen.cards.setdefault(str(card.get("uuid") or ""), card)
        seen.clocks += clock_readings(line)
        for reading in (line.get(moment) for moment in SIDES):
            words = reading.get("throttle") if isinstance(reading, dict) else None
            seen.throttle |= dict.fromkeys(map(str, words if isinstance(words, list) else ()))


def _others(card: Card) -> str:
    others = card.get("others")
    if not isinstance(others, list):
        return NOT_RECORDED
    named = [other for other in others if isinstance(other, dict)]
    return ", ".join(f"{other.get('name')} (pid {other.get('pid')})" for other in named) or "nobody"


def _json_lines(path: Path) -> Iterator[Card]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return
    for line in lines:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record
