"""Reading what a row's timing and sampling left in the record: `latency` and `outputs` events.

A field that can not be understood costs the latency or the outputs of its row, never the row: what it launched is as true
without them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from zl_bench.inside.zl_probe.timing.summary import why_invalid
from zl_bench.inside.zl_probe.wire import INPUT_FILE
from zl_bench.model import CardReading, L2Policy, Latency, OutputSample, RowKey, TimingMethod
from zl_bench.store.events import Event, number, of_kind, text

METHODS: tuple[TimingMethod, ...] = get_args(TimingMethod)
POLICIES: tuple[L2Policy, ...] = get_args(L2Policy)
Role = Literal["operator", "baseline"]


@dataclass(frozen=True)
class AskedTiming:
    """How a run was told to time its rows."""

    method: TimingMethod
    l2: L2Policy


def row_key(event: Event) -> RowKey:
    """The key of the row that an event is about. Raises ValueError or TypeError for one that is none."""
    return RowKey(
        node=text(event, "node"),
        operator=text(event, "operator"),
        dtype=text(event, "dtype"),
        ordinal=number(event, "ordinal"),
        detail=text(event, "detail"),
    )


def asked_timing(directory: Path) -> AskedTiming | None:
    """What the run in `directory` was told of timing, None if it was to time nothing or that can not be read."""
    try:
        record = json.loads((directory / INPUT_FILE).read_text(encoding="utf-8"))
        timing = record.get("timing")
        if not timing:
            return None
        method, l2 = timing["method"], timing["l2"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return AskedTiming(method, l2) if method in METHODS and l2 in POLICIES else None


def latencies(events: Sequence[Event], asked: AskedTiming | None) -> dict[tuple[RowKey, Role], Latency]:
    """The latencies that are told, by row and role; the last one told counts. `asked` stands in where the method is damaged."""
    found: dict[tuple[RowKey, Role], Latency] = {}
    for event in of_kind(events, "latency"):
        key, role = _key_or_none(event), text(event, "role") or "operator"
        if key is not None and role in get_args(Role):
            found[key, cast("Role", role)] = _latency(event, asked)
    return found


def never_told(asked: AskedTiming, key: RowKey, events: Sequence[Event]) -> Latency:
    """The latency of a row that was to be timed and has none."""
    lost = [event for event in of_kind(events, "abandoned") if _key_or_none(event) == key]
    why = f": timing by {text(lost[-1], 'method')} was given up ({text(lost[-1], 'why')})" if lost else ""
    return _invalid(asked.method, asked.l2, f"no latency was recorded{why}")


def outputs(directory: Path, events: Sequence[Event]) -> dict[RowKey, tuple[OutputSample, ...]]:
    """The sampled outputs, by row, of those that have any; the last ones told count."""
    found: dict[RowKey, tuple[OutputSample, ...]] = {}
    for event in of_kind(events, "outputs"):
        key = _key_or_none(event)
        if key is None:
            continue
        try:
            samples = tuple(_sample(directory, tensor) for tensor in event.get("tensors") or ())
        except (KeyError, TypeError, ValueError, AttributeError):
            samples = ()
        found.pop(key, None)
        if samples:
            found[key] = samples
    return found


def _key_or_none(event: Event) -> RowKey | None:
    try:
        return row_key(event)
    except (TypeError, ValueError, OverflowError):
        return None


def _latency(event: Event, asked: AskedTiming | None) -> Latency:
    told, l2 = text(event, "method"), text(event, "l2")
    known = told in METHODS and l2 in POLICIES
    # Without any word on how it was timed, it is not taken for a replayed graph.
    method, policy = (told, l2) if known else (asked.method, asked.l2) if asked else ("direct", "cold")
    regime = cast("TimingMethod", method), cast("L2Policy", policy)
    if not known:
        return _invalid(*regime, f"timed by an unknown method ({told or 'none'}, L2 {l2 or 'none'})")
    try:
        median, q1, q3, smallest = (_milliseconds(event, name) for name in ("median_ms", "q1_ms", "q3_ms", "min_ms"))
        invalid = text(event, "invalid") or why_invalid(median)
        measured = (median, q1, q3, smallest) if not invalid else (math.nan,) * 4
        return Latency(
            *regime,
            *measured,
            samples=number(event, "samples"),
            launch_bound=event.get("launch_bound") is True,
            invalid=invalid,
            fell_back=tuple(_fell_back(event.get("fell_back") or ())),
            before=card_reading(event.get("before")),
            after=card_reading(event.get("after")),
        )
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        return _invalid(*regime, f"its record can not be understood ({type(error).__name__}: {error})")


def _invalid(method: TimingMethod, l2: L2Policy, why: str) -> Latency:
    return Latency(method, l2, math.nan, math.nan, math.nan, math.nan, samples=0, invalid=why)


def _milliseconds(event: Event, name: str) -> float:
    value = event.get(name)
    if isinstance(value, bool):
        raise TypeError(f"{name} is {value}")
    return math.nan if value is None else float(value)


def _fell_back(told: Sequence[Event]) -> list[tuple[TimingMethod, str]]:
    found = ((text(entry, "method"), text(entry, "why")) for entry in told)
    return [(known, why) for told_method, why in found for known in METHODS if known == told_method]


def card_reading(told: Any) -> CardReading | None:
    """What the card told, None where it told nothing."""
    if not isinstance(told, Mapping):
        return None
    clock, memory_clock, temperature = (
        _whole(told, name) for name in ("clock_mhz", "memory_clock_mhz", "temperature_c")
    )
    power, throttle = told.get("power_w"), told.get("throttle")
    return CardReading(
        clock,
        memory_clock,
        temperature,
        None if power is None else float(power),
        tuple(str(word) for word in throttle) if isinstance(throttle, list) else (),
    )


def _whole(event: Event, name: str) -> int | None:
    value = event.get(name)
    return None if value is None else int(value)


def _sample(directory: Path, tensor: Event) -> OutputSample:
    strides = tensor.get("strides")
    return OutputSample(
        dtype=str(tensor["dtype"]),
        shape=tuple(int(size) for size in tensor["shape"]),
        sha256=str(tensor["sha256"]),
        path=directory / str(tensor["file"]),
        elements=int(tensor["elements"]),
        of=int(tensor["of"]),
        strides=None if strides is None else tuple(int(stride) for stride in strides),
    )
