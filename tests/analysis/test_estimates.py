"""Means, errors and tests of rows of rounds, against SciPy where one row stands alone."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from zl_bench.analysis.estimates import estimate

NAN = math.nan
NO_TICK = 0.0


def ticks(rows: int, variance: float = NO_TICK) -> np.ndarray:
    return np.full(rows, variance)


def test_one_row_alone_is_an_ordinary_paired_t_test() -> None:
    logs = np.array([[0.010, 0.014, 0.008, 0.013, 0.009, 0.012]])
    found = estimate(logs, ticks(1))
    expected = stats.ttest_1samp(logs[0], 0.0)
    interval = expected.confidence_interval(0.95)
    assert found.mean[0] == pytest.approx(0.011)
    assert found.p[0] == pytest.approx(expected.pvalue)
    assert found.df[0] == 5
    assert (found.mean - found.reach(0.95))[0] == pytest.approx(interval.low)
    assert (found.mean + found.reach(0.95))[0] == pytest.approx(interval.high)


def test_a_moderated_t_worked_out_by_hand() -> None:
    """Three rounds a row, so 2 degrees of freedom; ln s2 = +-pi / sqrt(6) + ln 1e-4 means d0 = 2 and s0^2 = 1e-4.

    Rounds of m - s, m, m + s have the mean m and the variance s^2.
    """
    variances = 1e-4 * np.exp([math.pi / math.sqrt(6), -math.pi / math.sqrt(6)])
    logs = np.array([[0.02 - math.sqrt(s2), 0.02, 0.02 + math.sqrt(s2)] for s2 in variances])
    found = estimate(logs, ticks(2))
    errors = np.sqrt((1e-4 + variances) / 2 / 3)
    assert found.error == pytest.approx(errors, rel=1e-6)
    assert found.df == pytest.approx([4, 4])
    assert found.p == pytest.approx(2 * stats.t.sf(0.02 / errors, 4), rel=1e-5)


def test_rounds_that_a_row_lacks_do_not_count() -> None:
    found = estimate(np.array([[0.01, NAN, 0.03, NAN], [NAN, NAN, 0.05, NAN], [NAN] * 4]), ticks(3))
    assert found.rounds.tolist() == [2, 1, 0]
    assert found.mean[:2] == pytest.approx([0.02, 0.05])
    assert np.isnan(found.mean[2])
    assert np.isfinite(found.p[0])
    assert np.isnan(found.p[1:]).all()
    assert np.isnan(found.reach(0.95)[1:]).all()


def test_equal_rounds_are_no_certainty_beyond_the_tick() -> None:
    """A row that is coarser than its noise: each side is rounded by up to half a tick, and rounds do not mend that."""
    few = estimate(np.full((1, 3), 0.01), ticks(1, 0.005**2))
    many = estimate(np.full((1, 300), 0.01), ticks(1, 0.005**2))
    assert few.error[0] == pytest.approx(0.005, rel=1e-3)
    assert many.error[0] == pytest.approx(0.005, rel=1e-3)


def test_noise_wider_than_the_tick_takes_its_error_away() -> None:
    random = np.random.default_rng(3)
    logs = random.normal(0, 0.01, (50, 6))
    assert estimate(logs, ticks(50, 0.001**2)).error == pytest.approx(estimate(logs, ticks(50)).error, rel=1e-6)


def test_rows_coarser_than_most_do_not_shape_the_prior_of_the_others() -> None:
    random = np.random.default_rng(4)
    fine = random.normal(0, 0.004, (40, 6))
    mixed = np.vstack([fine, np.zeros((20, 6))])
    variances = np.concatenate([ticks(40), ticks(20, 0.03**2)])
    # The same prior; only the cap, the degrees of freedom of all rows together, is another.
    assert estimate(mixed, variances).error[:40] == pytest.approx(estimate(fine, ticks(40)).error, rel=1e-9)


def test_a_wider_error_is_less_certain() -> None:
    found = estimate(np.array([[0.01, 0.02, 0.03], [0.02, 0.02, 0.05]]), ticks(2))
    wide = found.widened(2.0)
    assert wide.reach(0.95) == pytest.approx(2 * found.reach(0.95))
    assert (wide.p > found.p).all()
    assert wide.mean.tolist() == found.mean.tolist()


def test_z_is_as_unlikely_as_t() -> None:
    found = estimate(np.array([[0.01, 0.02, 0.03]]), ticks(1))
    assert 2 * stats.norm.sf(found.z[0]) == pytest.approx(found.p[0])


def test_what_would_have_been_visible() -> None:
    """The change whose t lies beyond the critical value with the given probability, in the usual approximation."""
    found = estimate(np.array([[0.01, 0.02, 0.03, 0.05]]), ticks(1))
    expected = (stats.t.ppf(0.995, 3) + stats.t.ppf(0.8, 3)) * found.error[0]
    assert found.visible(0.01, 0.8)[0] == pytest.approx(expected)
