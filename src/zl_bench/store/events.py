"""Fields of one event line, read without trust in their presence."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Event: TypeAlias = Mapping[str, Any]


def of_kind(events: Sequence[Event], kind: str) -> Iterator[Event]:
    """The events of one kind, in order."""
    return (event for event in events if event.get("event") == kind)


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
