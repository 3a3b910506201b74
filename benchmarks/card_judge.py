"""What the lines of flaggems_card.py amount to: how rows compare, what pairs cost, how rows were timed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from card_compare import Comparison, RunRows, compare
from card_results import SWITCHES, Line, Results

SIDES = ("before", "after")


@dataclass(frozen=True)
class Cost:
    """Of one operator in seconds: its pair on the card, the plain runs, and why they can not be compared."""

    name: str
    pair: float
    plain: tuple[float, ...]
    unlike: str = ""

    @property
    def ratio(self) -> float:
        return self.pair / sum(self.plain) if self.plain and not self.unlike else math.nan


def comparisons(results: Results, axis: str, side: str) -> dict[str, Comparison]:
    """Of the operators that were done on the card and offline."""
    found = {}
    for card in results.done(axis):
        offline = results.of(f"offline {axis}", card["name"])
        if offline is not None:
            found[card["name"]] = compare(RunRows.of(card[side]), RunRows.of(offline[side]))
    return found


def costs(results: Results, axis: str) -> list[Cost]:
    """Of the operators that have a pair on that axis and plain runs."""
    found = []
    for card in results.done(axis):
        plain = results.of("plain", card["name"])
        if plain is not None:
            seconds = tuple(run["seconds"] for run in plain["runs"])
            found.append(Cost(card["name"], card["verdict"]["seconds"], seconds, _unlike(card, plain)))
    return found


def _unlike(card: Line, plain: Line) -> str:
    """Why a pair and the plain runs did not do the same work, empty if they did."""
    ended = [run["exit"] for run in plain["runs"] if run["exit"] != 0]
    if ended:
        return "plain pytest " + ("ran out of time" if None in ended else f"ended with status {ended[0]}")
    if card["verdict"]["status"] != "complete":
        return f"the pair is {card['verdict']['status']}"
    rows = {len(card[side]["rows"]) for side in SIDES} | {run["rows"] for run in plain["runs"]}
    return f"not the same number of rows: {', '.join(map(str, sorted(rows)))}" if len(rows) > 1 else ""


@dataclass(frozen=True)
class Timed:
    """The rows of a timed pair: `methods` by the method that gave a latency, and what is to be explained."""

    methods: Counter[str]
    without: tuple[str, ...]
    """Rows that have no latency, or are missing, each with why."""
    otherwise: tuple[tuple[str, str], ...]
    """(row, why) of those that were not timed by graph; an empty why is a record that does not say."""
    ratios: tuple[float, ...]
    """before/after of rows whose code is identical: 1 but for noise."""


def timed(line: Line, untimed: Line | None) -> Timed:
    """Of both sides together. A row that the untimed pair of the operator has and the timed one lacks is missing."""
    methods: Counter[str] = Counter()
    without, otherwise = [], []
    medians: dict[str, dict[tuple[Any, ...], float]] = {side: {} for side in SIDES}
    for side in SIDES:
        run = line[side]
        failed = {tuple(row["key"]): row["message"] for row in run["failed"]}
        for row in run["rows"]:
            key, latency = tuple(row["key"]), row["latency"]
            shown = f"{side} {row_text(row['key'])}"
            if latency is None or latency["invalid"]:
                without.append(f"{shown}: {latency['invalid'] if latency else 'it was not timed'}")
                continue
            methods[latency["method"]] += 1
            medians[side][key] = latency["median_ms"]
            if latency["method"] != "graph":
                otherwise.append((f"{shown} by {latency['method']}", latency["why"]))
        there = {tuple(row["key"]) for row in run["rows"]}
        expected = [tuple(row["key"]) for row in untimed[side]["rows"]] if untimed is not None else []
        for key in dict.fromkeys((*expected, *failed)):
            if key not in there:
                without.append(f"{side} {row_text(key)}: missing: {failed.get(key) or run['absence'] or 'no reason'}")
    both = medians["before"].keys() & medians["after"].keys()
    ratios = tuple(medians["before"][key] / medians["after"][key] for key in both)
    return Timed(methods, tuple(without), tuple(otherwise), ratios)


@dataclass(frozen=True)
class Judged:
    """Everything together. `agreeing` is by switch and side, `spent` by switch, `clocked` by operator."""

    results: Results
    agreeing: Mapping[tuple[str, str], Mapping[str, Comparison]]
    spent: Mapping[str, Sequence[Cost]]
    clocked: Mapping[str, Timed]

    @classmethod
    def of(cls, results: Results) -> Judged:
        return cls(
            results,
            {(axis, side): comparisons(results, axis, side) for axis in SWITCHES for side in SIDES},
            {axis: costs(results, axis) for axis in SWITCHES},
            {line["name"]: timed(line, results.of("null", line["name"])) for line in results.done("timing")},
        )

    def done(self, part: str) -> list[Line]:
        return self.results.done(part)


def row_text(key: Sequence[Any]) -> str:
    """A row as people tell it: dtype and size."""
    return f"{key[2]} {flat(str(key[4]))[:80]}" + (f" #{key[3]}" if key[3] else "")


def flat(text: str) -> str:
    return " ".join(text.split())[:400]
