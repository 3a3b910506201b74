"""The report of flaggems_card.py: the bars, a line per operator, every exception, and what produced them."""

from __future__ import annotations

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Sequence

import reporting
from card_bars import HEAD, bars, median
from card_judge import Judged, flat, row_text
from card_operators import OPERATORS
from card_results import SWITCHES, Line, Results

METHODS = ("graph", "queued", "direct")
SHOWN = 3
"""Rows that a note spells out."""


def report(results: Results) -> str:
    """The report in Markdown."""
    judged = Judged.of(results)
    text = ["# FlagGems' benchmarks on a card: pairs, the same offline, their cost, and timing", ""]
    text += [
        "*null* is a null control, *rlc* leaves the pass remove_layout_conversions out on the after side.",
        "",
        *reporting.table(HEAD, bars(judged), words=4),
    ]
    for title, part in (
        ("By operator", _operators(judged)),
        ("Rows on the card and offline", _agreement(judged)),
        ("Cost", _costs(judged)),
        ("Timing", _timing(judged)),
        ("What the verdicts note", _noted(results)),
        ("Produced by", _produced(results)),
    ):
        text += ["", f"## {title}", "", *part]
    return "\n".join(text) + "\n"


def _operators(judged: Judged) -> list[str]:
    results, rows = judged.results, []
    costs = {axis: {one.name: f"{one.ratio:.2f}" for one in each} for axis, each in judged.spent.items()}
    for name in results.names():
        null, rlc = results.of("null", name), results.of("rlc", name)
        each = [found[name] for found in judged.agreeing.values() if name in found]
        clocked = judged.clocked.get(name)
        rows.append(
            [
                name,
                *(_verdict(line) for line in (null, rlc)),
                *(line["verdict"]["numerics"] if line is not None else "-" for line in (null, rlc)),
                " ".join(f"{count} {method}" for method in METHODS if (count := clocked.methods[method]))
                if clocked
                else "-",
                f"{sum(one.agree for one in each)}/{sum(one.rows for one in each)}" if each else "-",
                *(costs[axis].get(name, "-") for axis in SWITCHES),
            ]
        )
    head = ["operator", "null", "rlc", "numerics, null", "numerics, rlc", "timed by", "rows as offline"]
    missing = [name for name in OPERATORS if name not in results.names()]
    note = ["", f"Of the list, not done: {', '.join(missing)}."] if missing else []
    return [*reporting.table([*head, *(f"cost, {axis}" for axis in SWITCHES)], rows, words=6), *note]


def _verdict(line: Line | None) -> str:
    if line is None:
        return "-"
    verdict = line["verdict"]
    return f"{verdict['verdict']} ({verdict['changed_rows']}/{verdict['rows']})"


def _agreement(judged: Judged) -> list[str]:
    rows = []
    for (axis, side), found in judged.agreeing.items():
        total, agree = sum(one.rows for one in found.values()), sum(one.agree for one in found.values())
        share = f"{100 * agree / total:.2f}" if total else "-"
        silent = sum(one.without_kernel for one in found.values())
        rows.append([f"{axis}, {side}", str(len(found)), str(total), str(agree), share, str(silent)])
    whys: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (axis, side), found in judged.agreeing.items():
        for name, one in found.items():
            for row in one.disagreements:
                whys[name, row.why].append(f"{axis} {side} {row_text(row.key)}")
    return [
        "A row agrees when it launches the same kernels in the same order, each with the same TTGIR fingerprint. Offline, the",
        "tuners' choices are those of the card's before run.",
        "",
        *reporting.table(["", "operators", "rows", "agree", "%", "of them without a kernel"], rows),
        "",
        *(f"- {name}, {_some(places)}: {flat(why)}" for (name, why), places in whys.items()),
        *(() if whys else ("Every row agrees." if any(judged.agreeing.values()) else "Nothing was compared.",)),
    ]


def _costs(judged: Judged) -> list[str]:
    found = {axis: {one.name: one for one in each} for axis, each in judged.spent.items()}
    rows = []
    for name in dict.fromkeys(name for by_name in found.values() for name in by_name):
        pairs = [by_name.get(name) for by_name in found.values()]
        plain = next(cost.plain for cost in pairs if cost is not None)
        rows.append(
            [
                name,
                *(f"{cost.pair:.1f}" if cost else "-" for cost in pairs),
                " + ".join(f"{seconds:.1f}" for seconds in plain),
                *(f"{cost.ratio:.2f}" if cost else "-" for cost in pairs),
            ]
        )
    head = ["", *(f"pair, {axis}, s" for axis in SWITCHES), "plain, s", *(f"ratio, {axis}" for axis in SWITCHES)]
    text = [
        "*Pair* is from the start of an operator's before run to its verdict. *Plain* are two runs of `python -m pytest` of",
        "the same test with the same dtype, one after the other, each with fresh caches and the variables that a side has;",
        "what a first import brings from the disk was brought before.",
        "",
        *reporting.table(head, rows),
        "",
    ]
    for axis, each in judged.spent.items():
        kept = [one for one in each if not one.unlike]
        plain_seconds = sum(sum(one.plain) for one in kept)
        total = f"{sum(one.pair for one in kept) / plain_seconds:.2f}" if plain_seconds else "-"
        ratio = median([one.ratio for one in each])
        text.append(f"- {axis}: median ratio {ratio:.2f} over {len(kept)} operators, of the sums {total}.")
        text.append(f"  {_beside(judged.results, axis)}")
        text += [f"- {one.name}, {axis}, has no ratio: {one.unlike}" for one in each if one.unlike]
    return text


def _beside(results: Results, axis: str) -> str:
    """What the sittings took beside the pairs: starting the sides, and what was under way when the time was up."""
    whole = [one for one in results.sittings_of(axis) if one["wall"] is not None]
    pairs: Counter[str] = Counter()
    for line in results.done(axis):
        pairs[line["sitting"]] += line["verdict"]["seconds"]
    beside = ", ".join(f"{one['wall'] - pairs[one['sitting']]:.1f} s" for one in whole)
    return f"Beside the pairs (starting the sides, closing), its sittings on the card took {beside or 'nothing'}."


def _timing(judged: Judged) -> list[str]:
    methods: Counter[str] = sum((one.methods for one in judged.clocked.values()), Counter())
    ratios = [ratio for one in judged.clocked.values() for ratio in one.ratios]
    text = [f"Rows of both sides by method: {', '.join(f'{methods[method]} by {method}' for method in METHODS)}."]
    if ratios:
        off = sorted(abs(math.log(ratio)) * 100 for ratio in ratios)
        text.append(
            f"Both sides are the same code: before/after is off 1 by {statistics.median(off):.2f} % in the median, "
            f"{off[int(0.9 * (len(off) - 1))]:.2f} % in nine of ten rows, {off[-1]:.2f} % at most."
        )
    text.append("")
    for name, one in judged.clocked.items():
        whys: dict[str, list[str]] = defaultdict(list)
        for row, why in one.otherwise:
            whys[why or "the record does not say why"].append(row)
        text += [f"- {name}, {_some(rows)}: {flat(why)}" for why, rows in whys.items()]
        text += [f"- {name}, no latency: {flat(row)}" for row in one.without]
    return text


def _noted(results: Results) -> list[str]:
    """Of pairs that are not complete or whose verdict is none of the two that say whether code changed."""
    text = []
    for part in (*SWITCHES, *(f"offline {axis}" for axis in SWITCHES), "timing"):
        for line in results.done(part):
            verdict = line["verdict"]
            if verdict["status"] != "complete" or verdict["verdict"] not in ("IR_CHANGED", "NO_IR_DIFF"):
                told = f"{verdict['verdict']}, {verdict['status']}: {flat(verdict['reason'])}"
                text.append(f"- {line['name']}, {part}: {told}")
            text += [f"- {line['name']}, {part}, numerics of {flat(row[0])}: {row[1]}" for row in _differing(line)]
    return text or ["Nothing."]


def _differing(line: Line) -> list[tuple[str, str]]:
    """Rows of a null control whose outputs differ: without a pass they may."""
    if line["part"] == "rlc":
        return []
    return [
        (detail, f"absolute {sizes['largest_absolute']}, relative {sizes['largest_relative']} {sizes['note']}".strip())
        for detail, sizes in line["numerics"]["differs"]
    ]


def _produced(results: Results) -> list[str]:
    text = []
    for one in results.sittings.values():
        cards = ", ".join(f"{card['name']} {card['uuid']}" for card in one.get("cards", ())) or "no card"
        versions = ", ".join(f"{name} {version}" for name, version in one["versions"].items())
        took = "ended from outside" if one["wall"] is None else f"{one['wall']} s"
        others = f"; others on the card: {', '.join(one['others'])}" if one.get("others") else ""
        suite = f"; suite's files {one['suite']}" if "suite" in one else ""
        text.append(
            f"- {one['part']}, {one['date']}, {took}: `{one['command']}`; {cards}; {versions}; commit {one['commit']}; "
            f"{one['machine']}, load {one['load']:.1f}{suite}{others}"
        )
    return text


def _some(places: Sequence[str]) -> str:
    shown = "; ".join(places[:SHOWN]) + (" …" if len(places) > SHOWN else "")
    return f"{len(places)} row{'' if len(places) == 1 else 's'} ({shown})"
