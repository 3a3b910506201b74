"""Verdicts by looks: what an early one has found stays found, unless the last one speaks against it."""

from __future__ import annotations

import math

from tests.analysis.made_rounds import key, row, suite
from zl_bench.analysis.judgement import Look, SpeedVerdict, judge
from zl_bench.analysis.looks import judge_looks
from zl_bench.analysis.rounds import RoundMedian, pair_rounds

SHIFT = math.exp(0.03)


def with_row(after: list[float], *, rounds: int = 6) -> list[RoundMedian]:
    """Twelve quiet rows and six placebos, and one whose after medians are these."""
    quiet = suite([1.0] * 12, [1.0] * 6, rounds=rounds, noise=0.0005)
    return [*quiet, *row([1.0] * rounds, after, key("mine"))]


def verdicts(medians: list[RoundMedian], planned: int) -> dict[str, SpeedVerdict]:
    looked = judge_looks(pair_rounds(medians), planned, 0.01)
    return {row.key.detail: row.verdict for row in looked.judgement.rows}


def test_what_the_first_look_found_stays_found_and_is_said() -> None:
    medians = with_row([1.012] * 3 + [1.006] * 3)
    rounds = pair_rounds(medians)
    last = judge(rounds, level=0.04)
    assert next(row for row in last.rows if row.key.detail == "mine").verdict is SpeedVerdict.NO_CHANGE
    looked = judge_looks(rounds, 6, 0.01)
    assert looked.looks == (Look(3, 0.01), Look(6, 0.04))
    assert verdicts(medians, 6)["mine"] is SpeedVerdict.SLOWER
    assert looked.notes == ("1 row decided by the look after 3 rounds (q 0.01)",)


def test_what_the_last_interval_speaks_against_is_not_claimed() -> None:
    medians = with_row([SHIFT, SHIFT, SHIFT, 1 / SHIFT, 1.0, 1.0])
    first = judge(pair_rounds(medians).first_rounds(3), level=0.01)
    assert next(row for row in first.rows if row.key.detail == "mine").verdict is SpeedVerdict.SLOWER
    looked = judge_looks(pair_rounds(medians), 6, 0.01)
    (mine,) = (row for row in looked.judgement.rows if row.key.detail == "mine")
    assert mine.verdict is SpeedVerdict.INCONCLUSIVE
    assert mine.ci_low is not None and mine.ci_high is not None
    assert mine.ci_low < 1 < mine.ci_high
    assert looked.notes == ()


def test_the_opposite_at_the_last_look_leaves_no_claim() -> None:
    there_and_back = [SHIFT, SHIFT, SHIFT, *[math.exp(-0.12)] * 3]
    found = verdicts(with_row(there_and_back), 6)["mine"]
    assert found in (SpeedVerdict.INCONCLUSIVE, SpeedVerdict.SLOWER)
    assert found is not SpeedVerdict.FASTER


def test_other_numbers_of_rounds_have_one_look() -> None:
    medians = with_row([SHIFT] * 4, rounds=4)
    looked = judge_looks(pair_rounds(medians), 4, 0.01)
    assert (looked.looks, looked.notes) == ((Look(4, 0.05),), ())
    assert verdicts(medians, 4)["mine"] is SpeedVerdict.SLOWER


def test_one_that_ended_early_is_looked_at_with_what_it_has() -> None:
    medians = with_row([SHIFT] * 2, rounds=2)
    assert judge_looks(pair_rounds(medians), 6, 0.01).looks == (Look(2, 0.01),)
    medians = with_row([SHIFT] * 5, rounds=5)
    assert judge_looks(pair_rounds(medians), 6, 0.01).looks == (Look(3, 0.01), Look(5, 0.04))


def test_one_that_ended_at_the_first_look_has_used_no_other() -> None:
    medians = with_row([1.030, 1.045, 1.035], rounds=3)
    rounds = pair_rounds(medians)
    looked = judge_looks(rounds, 6, 0.01)
    assert looked.looks == (Look(3, 0.01),)
    assert looked.judgement == judge(rounds, level=0.01)
    assert judge_looks(rounds, 3, 0.01).looks == (Look(3, 0.05),)


def test_placebos_that_move_leave_nothing_of_any_look() -> None:
    moved = suite([1.05] * 3, [0.9] * 6, rounds=6, noise=0.0005)
    words = set(verdicts(moved, 6).values())
    assert words == {SpeedVerdict.UNTRUSTED, SpeedVerdict.IDENTICAL}
