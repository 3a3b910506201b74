"""What identical code shows in rounds: how far its latencies lie apart, and what would falsely be said of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from rounds_results import Measured
from scipy.stats import binom

from zl_bench.analysis.judgement import DELTA
from zl_bench.analysis.looks import FOUND, judge_looks
from zl_bench.analysis.rounds import Marks, Numbers, Rounds

BANDS = (("below 5 us", 0.0, 0.005), ("5 to 20 us", 0.005, 0.02), ("20 to 200 us", 0.02, 0.2), ("above", 0.2, math.inf))
"""By the latency of a row in milliseconds."""
SPLITS = 100
"""Halvings of the rows, each judged both ways."""
PROMISED = 0.05
"""The rate of false verdicts that the tool promises of a suite in which nothing moved."""


@dataclass(frozen=True)
class Spread:
    """The rows of a band. Everything is of ln(before / after), `rows` is how many there are."""

    band: str
    rows: int
    median: float
    """Of the rows' standard deviations over their rounds."""
    nine_of_ten: float
    most: float
    between: float
    """The standard deviation of the rows' means."""
    expected: float
    """What that would be if a row's rounds were its only noise."""


@dataclass(frozen=True)
class FalseVerdicts:
    """Of so many judged suites of identical code, how many had a row FASTER or SLOWER, and how many were UNTRUSTED."""

    suites: int
    some: int
    untrusted: int
    rows: int
    """How many rows were judged in all of them."""
    false_rows: int

    @property
    def share(self) -> float:
        return self.some / self.suites if self.suites else math.nan


def latencies(rounds: Rounds) -> Numbers:
    """Of each row in milliseconds, by its before side."""
    return np.asarray(np.exp(_means(np.log(rounds.before))))


def deviations(rounds: Rounds) -> Numbers:
    """Of each row the standard deviation of its log ratios; NaN with fewer than two rounds."""
    several = (~np.isnan(rounds.logs)).sum(axis=1) > 1
    found = np.full(len(rounds.keys), np.nan)
    found[several] = np.nanstd(rounds.logs[several], axis=1, ddof=1)
    return found


def spreads(rounds: Rounds) -> list[Spread]:
    """Of the bands that have rows; what is bound by the host is in none."""
    each, means, by_row = latencies(rounds), _means(rounds.logs), deviations(rounds)
    counts = (~np.isnan(rounds.logs)).sum(axis=1)
    found = []
    for band, low, high in BANDS:
        rows = (each >= low) & (each < high) & ~rounds.launch_bound & ~np.isnan(by_row)
        if rows.any():
            own = by_row[rows]
            found.append(
                Spread(
                    band=band,
                    rows=int(rows.sum()),
                    median=float(np.median(own)),
                    nine_of_ten=float(np.quantile(own, 0.9)),
                    most=float(own.max()),
                    between=float(means[rows].std(ddof=1)) if rows.sum() > 1 else math.nan,
                    expected=float(np.sqrt((own**2 / counts[rows]).mean())),
                )
            )
    return found


def of_halves(rounds: Rounds, planned: int, seed: int, splits: int = SPLITS) -> FalseVerdicts:
    """Judge each half of the rows as if their code had changed, the other half being placebos, for several halvings."""
    return _counted(rounds, planned, _halves(len(rounds.keys), seed, splits))


def of_operators(each: Sequence[Measured]) -> FalseVerdicts:
    """Judge each operator by itself, all of its rows as if their code had changed."""
    one_by_one = [_counted(one.rounds, one.planned, [np.zeros(len(one.rounds.keys), dtype=bool)]) for one in each]
    return FalseVerdicts(
        len(one_by_one),
        sum(one.some for one in one_by_one),
        0,
        sum(one.rows for one in one_by_one),
        sum(one.false_rows for one in one_by_one),
    )


def most_by_chance(suites: int) -> int:
    """How many of so many suites may have a false verdict before the promised rate is not believed (95 %)."""
    return int(binom.ppf(0.95, suites, PROMISED))


def _halves(rows: int, seed: int, splits: int) -> Iterator[Marks]:
    for split in range(splits):
        order = np.random.default_rng([seed, split]).permutation(rows)
        half = np.zeros(rows, dtype=bool)
        half[order[: rows // 2]] = True
        yield half
        yield ~half


def _counted(rounds: Rounds, planned: int, placebos: Iterator[Marks] | Sequence[Marks]) -> FalseVerdicts:
    suites = some = untrusted = rows = false_rows = 0
    for placebo in placebos:
        judgement = judge_looks(replace(rounds, placebo=placebo), planned, DELTA).judgement
        found = sum(row.verdict in FOUND for row in judgement.rows)
        suites, some, untrusted = suites + 1, some + (found > 0), untrusted + (not judgement.trusted)
        rows, false_rows = rows + int((~placebo).sum()), false_rows + found
    return FalseVerdicts(suites, some, untrusted, rows, false_rows)


def _means(logs: Numbers) -> Numbers:
    there = ~np.isnan(logs)
    counts = there.sum(axis=1)
    sums = np.where(there, logs, 0.0).sum(axis=1)
    return np.asarray(np.divide(sums, counts, out=np.full(len(logs), np.nan), where=counts > 0))
