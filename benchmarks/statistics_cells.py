"""The cells of statistics_of_rounds.py: which suites are simulated, what is counted of each, and the bars they are held to."""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from statistics_model import Model, Suite, simulate
from statistics_rules import Found, judged, naive

STANDARD = "standard"
VARIANTS = {
    STANDARD: Model(),
    "drift tripled": Model(drift=3.0),
    "no placebos": Model(placebos=0),
    "5 placebos": Model(placebos=5),
    "10 placebos": Model(placebos=10),
    "slot effect 0.7 %": Model(slot=0.007),
    "tick 0.5 us": Model(tick_ms=0.0005),
    "correlated rows": Model(shared=0.004),
}
ROUNDS = (3, 4, 6)
EFFECTS = (0.0, 0.01, 0.02, 0.05)
BATCH = 100
"""Suites of one line of results."""

MOST_FALSE_SUITES, FALSE_SUITES_FROM = 0.06, 4
COVERAGE = (0.93, 0.985)
MOST_FALSE_DISCOVERIES = 0.05
MOST_UNTRUSTED = 0.02
POWER = {
    3: {0.01: 0.00, 0.02: 0.60, 0.05: 0.94},
    4: {0.01: 0.06, 0.02: 0.82, 0.05: 0.97},
    6: {0.01: 0.34, 0.02: 0.88, 0.05: 0.99},
}
POWER_SLACK = 0.03
STANDARD_ERRORS = 2.0


@dataclass(frozen=True)
class Cell:
    """Suites of one kind."""

    variant: str
    rounds: int
    effect: float

    @property
    def name(self) -> str:
        return f"{self.variant}, {self.rounds} rounds, {self.effect:.0%}"

    @property
    def model(self) -> Model:
        return replace(VARIANTS[self.variant], rounds=self.rounds, effect=self.effect)


CELLS = tuple(Cell(variant, rounds, effect) for variant in VARIANTS for rounds in ROUNDS for effect in EFFECTS)


def run_batch(cell: Cell, batch: int, suites: int = BATCH) -> dict[str, dict[str, float]]:
    """What each rule's verdicts on so many suites add up to; the same batch is the same suites wherever it is run."""
    random = np.random.default_rng([zlib.crc32(cell.name.encode()), batch])
    totals: dict[str, Counter[str]] = {}
    for _ in range(suites):
        suite = simulate(cell.model, random)
        found = judged(suite) | (naive(suite, random) if cell.variant == STANDARD else {})
        for rule, one in found.items():
            totals.setdefault(rule, Counter()).update(counted(suite, one))
    return {rule: dict(total) for rule, total in totals.items()}


def counted(suite: Suite, found: Found) -> dict[str, float]:
    """What one suite adds to its cell: all of changed rows alone."""
    changed = ~suite.rounds.placebo
    truth, claims = np.sign(suite.truth[changed]), found.claims[changed]
    false = int(((claims != 0) & (claims != truth)).sum())
    made = int((claims != 0).sum())
    counts = {
        "suites": 1,
        "false_suites": int(false > 0),
        "false": false,
        "claims": made,
        "false_share": false / made if made else 0.0,
        "moved": int((truth != 0).sum()),
        "found": int(((truth != 0) & (claims == truth)).sum()),
        "untrusted": int(not found.trusted),
    }
    if found.mean is None or found.reach is None:
        return counts
    inside = np.abs(found.mean - suite.truth)[changed] <= found.reach[changed]
    return {**counts, "intervals": int(changed.sum()), "inside": int(inside.sum())}


@dataclass(frozen=True)
class Share:
    """A share that was counted, with its binomial standard error."""

    value: float
    of: float

    @property
    def error(self) -> float:
        """With half a count more on either side, so that a share of nothing is not certain."""
        if not self.of:
            return math.nan
        steadied = (self.value * self.of + 0.5) / (self.of + 1)
        return math.sqrt(steadied * (1 - steadied) / self.of)

    def holds(self, least: float = 0.0, most: float = 1.0) -> bool:
        """Whether it lies between these, or within two standard errors of them."""
        slack = STANDARD_ERRORS * self.error
        return least - slack <= self.value <= most + slack


@dataclass(frozen=True)
class Score:
    """How one rule did on the suites of one cell, and on how many."""

    cell: Cell
    rule: str
    suites: int
    false_suites: Share
    """With some false claim, of all suites."""
    false_discoveries: Share
    """The mean over suites of the share of claims that are false, 0 in a suite without any."""
    power: Share
    """Moved rows that were found, of those that moved."""
    coverage: Share
    """Intervals that hold the truth."""
    untrusted: Share

    def missed(self) -> list[str]:
        """The bars that do not hold."""
        cell, missed = self.cell, []
        null = not cell.effect
        if null and cell.rounds >= FALSE_SUITES_FROM and not self.false_suites.holds(most=MOST_FALSE_SUITES):
            missed.append("any false verdict")
        if not self.coverage.holds(*COVERAGE):
            missed.append("coverage")
        if not null and not self.false_discoveries.holds(most=MOST_FALSE_DISCOVERIES):
            missed.append("false discoveries")
        if not null and not self.power.holds(least=POWER[cell.rounds][cell.effect] - POWER_SLACK):
            missed.append("power")
        if not self.untrusted.holds(most=MOST_UNTRUSTED):
            missed.append("UNTRUSTED")
        return missed


def scores(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[Cell, str], Score]:
    """The scores of every cell and rule, from the lines of all batches."""
    totals: dict[tuple[Cell, str], Counter[str]] = {}
    for line in lines:
        cell = Cell(line["variant"], line["rounds"], line["effect"])
        for rule, counts in line["rules"].items():
            totals.setdefault((cell, rule), Counter()).update(counts)
    return {(cell, rule): _score(cell, rule, total) for (cell, rule), total in totals.items()}


def _score(cell: Cell, rule: str, total: Mapping[str, float]) -> Score:
    def share(part: str, whole: str) -> Share:
        of = total.get(whole, 0)
        return Share(total[part] / of if of else math.nan, of)

    return Score(
        cell,
        rule,
        int(total["suites"]),
        false_suites=share("false_suites", "suites"),
        false_discoveries=share("false_share", "suites"),
        power=share("found", "moved"),
        coverage=share("inside", "intervals"),
        untrusted=share("untrusted", "suites"),
    )
