"""The events of a run, and fields of one event line, read without trust in their presence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from zl_bench.inside.zl_probe.wire import EVENTS_FILE, read_events

Event: TypeAlias = Mapping[str, Any]


def of_kind(events: Sequence[Event], kind: str) -> Iterator[Event]:
    """The events of one kind, in order."""
    return (event for event in events if event.get("event") == kind)


def whole_events(directory: Path) -> list[Event]:
    """The events of the run in `directory`; none where its record is damaged or gone, which is for its reader to say."""
    try:
        return [event for event in read_events(str(directory / EVENTS_FILE)) if isinstance(event, dict)]
    except (OSError, ValueError):
        return []


def text(event: Event, name: str) -> str:
    """A field as text, empty if absent; what is not text already (a signature, a key) becomes canonical JSON."""
    value = event.get(name)
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def number(event: Event, name: str) -> int:
    """A field as a whole number, 0 if absent."""
    value = event.get(name)
    return int(value) if value is not None else 0
