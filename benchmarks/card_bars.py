"""The bars that a card's results are held against, and what was found."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from card_judge import Judged
from card_results import SWITCHES, Line

OPERATORS_BAR = 20
AGREEMENT_BAR = 99.0
"""Percent of the rows."""
COST_BAR = 0.5
HEAD = ("what", "found", "bar", "held")


def bars(judged: Judged) -> list[list[str]]:
    """A line per bar: what it is about, what was found, the bar, and whether it is held."""
    return [
        *(_number_of_operators(axis, judged.done(axis)) for axis in SWITCHES),
        *_null_control(judged.done("null")),
        _agreement(judged),
        *(_cost(axis, [one.ratio for one in judged.spent[axis]]) for axis in SWITCHES),
        *_timing(judged),
    ]


def median(values: Sequence[float]) -> float:
    """Of those that are numbers; NaN of none."""
    known = [value for value in values if not math.isnan(value)]
    return statistics.median(known) if known else math.nan


def _number_of_operators(axis: str, done: Sequence[Line]) -> list[str]:
    rows = [line["verdict"]["rows"] for line in done if line["verdict"]["rows"]]
    held = len(rows) >= OPERATORS_BAR
    found = f"{len(rows)} with rows ({sum(rows)})"
    return _bar(f"operators as a pair, {axis}", found, f">= {OPERATORS_BAR}", held, done)


def _null_control(done: Sequence[Line]) -> list[list[str]]:
    changed = [line["name"] for line in done if line["verdict"]["verdict"] in ("IR_CHANGED", "BROKEN")]
    differ = [line["name"] for line in done if line["numerics"]["differs"]]
    compared = sum(line["numerics"]["same"] + len(line["numerics"]["differs"]) for line in done)
    free = sum(line["numerics"].get("unordered", 0) for line in done)
    unordered = f", {free} beside, of the same code, add floats in any order" if free else ""
    numerics = f"{_names(differ)} ({compared} rows compared{unordered})"
    return [
        _bar("null control: IR_CHANGED or BROKEN", _names(changed), "none", not changed, done),
        _bar("null control: numerics differ", numerics, "none", not differ, compared),
    ]


def _agreement(judged: Judged) -> list[str]:
    everything = [one for found in judged.agreeing.values() for one in found.values()]
    agree, total = sum(one.agree for one in everything), sum(one.rows for one in everything)
    share = 100 * agree / total if total else math.nan
    found = f"{share:.2f} % ({agree} of {total}, both sides of both switches)"
    return _bar("rows that launch the same offline", found, f">= {AGREEMENT_BAR:.0f} %", share >= AGREEMENT_BAR, total)


def _cost(axis: str, ratios: Sequence[float]) -> list[str]:
    ratio = median(ratios)
    what = f"cost of a pair / two plain runs, median, {axis}"
    return _bar(what, f"{ratio:.2f}", f"<= {COST_BAR}", ratio <= COST_BAR, not math.isnan(ratio))


def _timing(judged: Judged) -> list[list[str]]:
    clocked = judged.clocked.values()
    count = sum(one.methods.total() for one in clocked)
    without = sum(len(one.without) for one in clocked)
    whys = [why for one in clocked for _, why in one.otherwise]
    silent = f"{sum(not why for why in whys)} (of {len(whys)} not by graph)"
    return [
        _bar("rows without a latency, with --timing", f"{without} (beside {count})", "0", not without, count),
        _bar("rows not by graph that do not say why", silent, "0", all(whys), count),
    ]


def _bar(what: str, found: str, bar: str, held: bool, measured: object) -> list[str]:
    return [what, found, bar, "not measured" if not measured else "pass" if held else "FAIL"]


def _names(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"
