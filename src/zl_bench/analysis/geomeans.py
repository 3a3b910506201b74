"""Geometric means of several rows with an interval over rounds: rows are averaged inside a round, and rounds are what n counts.

Rows of one round share its pair of processes, so that their errors are not independent; those of rounds are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from zl_bench.analysis.rounds import RESOLUTION, Marks, Numbers


@dataclass(frozen=True)
class GroupMean:
    """The rows of a group together, as log ratios: ln(after / before), negative is faster."""

    rows: int
    """How many of the group's rows are in it."""
    of: int
    rounds: int
    mean: float
    """NaN of no row."""
    reach: float
    """Half the width of the 95 % interval, infinite with one round."""
    p: float
    """Two-sided, of no change; 1 with one round."""


def group_mean(logs: Numbers, members: Marks) -> GroupMean:
    """The mean of the rows marked, over the rounds that all of them have.

    A row with less than half of the rounds that another one has is left out, since it would cost all others their rounds.
    A row is never averaged over other rounds than its neighbours: then which rows a round has would move the mean.
    """
    rows = logs[members]
    counts = (~np.isnan(rows)).sum(axis=1)
    kept = rows[(counts > 0) & (2 * counts >= counts.max(initial=0))]
    whole = kept[:, ~np.isnan(kept).any(axis=0)]
    if not whole.size:
        return GroupMean(0, len(rows), 0, math.nan, math.inf, 1.0)
    series = whole.mean(axis=0)
    mean, rounds = float(series.mean()), series.size
    if rounds < 2:
        return GroupMean(len(whole), len(rows), rounds, mean, math.inf, 1.0)
    error = max(float(series.std(ddof=1)), RESOLUTION) / math.sqrt(rounds)
    return GroupMean(
        rows=len(whole),
        of=len(rows),
        rounds=rounds,
        mean=mean,
        reach=float(stdtrit(rounds - 1, 0.975)) * error,
        p=float(2 * stdtr(rounds - 1, -abs(mean) / error)),
    )
