"""Moderation of variances against published values, SciPy, and cases that can be worked out by hand."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import digamma, polygamma

from zl_bench.analysis.moderation import NO_PRIOR, Prior, fit_prior, moderate, trigamma_inverse


@given(st.floats(-12, 12))
def test_trigamma_inverse_inverts_scipys_trigamma(exponent: float) -> None:
    value = math.exp(exponent)
    assert float(polygamma(1, trigamma_inverse(value))) == pytest.approx(value, rel=1e-9)


def test_trigamma_inverse_of_values_known_in_closed_form() -> None:
    """Trigamma(1) = pi^2 / 6, trigamma(1/2) = pi^2 / 2, and trigamma(2) = trigamma(1) - 1."""
    assert trigamma_inverse(math.pi**2 / 6) == pytest.approx(1.0)
    assert trigamma_inverse(math.pi**2 / 2) == pytest.approx(0.5)
    assert trigamma_inverse(math.pi**2 / 6 - 1) == pytest.approx(2.0)


def test_trigamma_inverse_against_limma() -> None:
    """The value of limma's trigammaInverse(5), as the tests of InMoose (its port to Python) record it."""
    assert trigamma_inverse(5) == pytest.approx(0.4961687, abs=1e-7)


def test_a_prior_and_what_it_moderates_against_limma() -> None:
    """The values of limma's squeezeVar(c(0.5, 1.3, 7.8), df = 3), as the tests of InMoose (its port to Python) record them."""
    variances, df = np.array([0.5, 1.3, 7.8]), np.full(3, 3.0)
    prior = fit_prior(variances, df)
    assert prior.df == pytest.approx(2.830777, abs=1e-6)
    assert prior.variance == pytest.approx(1.676927, abs=1e-6)
    moderated, total = moderate(variances, df, prior)
    assert moderated == pytest.approx([1.071385, 1.482994, 4.827317], abs=1e-6)
    assert total == pytest.approx([5.830777] * 3, abs=1e-6)


def test_a_prior_worked_out_by_hand() -> None:
    """With 2 degrees of freedom, ln s2 has the variance trigamma(1) + trigamma(d0 / 2), by Smyth's equations.

    So ln s2 = +-pi / sqrt(6), whose variance is pi^2 / 3, means d0 = 2; its mean 0 means s0^2 = exp(digamma(1) - digamma(1)).
    """
    spread = math.pi / math.sqrt(6)
    variances, df = np.exp([spread, -spread]), np.full(2, 2.0)
    prior = fit_prior(variances, df)
    assert (prior.df, prior.variance) == (pytest.approx(2.0), pytest.approx(1.0))
    moderated, total = moderate(variances, df, prior)
    assert moderated == pytest.approx((1 + variances) / 2)
    assert total == pytest.approx([4.0, 4.0])


def test_the_scale_of_a_prior_worked_out_by_hand() -> None:
    """With d = 4, half of which is 2: digamma(2) = 1 - gamma, trigamma(2) = pi^2 / 6 - 1.

    ln s2 = +-a with 2 a^2 = trigamma(2) + trigamma(1/2) means d0 = 1, and
    ln s0^2 = -digamma(2) + ln 2 + digamma(1/2) - ln(1/2), of which digamma(1/2) = -gamma - 2 ln 2: in all, -1.
    """
    spread = math.sqrt((math.pi**2 / 6 - 1 + math.pi**2 / 2) / 2)
    prior = fit_prior(np.exp([spread, -spread]), np.full(2, 4.0))
    assert (prior.df, prior.variance) == (pytest.approx(1.0), pytest.approx(math.exp(-1.0)))


def test_variances_that_differ_no_more_than_by_chance_are_one() -> None:
    """As limma has it since 2017: the pooled variance, with all the degrees of freedom that there are."""
    prior = fit_prior(np.array([1.0, 1.1, 1.2]), np.array([5.0, 5.0, 10.0]))
    assert prior == Prior(math.inf, pytest.approx((5 * 1.0 + 5 * 1.1 + 10 * 1.2) / 20))
    moderated, total = moderate(np.array([1.0, 1.1, 1.2]), np.array([5.0, 5.0, 10.0]), prior)
    assert moderated == pytest.approx([1.125] * 3)
    assert total == pytest.approx([20.0] * 3)


def test_one_row_alone_is_not_moderated() -> None:
    assert fit_prior(np.array([3.0]), np.array([5.0])) == NO_PRIOR
    moderated, total = moderate(np.array([3.0]), np.array([5.0]), NO_PRIOR)
    assert (moderated.tolist(), total.tolist()) == ([3.0], [5.0])


def test_a_prior_is_found_again_in_samples_of_it() -> None:
    """True variances are s0^2 d0 / chi^2(d0), samples of them s^2 chi^2(d) / d."""
    generator = np.random.default_rng(1)
    true = 0.25 * 6 / generator.chisquare(6, 4000)
    prior = fit_prior(true * generator.chisquare(5, 4000) / 5, np.full(4000, 5.0))
    assert prior.df == pytest.approx(6, rel=0.15)
    assert prior.variance == pytest.approx(0.25, rel=0.05)


VARIANCES = st.lists(st.floats(1e-8, 1e2), min_size=2, max_size=12)


@given(VARIANCES, st.sampled_from([1.0, 2.0, 5.0]))
def test_a_prior_solves_smyths_equations(found: list[float], rounds: float) -> None:
    """The two of section 6.2, solved by a bracketing search: the spread of e tells d0, and then its mean tells s0^2."""
    variances, df = np.array(found), np.full(len(found), rounds)
    logs = np.log(variances) - digamma(rounds / 2) + math.log(rounds / 2)
    excess = float(np.var(logs, ddof=1) - polygamma(1, rounds / 2))
    prior = fit_prior(variances, df)
    if excess <= 0:
        assert prior == Prior(math.inf, pytest.approx(np.mean(variances)))
    elif 1e-3 < excess < 1e3:
        half = brentq(lambda x: float(polygamma(1, x)) - excess, 1e-3, 1e4, xtol=1e-13)
        assert prior.df == pytest.approx(2 * half, rel=1e-6)
        assert math.log(prior.variance) == pytest.approx(
            float(np.mean(logs) + digamma(half) - math.log(half)), abs=1e-6
        )


@given(VARIANCES)
def test_moderation_draws_every_variance_towards_the_prior_and_never_past_it(found: list[float]) -> None:
    variances, df = np.array(found), np.full(len(found), 3.0)
    prior = fit_prior(variances, df)
    moderated, total = moderate(variances, df, prior)
    low, high = np.minimum(variances, prior.variance), np.maximum(variances, prior.variance)
    assert (moderated >= low * (1 - 1e-12)).all()
    assert (moderated <= high * (1 + 1e-12)).all()
    assert (np.diff(moderated[np.argsort(variances)]) >= 0).all()
    assert ((total >= 3.0) & (total <= df.sum())).all()


@given(VARIANCES, st.randoms(use_true_random=False))
def test_the_order_of_the_variances_is_no_matter(found: list[float], order: random.Random) -> None:
    places = list(range(len(found)))
    order.shuffle(places)
    variances, df = np.array(found), np.arange(1.0, len(found) + 1)
    prior, shuffled = fit_prior(variances, df), fit_prior(variances[places], df[places])
    assert shuffled.df == pytest.approx(prior.df, rel=1e-6)
    assert shuffled.variance == pytest.approx(prior.variance, rel=1e-6)


def test_the_scale_of_the_variances_is_the_scale_of_the_prior() -> None:
    variances, df = np.array([0.5, 1.3, 7.8, 0.2]), np.array([2.0, 5.0, 5.0, 3.0])
    small, large = fit_prior(variances, df), fit_prior(variances * 1e6, df)
    assert large.df == pytest.approx(small.df)
    assert large.variance == pytest.approx(small.variance * 1e6)
