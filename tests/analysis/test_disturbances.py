"""Pairs are dropped for what the card says beside them, and for nothing else."""

from __future__ import annotations

from zl_bench.analysis.disturbances import Beside, disturbances, fewest_others
from zl_bench.model import CardReading, Side


def reading(clock: int | None = 1980, *throttle: str) -> CardReading:
    return CardReading(clock, 3000, 40, 300.0, throttle)


def turn(
    before: CardReading | None,
    after: CardReading | None,
    side: Side = "before",
    others: int | None = 1,
    row: str = "mm",
) -> Beside:
    return Beside(row, side, before, after, others)


def test_a_steady_pair_stands() -> None:
    pair = [turn(reading(), reading(1965), side) for side in ("before", "after")]
    assert disturbances(pair, 1) == ()


def test_a_clock_held_down_from_outside_drops_the_pair() -> None:
    pair = [turn(reading(), reading(1980, "hardware thermal slowdown", "power cap"))]
    assert disturbances(pair, 1) == ("the clock was held down: hardware thermal slowdown",)


def test_the_power_cap_belongs_to_the_work_and_so_do_the_clocks_under_it() -> None:
    pair = [
        turn(reading(1500, "power cap"), reading(1300, "power cap"), "before"),
        turn(reading(1200, "power cap"), reading(1250), "after"),
    ]
    assert disturbances(pair, 1) == ()


def test_a_clock_step_within_a_turn_drops_the_pair() -> None:
    (why,) = disturbances([turn(reading(1980), reading(1755)), turn(reading(1860), reading(1860), "after")], 1)
    assert why == "the clock stepped from 1980 to 1755 MHz while mm was timed before"
    assert disturbances([turn(reading(1980), reading(1890))], 1) == ()


def test_sides_at_different_clocks_drop_the_pair() -> None:
    pair = [turn(reading(1980), reading(1980)), turn(reading(1755), reading(1755), "after")]
    assert disturbances(pair, 1) == ("the clock was 1980 MHz before and 1755 MHz after at mm",)
    rows = [turn(reading(1980), reading(1980), row="mm"), turn(reading(1755), reading(1755), "after", row="bmm")]
    assert disturbances(rows, 1) == ()


def test_a_process_that_comes_drops_the_pair_and_one_that_stays_does_not() -> None:
    pair = [turn(reading(), reading(), others=1), turn(reading(), reading(), "after", others=2)]
    assert disturbances(pair, 1) == ("another process came to the card (2 beside the timed one, 1 as a rule)",)
    assert disturbances([turn(reading(), reading(), others=2)], 2) == ()


def test_the_fewest_processes_ever_seen_are_those_that_stay() -> None:
    assert fewest_others([turn(None, None, others=3), turn(None, None, others=2)], None) == 2
    assert fewest_others([turn(None, None, others=3)], 1) == 1
    assert fewest_others([turn(None, None, others=None)], None) is None


def test_a_card_that_tells_nothing_drops_nothing() -> None:
    assert disturbances([turn(None, None, others=None), turn(reading(None), reading(None))], None) == ()
