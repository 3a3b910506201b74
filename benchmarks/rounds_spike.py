"""Planted changes: recorded rounds of identical code, of which half of the rows are made slower, and how many are found.

What the rows' own spread promises is computed without the tool's statistics: rounds are taken as normal, with the standard
deviation that the row showed, and a row is found where the mean of a look's rounds passes both the threshold and the quantile
of the look's level. Threshold and widening are read off the judged suite, since the tool names them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from rounds_spread import deviations, latencies
from scipy.special import ndtri

from zl_bench.analysis.judgement import DELTA, Look, SpeedVerdict
from zl_bench.analysis.looks import judge_looks
from zl_bench.analysis.rounds import Marks, Numbers, Rounds

EFFECTS = (0.01, 0.02, 0.05)
FROM_MS = 0.02
SEEDS = 20
DRAWS = 4000
SLACK = 0.05
"""What found and promised shares may differ by, beside two standard deviations of a share of so many different rows."""
CONFIDENT = 1.96
"""The quantile of the interval that must not speak against what an early look found."""


@dataclass(frozen=True)
class Spiked:
    """One effect over several choices of half."""

    effect: float
    rows: int
    """Different rows that a change could be planted in."""
    planted: int
    """Changes planted, over all seeds."""
    slower: int
    faster: int
    promised: float
    """How many of the planted ones the spread promises to be found."""
    untrusted: int
    """Judged suites that were UNTRUSTED, in which nothing is found."""

    @property
    def found_share(self) -> float:
        return self.slower / self.planted if self.planted else math.nan

    @property
    def promised_share(self) -> float:
        return self.promised / self.planted if self.planted else math.nan

    @property
    def tolerance(self) -> float:
        share = self.promised_share
        return SLACK + 2 * math.sqrt(share * (1 - share) / self.rows) if self.planted else math.nan

    @property
    def as_promised(self) -> bool:
        return abs(self.found_share - self.promised_share) <= self.tolerance


def spikes(rounds: Rounds, planned: int, seeds: int = SEEDS, effects: Sequence[float] = EFFECTS) -> list[Spiked]:
    """Plant each effect in half of the rows that can bear it, for several choices of the half."""
    able = bearing(rounds)
    return [_spiked(rounds, able, planned, effect, seeds) for effect in effects]


def bearing(rounds: Rounds) -> Marks:
    """The rows in which a change is planted: of 20 us and up, timed by the device, in every round."""
    return np.asarray((latencies(rounds) >= FROM_MS) & ~rounds.launch_bound & ~np.isnan(rounds.logs).any(axis=1))


def plant(rounds: Rounds, chosen: Marks, effect: float) -> Rounds:
    """These rows slower by `effect` on the after side; all others are placebos."""
    return replace(rounds, after=np.where(chosen[:, None], rounds.after * (1 + effect), rounds.after), placebo=~chosen)


def promised(
    deviation: Numbers, effect: float, looks: Sequence[Look], *, threshold: float, widening: float = 1.0
) -> Numbers:
    """Of each row the probability that one of the looks finds it SLOWER; threshold is a log ratio.

    How strict a look is depends on how many of the rows it finds (Benjamini-Hochberg), which is solved for.
    """
    draws = np.random.default_rng(1).standard_normal((DRAWS, looks[-1].rounds))
    logs = math.log1p(effect) + deviation[:, None, None] * draws
    shares = [1.0] * len(looks)
    for _ in range(5):
        each = [
            _found(logs[:, :, : look.rounds], look.q * share, deviation * widening, threshold)
            for look, share in zip(looks, shares, strict=True)
        ]
        shares = [max(float(one.mean()), 1 / len(deviation)) for one in each]
    last = looks[-1].rounds
    beyond = logs.mean(axis=2) - CONFIDENT * (deviation * widening / math.sqrt(last))[:, None] > 0
    some = each[-1].copy()
    for earlier in each[:-1]:
        some |= earlier & beyond
    return np.asarray(some.mean(axis=1))


def _found(logs: Numbers, level: float, deviation: Numbers, threshold: float) -> Marks:
    needed = np.maximum(threshold, -ndtri(level / 2) * deviation / math.sqrt(logs.shape[2]))
    return np.asarray(logs.mean(axis=2) >= needed[:, None])


def _spiked(rounds: Rounds, able: Marks, planned: int, effect: float, seeds: int) -> Spiked:
    places, own = np.flatnonzero(able), deviations(rounds)
    planted = slower = faster = untrusted = 0
    expected = 0.0
    for seed in range(seeds):
        chosen = np.zeros(len(able), dtype=bool)
        chosen[np.random.default_rng([seed, 7]).permutation(places)[: len(places) // 2]] = True
        if not chosen.any():
            break
        looked = judge_looks(plant(rounds, chosen, effect), planned, DELTA)
        judgement = looked.judgement
        words = [row.verdict for row, is_chosen in zip(judgement.rows, chosen, strict=True) if is_chosen]
        planted += len(words)
        slower += words.count(SpeedVerdict.SLOWER)
        faster += words.count(SpeedVerdict.FASTER)
        untrusted += not judgement.trusted
        widening, threshold = judgement.calibration.widening, math.log1p(judgement.threshold)
        expected += float(promised(own[chosen], effect, looked.looks, threshold=threshold, widening=widening).sum())
    return Spiked(effect, len(places), planted, slower, faster, expected, untrusted)
