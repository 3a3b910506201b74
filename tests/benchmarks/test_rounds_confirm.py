"""A pass left out twice: what the second measurement says of what the first one found."""

import pytest
from rounds_confirm import confirmations, found_rows, orders
from rounds_results import Measured

from .made_rounds import line, record

ROWS = {"[1]": (0.05, 1.05), "[2]": (0.05, 1.0), "[3]": (0.05, 0.9)}


def measured(rows, part="rlc", name="softmax", **more):
    return Measured(line(part, name, record(name, rows, identical=False, mirrored=part == "mirror", **more)))


def test_the_rows_to_confirm_are_those_that_became_faster_or_slower():
    assert [row.key.detail for row in found_rows(measured(ROWS))] == ["[1]", "[3]"]


@pytest.mark.parametrize(
    ("again", "outcome"),
    [
        ({"[1]": (0.05, 1.05)}, "confirmed"),
        ({"[1]": (0.05, 1.08)}, "confirmed"),
        ({"[1]": (0.05, 0.95)}, "contradicted"),
        ({"[1]": (0.05, 1.0)}, "contradicted"),
        ({"[2]": (0.05, 1.05)}, "not measured again"),
    ],
)
def test_what_the_second_measurement_makes_of_a_slower_row(again, outcome):
    (found,) = confirmations([measured({"[1]": (0.05, 1.05)})], [measured(again, "mirror")])
    assert found.outcome == outcome


def test_a_second_measurement_that_only_sees_less_decides_nothing():
    (found,) = confirmations([measured({"[1]": (0.05, 1.05)})], [measured({"[1]": (0.05, 1.02)}, "mirror", sd=0.05)])
    assert found.second is not None
    assert found.second.verdict.value == "INCONCLUSIVE"
    assert found.outcome == "not decided"


def test_an_operator_that_was_not_measured_again_is_told():
    (found,) = confirmations([measured({"[1]": (0.05, 1.05)})], [measured(ROWS, "mirror", name="topk")])
    assert found.outcome == "not measured again"


def test_the_reversed_order_is_counted_round_by_round():
    first = measured(ROWS)
    assert orders([first], [measured(ROWS, "mirror")]) == (18, 18)
    turned, places = orders([first], [measured(ROWS)])
    assert (turned, places) == (0, 18)
    assert orders([first], []) == (0, 0)
