"""What the lines of timing_spread.py amount to: every case by every method, how far its processes lie apart, and the bars."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CASES = {
    "one": "one 4096-element kernel",
    "five": "five such kernels",
    "softmax": "softmax 4096x4096",
    "copy": "copy of 1 GB",
    "mm": "mm 4096 fp16",
}
METHODS = ("graph warm", "graph cold", "queued cold", "queued warm", "direct")
PROCESSES = 15
WARM_BAR, QUEUED_BAR = 0.6, 3.0
COLD_BARS = ((20.0, 0.6), (5.0, 3.0))
"""Percent, from so many microseconds up; below the last, a cold latency is said to be unresolved."""


@dataclass(frozen=True)
class Cell:
    """One case by one method. `by_card`: the medians of its processes in milliseconds, by card.

    `otherwise`: processes in which it was not timed by that method or gave no latency, each with why.
    """

    case: str
    method: str
    by_card: Mapping[str, Sequence[float]]
    samples: Sequence[int] = ()
    clocks: Sequence[int] = ()
    launch_bound: int = 0
    otherwise: Sequence[str] = ()

    @property
    def medians(self) -> list[float]:
        return [median for medians in self.by_card.values() for median in medians]

    @property
    def microseconds(self) -> float:
        return statistics.median(self.medians) * 1e3 if self.medians else math.nan

    @property
    def spread(self) -> float:
        """Percent, between processes on the same card."""
        return spread(self.by_card.values())

    @property
    def spread_over_all(self) -> float:
        """Percent, with what cards differ among each other."""
        return spread([self.medians])

    @property
    def verdict(self) -> str:
        """pass or fail against the bar; unresolved or contrast where there is none."""
        if self.method == "direct":
            return "contrast"
        if self.otherwise:
            return "fail"
        if math.isnan(self.spread):
            return "too few"
        limit = bar(self.method, self.microseconds)
        if limit is None:
            return "unresolved"
        word = "pass" if self.spread <= limit else "fail"
        return word if len(self.medians) >= PROCESSES else f"{word} so far"


def bar(method: str, microseconds: float) -> float | None:
    """The most that a method's spread may be, in percent, for a latency of so much; None where nothing is promised."""
    if method == "graph warm":
        return WARM_BAR
    if method == "graph cold":
        return next((limit for least, limit in COLD_BARS if microseconds >= least), None)
    return QUEUED_BAR if method.startswith("queued") else None


def spread(groups: Iterable[Sequence[float]]) -> float:
    """The standard deviation of the logarithms about their own group's mean, in percent; NaN without two in any group."""
    logarithms = [[math.log(value) for value in group] for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in logarithms)
    if not freedom:
        return math.nan
    squares = sum(statistics.variance(group) * (len(group) - 1) for group in logarithms)
    return 100 * math.sqrt(squares / freedom)


def is_whole(line: Mapping[str, Any]) -> bool:
    """Whether the process got through all cases and methods."""
    return not line["abandoned"] and all(set(METHODS) <= line["results"].get(case, {}).keys() for case in CASES)


def cells(lines: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Every case by every method, from the lines of all processes."""
    told: dict[tuple[str, str], list[tuple[str, Mapping[str, Any]]]] = defaultdict(list)
    lost: dict[tuple[str, str], list[str]] = defaultdict(list)
    for line in lines:
        card = (line.get("card") or {}).get("uuid", "")
        for case, methods in line["results"].items():
            for method, latency in methods.items():
                told[case, method].append((card, latency))
        for event in line["abandoned"]:
            lost[event["operator"], event["detail"]].append(f"{event['why']}: {event['message']}")
    return [_cell(case, method, told[case, method], lost[case, method]) for case in CASES for method in METHODS]


def _cell(case: str, method: str, told: Iterable[tuple[str, Mapping[str, Any]]], lost: Sequence[str]) -> Cell:
    by_card: dict[str, list[float]] = defaultdict(list)
    otherwise, kept = list(lost), []
    for card, latency in told:
        why = latency["invalid"]
        if not why and latency["method"] != method.split(maxsplit=1)[0]:
            why = f"timed by {latency['method']}: " + "; ".join(one["why"] for one in latency["fell_back"])
        if why:
            otherwise.append(why)
        else:
            by_card[card].append(float(latency["median_ms"]))
            kept.append(latency)
    readings = [reading for one in kept for reading in (one["before"], one["after"]) if reading]
    return Cell(
        case,
        method,
        by_card,
        samples=[one["samples"] for one in kept],
        clocks=[reading["clock_mhz"] for reading in readings if reading["clock_mhz"] is not None],
        launch_bound=sum(bool(one["launch_bound"]) for one in kept),
        otherwise=otherwise,
    )
