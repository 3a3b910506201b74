from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from zl_bench.analysis.geomeans import group_mean

NAN = math.nan


def test_rows_are_averaged_inside_a_round_and_tested_over_rounds() -> None:
    logs = np.array([[0.01, 0.02, 0.03], [0.03, 0.02, 0.03], [9.0, 9.0, 9.0]])
    found = group_mean(logs, np.array([True, True, False]))
    expected = stats.ttest_1samp([0.02, 0.02, 0.03], 0.0)
    assert (found.rows, found.of, found.rounds) == (2, 2, 3)
    assert found.mean == pytest.approx(0.07 / 3)
    assert found.p == pytest.approx(expected.pvalue)
    assert found.mean + found.reach == pytest.approx(expected.confidence_interval(0.95).high)


def test_a_round_that_one_row_lacks_counts_for_none() -> None:
    logs = np.array([[0.01, 0.02, 0.03, 0.9], [0.03, 0.02, 0.03, NAN]])
    found = group_mean(logs, np.array([True, True]))
    assert (found.rows, found.rounds) == (2, 3)
    assert found.mean == pytest.approx(0.07 / 3)


def test_a_row_of_few_rounds_is_left_out_and_counted() -> None:
    logs = np.array([[0.01, 0.02, 0.03, 0.02, 0.01], [NAN, 0.5, 0.5, NAN, NAN], [NAN] * 5])
    found = group_mean(logs, np.array([True, True, True]))
    assert (found.rows, found.of, found.rounds) == (1, 3, 5)


def test_one_round_has_no_interval() -> None:
    found = group_mean(np.array([[0.5]]), np.array([True]))
    assert (found.mean, found.reach, found.p) == (0.5, math.inf, 1.0)


def test_no_row_has_no_mean() -> None:
    found = group_mean(np.array([[0.5], [NAN]]), np.array([False, True]))
    assert math.isnan(found.mean)
    assert (found.rows, found.of, found.rounds) == (0, 1, 0)
