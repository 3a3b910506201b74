"""What a row's rounds say together: mean log ratio, its standard error, and a moderated paired t-test against no change."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from zl_bench.analysis.moderation import fit_prior, moderate
from zl_bench.analysis.rounds import RESOLUTION, Numbers


@dataclass(frozen=True, eq=False)
class Estimates:
    """One place per row. A row of fewer than two rounds has a mean, if any, and NaN in all that needs a spread."""

    rounds: Numbers
    mean: Numbers
    """Of ln(after / before), negative is faster."""
    error: Numbers
    """The standard error of the mean."""
    df: Numbers
    p: Numbers
    """Two-sided, of no change."""

    def widened(self, factor: float) -> Estimates:
        """The same means with errors so many times as large."""
        error = self.error * factor
        return Estimates(self.rounds, self.mean, error, self.df, _two_sided(self.mean, error, self.df))

    def reach(self, confidence: float) -> Numbers:
        """Half the width of the intervals with that confidence, 0.95 for instance."""
        return _quantile(self.df, (1 + confidence) / 2) * self.error

    def visible(self, level: Numbers | float, power: float) -> Numbers:
        """The smallest change of a row that a test at this level (two-sided) would have found with this probability."""
        return (_quantile(self.df, 1 - np.asarray(level) / 2) + _quantile(self.df, power)) * self.error

    @property
    def z(self) -> Numbers:
        """The t-statistics as |z| of a normal distribution, equally unlikely: comparable whatever the degrees of freedom."""
        return np.asarray(np.abs(ndtri(np.maximum(self.p, np.finfo(float).tiny) / 2)), dtype=float)


def estimate(logs: Numbers, tick_variance: Numbers) -> Estimates:
    """Estimates of rows x rounds of log ratios, NaN where a round lacks the row; `tick_variance` as `Rounds` has it.

    A timer that counts in ticks can say the same in every round though the truth lies up to half a tick beside it, and no
    number of rounds mends that; noise does, as soon as it is wider than the tick, since it then rounds up as often as down.
    The error of rounding left in a mean shrinks with exp(-2 (pi sd / tick)^2) of a side's noise. So the variance of a mean is
    that of the rounds over n, plus the tick's own as far as the row's noise leaves it: a floor that no row can go under.
    Rows coarser than the noise of most rows tell nothing about the prior.
    """
    measured = ~np.isnan(logs)
    rounds = measured.sum(axis=1).astype(float)
    mean = np.divide(
        np.where(measured, logs, 0.0).sum(axis=1), rounds, out=np.full(rounds.shape, np.nan), where=rounds > 0
    )
    df = np.maximum(rounds - 1, 0)
    squares = (np.where(measured, logs - mean[:, None], 0.0) ** 2).sum(axis=1)
    tested = df > 0
    error, total = np.full(rounds.shape, np.nan), np.full(rounds.shape, np.nan)
    if tested.any():
        variance = np.maximum(squares[tested] / df[tested], RESOLUTION**2)
        tick = np.maximum(tick_variance[tested], RESOLUTION**2 / 6)
        floored = np.maximum(variance, tick)
        fine = tick <= np.median(floored)
        prior = fit_prior(floored[fine], df[tested][fine])
        moderated, total[tested] = moderate(variance, df[tested], prior)
        left = np.exp(-(np.pi**2) * moderated / (3 * tick))
        error[tested] = np.sqrt(moderated / rounds[tested] + tick * left)
    return Estimates(rounds, mean, error, total, _two_sided(mean, error, total))


def _two_sided(mean: Numbers, error: Numbers, df: Numbers) -> Numbers:
    return np.asarray(2 * stdtr(df, -np.abs(mean) / error), dtype=float)


def _quantile(df: Numbers, probability: Numbers | float) -> Numbers:
    return np.asarray(stdtrit(df, probability), dtype=float)
