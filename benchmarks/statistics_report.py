"""The report of statistics_of_rounds.py in Markdown: every cell against its bars, and the naive rules beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import reporting
from statistics_cells import (
    BATCH,
    COVERAGE,
    EFFECTS,
    FALSE_SUITES_FROM,
    MOST_FALSE_DISCOVERIES,
    MOST_FALSE_SUITES,
    MOST_UNTRUSTED,
    POWER,
    POWER_SLACK,
    ROUNDS,
    STANDARD,
    VARIANTS,
    Cell,
    Score,
    Share,
    scores,
)
from statistics_rules import SAMPLES, SCATTER

JUDGED = ("one look", "two looks")
MOVED = EFFECTS[1:]

Scores = Mapping[tuple[Cell, str], Score]


def report(lines: Sequence[Mapping[str, Any]]) -> str:
    """The report on these lines, all of one version of the sources."""
    found = scores(lines)
    judged = [score for (_, rule), score in found.items() if rule in JUDGED]
    missed = [f"- {score.cell.name}, {score.rule}: {', '.join(score.missed())}" for score in judged if score.missed()]
    fewest, most = min(score.suites for score in judged), max(score.suites for score in judged)
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    head = [
        "# Whether verdicts over rounds keep their promises",
        "",
        f"{len({score.cell for score in judged})} kinds of simulated suites, {number} suites of each, judged by the tool's own",
        "statistics. A suite has 60 changed rows, of which a quarter really moved by the effect, and 40 placebos unless said",
        "otherwise. Numbers are percent with their binomial standard errors; rows of a suite share its drift, so that those of",
        "coverage and power are a little too small, which makes the bars harder and not easier.",
        "",
        f"**Cells that hold every bar within two standard errors: {len(judged) - len(missed)} of {len(judged)}.**",
        *(["", "Missed:", "", *missed] if missed else []),
        "",
        f"Bars: some false verdict in at most {MOST_FALSE_SUITES:.0%} of the suites in which nothing moved, from",
        f"{FALSE_SUITES_FROM} rounds on; 95 % intervals that hold the truth in {COVERAGE[0]:.1%} to {COVERAGE[1]:.1%}; at most",
        f"{MOST_FALSE_DISCOVERIES:.0%} false discoveries; at most {MOST_UNTRUSTED:.0%} of the suites called UNTRUSTED, none of",
        f"which is broken; power not more than {POWER_SLACK:.2f} below that of the plain implementation, which is",
        *(f"{' / '.join(f'{power:.2f}' for power in POWER[rounds].values())} at {rounds} rounds;" for rounds in ROUNDS),
        "INCONCLUSIVE and UNTRUSTED count as misses. A bar that is missed is marked `!`. *Two looks* is what `measure` does",
        "with six rounds: after 3 at a rate of 0.01 and after 6 at 0.04; what is found in either is counted.",
    ]
    tables = [
        *_false_claims(found),
        *_of_effects(found, "Intervals", "coverage", EFFECTS),
        *_of_effects(found, "Power", "power", MOVED),
        *_naive(found),
    ]
    return "\n".join([*head, *tables, *_produced(lines)]) + "\n"


def _false_claims(found: Scores) -> list[str]:
    head = ["variant", "rounds", "suites with a false verdict, nothing moved"]
    head += [f"false discoveries at {effect:.0%}" for effect in MOVED]
    head += [f"UNTRUSTED at {effect:.0%}" for effect in EFFECTS]
    rows = []
    for variant, rounds, rule in _kinds(found):
        null, *moved = cells = [found.get((Cell(variant, rounds, effect), rule)) for effect in EFFECTS]
        shares = [_cell(null, "false_suites", "any false verdict")]
        shares += [_cell(score, "false_discoveries", "false discoveries") for score in moved]
        shares += [_cell(score, "untrusted", "UNTRUSTED") for score in cells]
        rows.append([variant, _rounds(rounds, rule), *shares])
    return ["", "## False verdicts", "", *reporting.table(head, rows, words=2)]


def _of_effects(found: Scores, title: str, name: str, effects: Sequence[float]) -> list[str]:
    """A table of one thing that is scored, by the size of the effect."""
    rows = []
    for variant, rounds, rule in _kinds(found):
        cells = [found.get((Cell(variant, rounds, effect), rule)) for effect in effects]
        rows.append([variant, _rounds(rounds, rule), *(_cell(score, name) for score in cells)])
    head = ["variant", "rounds", *(f"{name} at {effect:.0%}" for effect in effects)]
    return ["", f"## {title}", "", *reporting.table(head, rows, words=2)]


def _naive(found: Scores) -> list[str]:
    rules = list(dict.fromkeys(rule for _, rule in found if rule not in JUDGED))
    head = ["rule", "rounds", "suites with a false verdict, nothing moved"]
    head += [f"false discoveries at {effect:.0%}" for effect in MOVED] + [f"power at {effect:.0%}" for effect in MOVED]
    rows = []
    for rule in [*rules, *JUDGED]:
        for rounds in ROUNDS:
            null, *moved = [found.get((Cell(STANDARD, rounds, effect), rule)) for effect in EFFECTS]
            if null is not None:
                shares = [_cell(null, "false_suites", "")]
                shares += [_cell(score, "false_discoveries", "") for score in moved]
                shares += [_cell(score, "power", "") for score in moved]
                rows.append([rule, str(rounds), *shares])
    return [
        "",
        "## The rules that people use without one",
        "",
        "On the same suites: the first pair of runs alone; and tests at 5 % a row that take the samples of all processes for",
        f"repetitions, {SAMPLES} of each, which scatter {SCATTER:.0f} times as far as medians of fresh processes do.",
        "",
        *reporting.table(head, rows, words=2),
    ]


def _kinds(found: Scores) -> Iterable[tuple[str, int, str]]:
    """Variants, rounds and rules in the order of the tables."""
    return [
        (variant, rounds, rule)
        for variant in VARIANTS
        for rounds in ROUNDS
        for rule in JUDGED
        if any((cell.variant, cell.rounds, one) == (variant, rounds, rule) for cell, one in found)
    ]


def _rounds(rounds: int, rule: str) -> str:
    return str(rounds) if rule == "one look" else f"{rounds}, {rule}"


def _cell(score: Score | None, name: str, bar: str | None = None) -> str:
    if score is None:
        return "-"
    share: Share = getattr(score, name)
    mark = " !" if (name if bar is None else bar) in score.missed() else ""
    return f"{share.value * 100:.1f} ± {share.error * 100:.1f}{mark}"


def _produced(lines: Sequence[Mapping[str, Any]]) -> list[str]:
    seconds = sum(line["seconds"] for line in lines)
    dates = sorted(line["date"] for line in lines)
    last = lines[-1]
    commits = ", ".join(dict.fromkeys(line["commit"] for line in lines))
    versions = ", ".join(f"{name} {version}" for name, version in last["versions"].items())
    return [
        "",
        "## Produced by",
        "",
        "- command: python benchmarks/statistics_of_rounds.py run, in one or more sittings, and report",
        f"- {dates[0]} to {dates[-1]}, {seconds / 60:.1f} minutes of processor: {seconds / len(lines) / BATCH * 1e3:.1f} ms",
        "  a suite for simulating, judging (of six rounds three times, for both ways of looking) and the naive rules",
        f"- commit: {commits}; sources of the judgement and the simulation: {last['sources']}",
        f"- {versions}; {', '.join(dict.fromkeys(line['machine'] for line in lines))}",
    ]
