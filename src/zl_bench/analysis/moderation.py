"""Variances of few rounds, steadied by those of all rows: the empirical-Bayes moderation of Smyth (2004).

A row's variance from three or six rounds is itself mostly chance. Rows are alike, though: if their true variances come
from a scaled inverse chi-square distribution, the sample variances are scaled F, the logarithms of which tell the prior's
degrees of freedom and scale by their spread and mean. Each row then counts as if it had that many rounds more.
G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression, SAGMB 3 (2004), article 3.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, polygamma

from zl_bench.analysis.rounds import Numbers

MOST_STEPS = 50
CLOSE = 1e-12


@dataclass(frozen=True)
class Prior:
    """What all rows say about the variance of one: it is about `variance`, as certain as `df` degrees of freedom make it."""

    df: float
    """0 where nothing is known, infinite where the rows differ no more than by chance."""
    variance: float


NO_PRIOR = Prior(0.0, 1.0)


def trigamma_inverse(value: float) -> float:
    """The x > 0 with trigamma(x) = value, for a value > 0.

    Newton's method on 1 / trigamma, which is convex and nearly straight, from a start below the root: it never overshoots.
    """
    x = 0.5 + 1 / value
    for _ in range(MOST_STEPS):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) <= CLOSE * x:
            break
    return x


def fit_prior(variances: Numbers, df: Numbers) -> Prior:
    """The prior of positive sample variances with their degrees of freedom (positive), NO_PRIOR of fewer than two.

    Where the logarithms spread no more than chance explains, the variances are one: the pooled one.
    """
    if variances.size < 2:
        return NO_PRIOR
    half = df / 2
    logs = np.log(variances) - digamma(half) + np.log(half)
    excess = float(logs.var(ddof=1) - polygamma(1, half).mean())
    if excess <= 0:
        return Prior(math.inf, float((df * variances).sum() / df.sum()))
    prior_df = 2 * trigamma_inverse(excess)
    return Prior(prior_df, math.exp(float(logs.mean() + digamma(prior_df / 2)) - math.log(prior_df / 2)))


def moderate(variances: Numbers, df: Numbers, prior: Prior) -> tuple[Numbers, Numbers]:
    """The moderated variances and their degrees of freedom, never more than all rows together have."""
    if math.isinf(prior.df):
        moderated = np.full(variances.shape, prior.variance)
    else:
        total = prior.df + df
        moderated = (prior.df * prior.variance + df * variances) / np.where(total > 0, total, 1.0)
    return moderated, np.minimum(prior.df + df, df.sum())
