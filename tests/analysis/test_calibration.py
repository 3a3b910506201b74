from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from zl_bench.analysis.calibration import Calibration, calibrate, common_mode
from zl_bench.analysis.estimates import estimate
from zl_bench.analysis.rounds import Numbers

DELTA = math.log1p(0.01)


def read(logs: Numbers, placebos: int) -> Calibration:
    """Of rows the first of which are placebos."""
    placebo = np.arange(len(logs)) < placebos
    return calibrate(logs, estimate(logs - common_mode(logs, placebo), np.zeros(len(logs))), placebo, DELTA)


def noise(rows: int, rounds: int = 6, seed: int = 0) -> Numbers:
    return np.random.default_rng(seed).normal(0, 0.003, (rows, rounds))


def test_the_common_mode_is_the_placebos_median_of_each_round() -> None:
    logs = np.array([[0.0, 1.0], [0.1, 2.0], [0.2, 3.0], [0.3, 4.0], [9.0, 5.0], [77.0, 77.0]])
    assert common_mode(logs, np.array([True] * 5 + [False])) == pytest.approx([0.2, 3.0])


def test_fewer_than_five_placebos_have_no_common_mode() -> None:
    logs = np.array([[0.1, 0.1]] * 4 + [[0.1, math.nan]])
    assert common_mode(logs[:4], np.ones(4, dtype=bool)).tolist() == [0, 0]
    assert common_mode(logs, np.ones(5, dtype=bool)) == pytest.approx([0.1, 0])


def test_intervals_are_widened_by_how_placebos_spread() -> None:
    """Rows whose means lie further apart than their rounds explain: each process pair has an error of its own."""
    logs = noise(40) + np.random.default_rng(1).normal(0, 0.003, (40, 1))
    found = read(logs, 40)
    estimates = estimate(logs - common_mode(logs, np.ones(40, dtype=bool)), np.zeros(40))
    z = np.abs(stats.norm.isf(estimates.p / 2))
    assert found.widening == pytest.approx(np.quantile(z, 0.9) / 1.645)
    assert found.widening > 1.5
    assert found.floor == pytest.approx(np.quantile(np.abs(estimates.mean), 0.9))
    assert not found.moved


def test_sound_placebos_narrow_nothing() -> None:
    found = read(np.tile([0.003, -0.003, 0.003, -0.003], (8, 1)) * np.array([[1], [-1]] * 4), 8)
    assert found.widening == 1.0
    assert not found.moved


def test_a_common_mode_of_nothing_is_one_too() -> None:
    assert read(np.zeros((5, 3)), 5).common_mode
    assert not read(np.zeros((4, 3)), 4).common_mode


def test_four_placebos_widen_nothing_though_they_can_raise_the_alarm() -> None:
    quiet, loud = noise(30), noise(30)
    loud[:4] += np.array([[0.05], [-0.05], [0.05], [-0.05]])
    assert (read(quiet, 4).widening, read(quiet, 4).floor, read(quiet, 4).moved) == (1.0, 0.0, ())
    assert read(loud, 4).moved


def test_placebos_that_move_together_are_no_placebos() -> None:
    """The common mode takes it out of every row, and yet the run is broken: the sides differ in something else."""
    (reason,) = read(noise(20) + 0.03, 20).moved
    assert reason == "rows of identical code together changed by 3.1 %"


def test_a_placebo_that_moves_alone_is_named_by_its_size() -> None:
    logs = noise(20)
    logs[0] -= 0.05
    (reason,) = read(logs, 20).moved
    assert reason.startswith("1 of 20 rows of identical code changed, the most by 5")


def test_placebos_that_move_by_less_than_would_be_claimed_are_noise() -> None:
    assert not read(noise(20) * 0.01 + 0.005, 20).moved


def test_a_slot_effect_that_turn_taking_cancels_is_no_alarm() -> None:
    turns = np.array([1, -1, 1, -1, 1, -1]) * 0.02
    assert not read(noise(20) + turns, 20).moved


def test_no_placebos_say_nothing() -> None:
    assert read(noise(5), 0) == Calibration(0, False, 1.0, 0.0, ())
