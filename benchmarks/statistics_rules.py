"""Rules that find changes in a suite: the judgement of this tool, and those that people use without one, beside it.

A rule claims something of each row: -1 where it became faster, 1 where it became slower, 0 where nothing is said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu, ttest_ind
from statistics_model import Suite

from zl_bench.analysis.judgement import Assessment, SpeedVerdict, assess, looks_for
from zl_bench.analysis.rounds import Numbers, Rounds

ONE_LOOK = 0.05
SINGLE_RUN = 0.03
SAMPLES = 20
"""Of each row in each process, for the rules that take samples for repetitions."""
SCATTER = 2.0
"""How far samples of one process lie apart, times how far its medians do from those of the next."""
SIGNIFICANT = 0.05

CLAIMS = {SpeedVerdict.FASTER: -1, SpeedVerdict.SLOWER: 1}


@dataclass(frozen=True, eq=False)
class Found:
    """What a rule says of a suite. Naive ones have no intervals, and trust everything."""

    claims: NDArray[np.int64]
    mean: Numbers | None = None
    """With `reach`: of each row the middle and half the width of its 95 % interval, of ln(after / before)."""
    reach: Numbers | None = None
    trusted: bool = True


def judged(suite: Suite) -> dict[str, Found]:
    """One look at the end, as `judge` has it, and what `measure` finds by the looks that it takes at so many rounds."""
    rounds = suite.rounds
    found = {"one look": _found(_assessed(rounds, ONE_LOOK))}
    looks = looks_for(len(rounds.numbers))
    if len(looks) > 1:
        seen = [_found(_assessed(rounds.first_rounds(look.rounds), look.q)) for look in looks]
        found["two looks"] = both_looks(*seen)
    return found


def both_looks(early: Found, last: Found) -> Found:
    """What either look has found is found, unless the last one speaks against it, as `analysis/looks.py` has it."""
    opposite = early.claims * last.claims < 0
    claims = np.where(last.claims != 0, last.claims, np.where(_beyond_no_change(last) == early.claims, early.claims, 0))
    return replace(last, claims=np.where(opposite | (not last.trusted), 0, claims))


def _beyond_no_change(found: Found) -> NDArray[np.int64]:
    """The side of no change on which the whole of each row's interval lies, 0 where it lies on both."""
    if found.mean is None or found.reach is None:
        raise ValueError("a rule without intervals has no looks")
    return np.where(np.abs(found.mean) > found.reach, np.sign(found.mean), 0).astype(int)


def naive(suite: Suite, random: np.random.Generator) -> dict[str, Found]:
    """Rules that have no round: the first pair of runs alone, and tests that count every sample of every process."""
    rounds = suite.rounds
    first = rounds.logs[:, 0]
    sides = [_samples(side, suite.noise, random) for side in (rounds.before, rounds.after)]
    shift = sides[1].mean(axis=1) - sides[0].mean(axis=1)
    changed = ~rounds.placebo
    tests = {
        "pooled Mann-Whitney": mannwhitneyu(*sides, axis=1, method="asymptotic").pvalue,
        "Welch on samples": ttest_ind(*sides, axis=1, equal_var=False).pvalue,
    }
    claims = {f"single run > {SINGLE_RUN:.0%}": np.where(np.abs(first) > math.log1p(SINGLE_RUN), np.sign(first), 0)}
    claims |= {name: np.where(p <= SIGNIFICANT, np.sign(shift), 0) for name, p in tests.items()}
    return {name: Found(np.where(changed, claim, 0).astype(int)) for name, claim in claims.items()}


def _assessed(rounds: Rounds, level: float) -> Assessment:
    return assess(rounds.logs, rounds.placebo, rounds.launch_bound, rounds.tick_variance, level=level)


def _found(assessment: Assessment) -> Found:
    claims = np.array([CLAIMS.get(verdict, 0) for verdict in assessment.verdicts])
    estimates = assessment.estimates
    return Found(claims, estimates.mean, estimates.reach(0.95), not assessment.calibration.moved)


def _samples(medians: Numbers, noise: Numbers, random: np.random.Generator) -> Numbers:
    """Logarithms of the samples behind the medians, rows x (rounds * SAMPLES)."""
    scatter = random.normal(0, 1, (*medians.shape, SAMPLES)) * (SCATTER * noise)[:, None, None]
    return np.asarray((np.log(medians)[:, :, None] + scatter).reshape(len(medians), -1))
