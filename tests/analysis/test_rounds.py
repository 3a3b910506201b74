from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tests.analysis.made_rounds import key, row
from zl_bench.analysis.rounds import one_sided_order, pair_rounds, tick_of


def test_rows_are_paired_round_by_round_whatever_their_order() -> None:
    medians = [*row([2.0, 4.0], [1.0, 1.0], key("b")), *row([3.0], [3.0], key("a"), identical=True)]
    for order in (medians, medians[::-1]):
        found = pair_rounds(order)
        assert found.keys == (key("a"), key("b"))
        assert found.numbers == (0, 1)
        assert found.placebo.tolist() == [True, False]
        assert found.logs[1] == pytest.approx([-math.log(2), -math.log(4)])
        assert found.logs[0, 0] == 0
        assert np.isnan(found.logs[0, 1])


def test_a_round_with_one_side_alone_is_no_pair() -> None:
    found = pair_rounds([*row([2.0, 4.0, 5.0], [1.0]), *row([1.0], [1.0, 2.0], key("other"))])
    assert found.numbers == (0,)
    assert found.before.tolist() == [[2.0], [1.0]]


def test_a_row_without_any_pair_stays_as_a_row() -> None:
    found = pair_rounds([*row([2.0], []), *row([1.0], [1.0], key("other"))])
    assert np.isnan(found.logs[0]).all()
    assert np.isnan(found.tick_variance[0])


def test_nothing_at_all() -> None:
    assert pair_rounds([]).keys == ()
    assert pair_rounds(row([2.0], [])).numbers == ()


def test_only_a_row_that_was_always_identical_is_a_placebo() -> None:
    medians = row([1.0, 1.0], [1.0, 1.0], identical=True)
    assert pair_rounds(medians).placebo.tolist() == [True]
    assert pair_rounds([*medians[:3], replace(medians[3], identical=False)]).placebo.tolist() == [False]


def test_the_first_rounds_alone() -> None:
    found = pair_rounds(row([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])).first_rounds(2)
    assert found.numbers == (0, 1)
    assert found.before.tolist() == [[1.0, 2.0]]


def test_the_tick_is_the_smallest_step() -> None:
    assert tick_of([0.0120, 0.0125, 0.0140, 0.0125]) == pytest.approx(0.0005)
    assert tick_of([0.3, 0.1 + 0.2, 0.4]) == pytest.approx(0.1)  # the first two differ in how they are rounded alone
    assert tick_of([1.0, 1.0]) == 0
    assert tick_of([]) == 0


def test_the_variance_of_a_tick_is_that_of_two_uniform_errors() -> None:
    """Of rounding to 0.5 us, tick^2 / 12, relative to 5 us on one side and 10 us on the other."""
    found = pair_rounds(row([0.005, 0.005], [0.010, 0.010]), tick_ms=0.0005)
    assert found.tick_variance[0] == pytest.approx((0.1**2 + 0.05**2) / 12)


def test_a_side_that_always_went_first() -> None:
    def medians(*firsts: str | None) -> list:
        return [replace(one, round=k, first=first) for k, first in enumerate(firsts) for one in row([1.0], [1.0])]

    assert one_sided_order(medians("before", "before")) == "before"
    assert one_sided_order(medians("after", "after", None)) == "after"
    assert one_sided_order(medians("before", "after")) is None
    assert one_sided_order(medians("before")) is None
    assert one_sided_order(medians(None, None)) is None
