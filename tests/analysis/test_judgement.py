from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from tests.analysis.made_rounds import key, row, suite
from zl_bench.analysis.judgement import Judgement, Look, SpeedVerdict, assess, judge, looks_for
from zl_bench.analysis.rounds import RoundMedian, pair_rounds

TINY_TICK = 1e-9


def judged(
    medians: list[RoundMedian], delta: float = 0.01, level: float = 0.05, tick: float | None = None
) -> Judgement:
    return judge(pair_rounds(medians, tick), level=level, delta=delta)


def words(judgement: Judgement) -> dict[str, SpeedVerdict]:
    return {row.key.detail: row.verdict for row in judgement.rows}


STILL = [1.0] * 12
PLACEBOS = [1.0] * 8


def test_every_word_for_a_changed_row() -> None:
    noisy = row([1.0, 1.3, 0.8, 1.1, 0.9, 1.2], [1.2, 0.9, 1.0, 0.8, 1.3, 0.9], key("noisy"))
    found = words(judged([*suite([1.05, 0.95, *STILL], PLACEBOS), *noisy], tick=TINY_TICK))
    assert found["c0"] is SpeedVerdict.FASTER
    assert found["c1"] is SpeedVerdict.SLOWER
    assert {found[f"c{place}"] for place in range(2, 14)} == {SpeedVerdict.NO_CHANGE}
    assert found["noisy"] is SpeedVerdict.INCONCLUSIVE
    assert {found[f"p{place}"] for place in range(8)} == {SpeedVerdict.IDENTICAL}


def test_a_change_below_delta_is_none() -> None:
    medians = suite([1.015, *STILL], PLACEBOS, noise=0.0005)
    assert words(judged(medians))["c0"] is SpeedVerdict.FASTER
    assert words(judged(medians, delta=0.02))["c0"] is SpeedVerdict.NO_CHANGE


def test_less_than_placebos_show_is_not_claimed_of_other_rows() -> None:
    """Placebos spread by 2 % though their code is identical: what a machine makes of nothing is no change."""
    placebos = [1.02, 1 / 1.02] * 10
    found = judged(suite([1.015, *STILL], placebos, noise=0.02), delta=0.001)
    assert 0.019 < found.threshold < 0.04
    assert judged(suite([1.015, *STILL], placebos, noise=0.02), delta=0.05).threshold == pytest.approx(0.05)


def test_one_row_worked_out_by_hand() -> None:
    """Ratios of 1/1.02 and 1/1.04 in turn: the mean log, its t interval, and the only p is the only q."""
    found = judged(row([1.02, 1.04, 1.02, 1.04], [1.0] * 4), tick=TINY_TICK).rows[0]
    logs = np.log([1.02, 1.04, 1.02, 1.04])
    expected = stats.ttest_1samp(logs, 0)
    interval = expected.confidence_interval(0.95)
    assert (found.rounds, found.placebo) == (4, False)
    assert found.before_ms == pytest.approx(math.sqrt(1.02 * 1.04))
    assert found.after_ms == pytest.approx(1.0)
    assert found.speedup == pytest.approx(math.sqrt(1.02 * 1.04))
    assert (found.ci_low, found.ci_high) == (
        pytest.approx(math.exp(interval.low)),
        pytest.approx(math.exp(interval.high)),
    )
    assert found.q == pytest.approx(expected.pvalue)
    needed = (stats.t.ppf(0.975, 3) + stats.t.ppf(0.8, 3)) * logs.std(ddof=1) / 2
    assert found.mde == pytest.approx(math.expm1(needed))
    assert found.verdict is SpeedVerdict.FASTER


def test_false_discoveries_are_controlled_over_the_changed_rows_alone() -> None:
    """Forty more rows that no claim is made of must not make a claim about the others harder."""
    rounds = pair_rounds(suite([1.01, 0.99, 1.0, 1.0, 1.002], [1.0] * 40))
    found = assess(rounds.logs, rounds.placebo, rounds.launch_bound, rounds.tick_variance)
    changed = ~rounds.placebo
    assert found.q[changed] == pytest.approx(stats.false_discovery_control(found.estimates.p[changed]))
    assert np.isnan(found.q[rounds.placebo]).all()
    assert np.isnan(found.visible[rounds.placebo]).all()


def test_false_discovery_rates_worked_out_by_hand() -> None:
    """Benjamini and Hochberg: p times how many there are over its place, and no larger than that of any larger p.

    Rounds that are m - s, m, m + s have t = m sqrt(3) / s. Rows that all spread by s differ no more than by chance: each
    has the variance that they share, and the two degrees of freedom of all of them.
    """
    p = np.array([0.010, 0.041, 0.030, 0.9])
    rows = len(p)
    t = stats.t.isf(p / 2, 2 * rows)
    means = t * 0.01 / math.sqrt(3)
    logs = means[:, None] + np.array([-0.01, 0, 0.01])
    nothing = np.zeros(rows, dtype=bool)
    found = assess(logs, nothing, nothing, np.full(rows, 1e-12))
    assert found.estimates.p == pytest.approx(p, rel=1e-5)
    assert found.q == pytest.approx([0.04, 0.041 * 4 / 3, 0.041 * 4 / 3, 0.9], rel=1e-5)


def test_the_placebos_common_mode_is_taken_out_of_the_speed_up() -> None:
    """After turned 0.5 % slower in all rows alike: of a row that became 3 % faster, 2.5 % are seen raw, and 3 % judged."""
    medians = [
        replace(one, median_ms=one.median_ms * 1.005) if one.side == "after" else one
        for one in suite([1.03, *STILL], PLACEBOS, noise=0.0002)
    ]
    found = judged(medians)
    first = found.rows[0]
    assert first.key.detail == "c0"
    assert first.before_ms is not None and first.after_ms is not None
    assert first.before_ms / first.after_ms == pytest.approx(1.03 / 1.005, abs=5e-4)
    assert first.speedup == pytest.approx(1.03, abs=5e-4)
    assert found.placebos.speedup == pytest.approx(1 / 1.005, abs=5e-4)
    assert found.suite.speedup == pytest.approx(1.03 ** (1 / 13), abs=5e-4)
    assert found.trusted


def test_a_run_whose_placebos_move_is_untrusted_as_a_whole() -> None:
    found = judged(suite([1.10, 0.9, *STILL], [1.03, 1 / 1.03] * 6))
    assert not found.trusted
    assert {one.verdict for one in found.rows} == {SpeedVerdict.UNTRUSTED, SpeedVerdict.IDENTICAL}
    assert {one.verdict for one in found.rows if one.placebo} == {SpeedVerdict.IDENTICAL}


def test_rows_of_the_host_take_no_part() -> None:
    medians = suite([1.05, *STILL], PLACEBOS)
    bound = [replace(one, launch_bound=True) if one.key.detail in ("c1", "p0") else one for one in medians]
    found = judged(bound)
    assert words(found)["c1"] is SpeedVerdict.LAUNCH_BOUND
    assert words(found)["p0"] is SpeedVerdict.IDENTICAL
    assert found.calibration.placebos == 7
    assert (found.suite.rows, found.suite.of) == (12, 12)
    (row,) = [one for one in found.rows if one.key.detail == "c1"]
    assert (row.q, row.ci_low) == (None, None)
    assert row.before_ms is not None
    without = judged([one for one in medians if one.key.detail not in ("c1", "p0")])
    assert {one.key.detail: one.q for one in without.rows}["c0"] == {one.key.detail: one.q for one in found.rows}["c0"]


def test_one_round_is_inconclusive() -> None:
    (found,) = judged(row([2.0], [1.0])).rows
    assert (found.verdict, found.speedup, found.rounds) == (SpeedVerdict.INCONCLUSIVE, 2.0, 1)
    assert (found.ci_low, found.ci_high, found.q, found.mde) == (None, None, None, None)


def test_a_row_without_a_pair_is_inconclusive() -> None:
    found = judged([*row([2.0], [], key("lost")), *suite([1.0])])
    assert (found.rows[0].verdict, found.rows[0].rounds, found.rows[0].speedup) == (SpeedVerdict.INCONCLUSIVE, 0, None)


def test_a_step_of_the_timer_is_no_change() -> None:
    """Six rounds that say 6.0 and 6.5 us, in steps of 0.5 us: that may be 6.24 and 6.26. Two steps are more than rounding."""
    (coarse,) = judged(row([0.0060] * 6, [0.0065] * 6)).rows
    assert coarse.verdict is SpeedVerdict.INCONCLUSIVE
    assert coarse.mde is not None and coarse.mde > 0.08
    (fine,) = judged(row([0.0060] * 6, [0.0065] * 6), tick=TINY_TICK).rows
    assert fine.verdict is SpeedVerdict.SLOWER
    (more,) = judged(row([0.0060] * 6, [0.0070] * 6), tick=0.0005).rows
    assert more.verdict is SpeedVerdict.SLOWER


def test_operators_and_the_suite() -> None:
    found = judged(suite([1.04, 1.0, 1.0, 1.04, 1.0, 1.0], PLACEBOS, noise=0.0005))
    assert [(group.name, group.rows, group.rounds) for group in found.operators] == [
        ("op0", 2, 6), ("op1", 2, 6), ("op2", 2, 6),
    ]  # fmt: skip
    assert found.operators[0].speedup == pytest.approx(1.04, abs=1e-3)
    low, high = found.operators[0].ci_low, found.operators[0].ci_high
    assert low is not None and high is not None
    assert 1.035 < low < 1.04 < high < 1.045
    assert found.suite.speedup == pytest.approx(1.04 ** (1 / 3), abs=1e-3)


def test_six_rounds_are_looked_at_twice_and_others_once() -> None:
    assert looks_for(6) == (Look(3, 0.01), Look(6, 0.04))
    assert looks_for(3) == (Look(3, 0.05),)
    assert looks_for(12) == (Look(12, 0.05),)


def test_an_early_look_sees_the_first_rounds_alone() -> None:
    medians = suite([1.05, *STILL], PLACEBOS)
    early = judge(pair_rounds(medians, TINY_TICK).first_rounds(3), level=0.01)
    assert early.rows == judged([one for one in medians if one.round < 3], level=0.01, tick=TINY_TICK).rows


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("before", "after"),
    [([1e-300] * 3, [1.0] * 3), ([5e-324] * 3, [1e300] * 3), ([1e300, 1e305], [1e300, 1e-300]), ([1.0] * 3, [1.0] * 3)],
)
def test_absurd_latencies_are_judged_without_an_error(before: list[float], after: list[float]) -> None:
    medians = suite([1.05, *STILL], PLACEBOS)
    found = {one.key.detail: one for one in judged([*row(before, after, key("absurd")), *medians], tick=TINY_TICK).rows}
    assert found["absurd"].rounds == len(before)
    assert found["c0"].verdict is SpeedVerdict.FASTER
    (alone,) = judged(row(before, after)).rows
    assert alone.verdict in (SpeedVerdict.INCONCLUSIVE, SpeedVerdict.NO_CHANGE)


MIRRORED = {SpeedVerdict.FASTER: SpeedVerdict.SLOWER, SpeedVerdict.SLOWER: SpeedVerdict.FASTER}
SUITES = st.builds(
    suite,
    st.lists(st.sampled_from([0.9, 0.98, 0.99, 1.0, 1.01, 1.02, 1.1]), min_size=1, max_size=12),
    st.lists(st.sampled_from([1.0, 1.0, 1.0, 1.0, 1.05]), max_size=10),
    rounds=st.integers(1, 6),
    noise=st.sampled_from([1e-4, 0.002, 0.02]),
    seed=st.integers(0, 10**6),
)


@settings(max_examples=60, deadline=None)
@given(SUITES, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(medians: list[RoundMedian], order: random.Random) -> None:
    shuffled = order.sample(medians, len(medians))
    assert judged(shuffled) == judged(medians)


@settings(max_examples=60, deadline=None)
@given(SUITES)
def test_sides_that_change_places_change_the_words_and_invert_the_speed_ups(medians: list[RoundMedian]) -> None:
    swapped = [replace(one, side="after" if one.side == "before" else "before") for one in medians]
    for one, other in zip(judged(medians).rows, judged(swapped).rows, strict=True):
        assert other.verdict is MIRRORED.get(one.verdict, one.verdict)
        assert one.speedup is not None and other.speedup == pytest.approx(1 / one.speedup)
        assert (one.before_ms, one.after_ms) == (other.after_ms, other.before_ms)
        assert other.q == (None if one.q is None else pytest.approx(one.q))
        assert other.mde == (None if one.mde is None else pytest.approx(one.mde))
        if one.ci_low is not None and one.ci_high is not None:
            assert (other.ci_low, other.ci_high) == (pytest.approx(1 / one.ci_high), pytest.approx(1 / one.ci_low))
    found, mirrored = judged(medians), judged(swapped)
    assert (mirrored.trusted, mirrored.threshold) == (found.trusted, pytest.approx(found.threshold))
    for group, opposite in zip(
        (*found.operators, found.suite, found.placebos),
        (*mirrored.operators, mirrored.suite, mirrored.placebos),
        strict=True,
    ):
        assert (opposite.name, opposite.rows, opposite.rounds) == (group.name, group.rows, group.rounds)
        if group.speedup is not None:
            assert opposite.speedup == pytest.approx(1 / group.speedup)


@settings(max_examples=60, deadline=None)
@given(SUITES, st.sampled_from([1e-3, 0.37, 7.0, 1e4]))
def test_the_unit_of_time_changes_nothing(medians: list[RoundMedian], factor: float) -> None:
    scaled = [replace(one, median_ms=one.median_ms * factor) for one in medians]
    for one, other in zip(judged(medians).rows, judged(scaled).rows, strict=True):
        assert (other.verdict, other.rounds) == (one.verdict, one.rounds)
        assert other.speedup == pytest.approx(one.speedup)
        assert other.q == (None if one.q is None else pytest.approx(one.q, rel=1e-5))
        assert other.before_ms == pytest.approx((one.before_ms or 0) * factor)


@settings(max_examples=30, deadline=None)
@given(SUITES, st.lists(st.integers(0, 1000), min_size=6, max_size=6, unique=True))
def test_what_the_rounds_are_numbered_changes_nothing(medians: list[RoundMedian], numbers: list[int]) -> None:
    """With one look, that is: an early one takes the first rounds."""
    renumbered = [replace(one, round=numbers[one.round]) for one in medians]
    for one, other in zip(judged(medians).rows, judged(renumbered).rows, strict=True):
        assert (other.verdict, other.rounds) == (one.verdict, one.rounds)
        assert other.speedup == pytest.approx(one.speedup)
        assert other.q == (None if one.q is None else pytest.approx(one.q))


def test_null_suites_have_hardly_a_false_verdict_and_effects_are_found() -> None:
    """A coarse check of 60 suites each; benchmarks hold the real numbers."""
    null = [judged(suite([1.0] * 30, [1.0] * 20, noise=0.004, seed=seed), tick=TINY_TICK) for seed in range(60)]
    claims = sum(any(one.verdict in MIRRORED for one in found.rows) for found in null)
    inside = [
        one.ci_low <= 1 <= one.ci_high
        for found in null
        for one in found.rows
        if not one.placebo and one.ci_low is not None and one.ci_high is not None
    ]
    assert claims <= 8  # of 60; 5 % are 3, and 9 or more then come about once in 300 times
    assert sum(not found.trusted for found in null) <= 4
    assert 0.93 <= np.mean(inside) <= 0.985
    moved = [
        judged(suite([1.02] * 8 + [1.0] * 22, [1.0] * 20, noise=0.004, seed=seed), tick=TINY_TICK) for seed in range(20)
    ]
    found = [
        one.verdict is SpeedVerdict.FASTER for one_suite in moved for one in one_suite.rows if one.key.detail in DETAILS
    ]
    assert np.mean(found) > 0.85


DETAILS = {f"c{place}" for place in range(8)}
