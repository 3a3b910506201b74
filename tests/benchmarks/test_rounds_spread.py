"""What identical code shows, and planted changes beside what the spread promises."""

import math

import numpy as np
import pytest
import rounds_spike
import rounds_spread
from rounds_results import Measured, together

from zl_bench.analysis.judgement import Look, SpeedVerdict, looks_for
from zl_bench.analysis.looks import judge_looks
from zl_bench.analysis.rounds import Rounds
from zl_bench.model import RowKey

from .made_rounds import line, record

SUITE = {f"[{number}]": (0.004 * 1.5**number, 1.0) for number in range(12)}


def rounds_of(logs, before_ms=0.05, launch_bound=()):
    """Rounds with these log ratios (after / before)."""
    logs = np.array(logs, dtype=float)
    before = np.where(np.isnan(logs), np.nan, before_ms)
    keys = tuple(RowKey("n", "o", "d", 0, f"[{row:03}]") for row in range(len(logs)))
    bound = np.array([row in launch_bound for row in range(len(logs))], dtype=bool)
    numbers = tuple(range(1, logs.shape[1] + 1))
    return Rounds(keys, numbers, before, before * np.exp(logs), np.ones(len(logs), dtype=bool), bound, 0.0)


def noise(rows, rounds, sd, seed=0):
    return np.random.default_rng(seed).normal(0, sd, (rows, rounds))


def measured(name, rows=SUITE, **more):
    return Measured(line("aa", name, record(name, rows, **more)))


def test_rows_are_in_the_band_of_their_latency_and_what_the_host_bounds_in_none():
    logs = [[0.01, -0.01, 0.01, -0.01]] * 2 + [[0.0, 0.0, 0.0, 0.0]] * 3
    rounds = rounds_of(logs, np.array([[0.0199], [0.02], [0.005], [0.2], [0.1]]), launch_bound=[4])
    found = {one.band: one.rows for one in rounds_spread.spreads(rounds)}
    assert found == {"5 to 20 us": 2, "20 to 200 us": 1, "above": 1}
    (middle,) = (one for one in rounds_spread.spreads(rounds) if one.band == "20 to 200 us")
    assert middle.median == middle.most == pytest.approx(0.02 / math.sqrt(3))
    assert math.isnan(middle.between)
    assert middle.expected == pytest.approx(middle.median / 2)


def test_rows_that_lie_apart_by_more_than_their_rounds_say_show_it():
    apart = noise(20, 6, 0.001) + np.linspace(-0.02, 0.02, 20)[:, None]
    alike, shifted = (rounds_spread.spreads(rounds_of(logs))[0] for logs in (noise(20, 6, 0.001), apart))
    assert alike.between < 2 * alike.expected
    assert shifted.between > 10 * shifted.expected
    assert shifted.median == pytest.approx(alike.median)


def test_identical_code_has_no_false_verdict_and_moved_rows_are_seen():
    still = rounds_spread.of_halves(rounds_of(noise(20, 6, 0.002)), 6, seed=1, splits=10)
    assert (still.suites, still.some, still.untrusted, still.rows) == (20, 0, 0, 200)
    moved = noise(20, 6, 0.002)
    moved[3] += 0.05
    found = rounds_spread.of_halves(rounds_of(moved), 6, seed=1, splits=10)
    assert (found.some, found.untrusted) == (10, 10), (
        "as changed it is SLOWER, as a placebo it makes the suite UNTRUSTED"
    )
    assert found.share == 0.5


def test_operators_are_judged_one_by_one_without_placebos():
    each = [measured("softmax"), measured("topk"), measured("mm", {"[1]": (0.1, 1.05), "[2]": (0.1, 1.0)})]
    found = rounds_spread.of_operators(each)
    assert (found.suites, found.some, found.rows, found.false_rows) == (3, 1, 26, 1)


@pytest.mark.parametrize(("suites", "most"), [(2, 1), (15, 2), (30, 4), (0, 0)])
def test_how_many_false_verdicts_chance_allows(suites, most):
    assert rounds_spread.most_by_chance(suites) == most


def test_a_change_is_planted_in_the_chosen_rows_and_all_others_are_placebos():
    rounds = rounds_of(noise(4, 6, 0.001))
    chosen = np.array([True, False, True, False])
    planted = rounds_spike.plant(rounds, chosen, 0.02)
    assert np.allclose(planted.logs - rounds.logs, np.where(chosen, math.log(1.02), 0.0)[:, None])
    assert planted.placebo.tolist() == [False, True, False, True]


def test_changes_are_planted_only_where_a_row_can_bear_them():
    logs = noise(4, 6, 0.001)
    logs[1, 2] = np.nan
    rounds = rounds_of(logs, np.array([[0.05], [0.05], [0.019], [0.05]]), launch_bound=[3])
    assert rounds_spike.bearing(rounds).tolist() == [True, False, False, False]


@pytest.mark.parametrize("seed", range(3))
def test_what_is_promised_is_what_rounds_of_that_spread_give(seed):
    spread = np.geomspace(0.002, 0.03, 30)
    for effect in (0.02, 0.05):
        shares = []
        for number in range(40):
            logs = np.random.default_rng([seed, number]).normal(0, spread[:, None], (30, 6)) + math.log1p(effect)
            still = noise(10, 6, 0.002, seed=number)
            rounds = rounds_of(np.vstack([logs, still]))
            rounds.placebo[:30] = False
            looked = judge_looks(rounds, 6, 0.01)
            shares.append(sum(row.verdict is SpeedVerdict.SLOWER for row in looked.judgement.rows) / 30)
        threshold = math.log1p(0.01)
        told = rounds_spike.promised(spread, effect, looks_for(6), threshold=threshold).mean()
        assert told == pytest.approx(np.mean(shares), abs=0.08)


def test_the_promise_falls_with_the_spread_and_with_a_threshold_that_is_higher():
    look = (Look(6, 0.05),)
    told = rounds_spike.promised(np.array([0.001, 0.02, 0.04]), 0.02, look, threshold=math.log1p(0.01))
    assert told[0] > 0.99 > told[1] > told[2]
    assert rounds_spike.promised(np.array([0.001]), 0.02, look, threshold=math.log1p(0.03))[0] < 0.01


def test_a_change_of_the_threshold_is_a_toss_at_each_look():
    one, two = (
        rounds_spike.promised(np.full(20, 0.001), 0.01, looks, threshold=math.log1p(0.01)).mean()
        for looks in ((Look(6, 0.05),), looks_for(6))
    )
    assert one == pytest.approx(0.5, abs=0.03)
    assert two == pytest.approx(0.625, abs=0.03)


def test_planted_changes_are_found_as_the_spread_promises():
    rounds = together([measured("softmax", sd=0.004), measured("topk", sd=0.004)])
    small, middle, large = rounds_spike.spikes(rounds, 6, seeds=5)
    assert small.rows == 16
    assert small.planted == 40
    assert (large.slower, large.faster, large.untrusted) == (40, 0, 0)
    assert all(one.as_promised for one in (small, middle, large))
    assert large.promised_share > 0.99


def test_found_shares_beyond_the_tolerance_fail():
    told = {"effect": 0.02, "rows": 40, "planted": 100, "faster": 0, "promised": 90.0, "untrusted": 0}
    assert rounds_spike.Spiked(slower=80, **told).as_promised
    assert not rounds_spike.Spiked(slower=70, **told).as_promised
    assert not rounds_spike.Spiked(slower=0, **{**told, "planted": 0}).as_promised
