"""Orders of chance: settled by the seed alone, balanced where they must be, and the same whatever went before."""

from __future__ import annotations

from collections import Counter

from tests.analysis.made_rounds import key
from zl_bench.analysis.round_order import first_at_row, first_process, shuffled

NAMES = [f"op{number}" for number in range(8)]


def test_a_shuffle_keeps_everything_and_depends_on_seed_and_round() -> None:
    orders = {
        (seed, number): tuple(shuffled(NAMES, NAMES, seed, number)) for seed in range(5) for number in range(1, 6)
    }
    assert all(sorted(order) == NAMES for order in orders.values())
    assert len(set(orders.values())) == len(orders)
    assert tuple(shuffled(NAMES, NAMES, 3, 2)) == orders[3, 2]


def test_what_is_left_keeps_its_order_when_a_measurement_goes_on() -> None:
    order = shuffled(NAMES, NAMES, 1, 1)
    left = [name for name in order if name != order[0]]
    assert shuffled(left, left, 1, 1) == left


def test_every_place_is_as_likely() -> None:
    first = Counter(shuffled(NAMES, NAMES, seed, 1)[0] for seed in range(800))
    assert all(60 < count < 140 for count in first.values())


def test_the_first_side_at_a_row_is_an_even_chance_of_each_row_and_round() -> None:
    rows = [first_at_row(seed, number, key(f"{row}")) for seed in range(20) for number in range(5) for row in range(20)]
    assert 900 < Counter(rows)["before"] < 1100
    assert first_at_row(4, 2, key("8")) == first_at_row(4, 2, key("8"))
    assert len({first_at_row(4, 2, key("8", ordinal=ordinal)) for ordinal in range(20)}) == 2


def test_processes_alternate_within_each_two_rounds() -> None:
    for seed in range(20):
        order = [first_process(seed, number, "t.py::t") for number in range(1, 9)]
        assert all(order[place] != order[place + 1] for place in range(0, 8, 2))
    assert {first_process(seed, 1, "t.py::t") for seed in range(20)} == {"before", "after"}
