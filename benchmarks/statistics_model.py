"""Suites whose truth is known, for statistics_of_rounds.py: what two sides would measure, row by row and round by round.

A median is, as a logarithm, the row's own latency, plus the clock's drift as far as the row hangs on the clock, plus what its
process is off by as a whole, plus noise of its own. Drift is a card that warms up, and a random walk from turn to turn; some
rows have a second mode, and some medians were disturbed. Turns go before, after, after, before …, or the other way round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from zl_bench.analysis.rounds import Marks, Numbers, Rounds, table_place, tick_of
from zl_bench.model import RowKey

SHORTEST_MS, LONGEST_MS = 0.006, 5.0
NOISE_APART = 0.35
"""How far the rows' noises lie apart, as the standard deviation of their logarithms."""
CLOCK_LEAST, CLOCK_MOST = 0.1, 1.0
"""From rows bound by memory to rows bound by the clock."""
WALK, WARMING, WARMED_AFTER_TURNS = 0.003, 0.02, 2.5
PROCESS = 0.0015
SECOND_MODE, SECOND_MODE_ROWS = 0.03, 0.08
DISTURBANCE, DISTURBED = 0.05, 0.01
OPERATORS = 17
WRITTEN_DIGITS = 7
"""Behind the point, of milliseconds in a file."""


@dataclass(frozen=True)
class Model:
    """What is measured, and how well. Changes of latency are shares: 0.01 is 1 %."""

    rounds: int = 6
    effect: float = 0.0
    """The speed-up of those changed rows that really moved."""
    share: float = 0.25
    """The probability of a changed row to have moved."""
    changed: int = 60
    placebos: int = 40
    noise: float = 0.004
    drift: float = 1.0
    """Times what a card drifts by."""
    slot: float = 0.0
    """What the second turn of a round costs more, of a row that hangs on the clock alone."""
    tick_ms: float = 0.0
    """The step in which the timer counts; 0 is none."""
    shared: float = 0.0
    """The standard deviation of a noise that the rows of one operator share in each turn."""


@dataclass(frozen=True, eq=False)
class Suite:
    """What was measured, and the truth behind it: of each row ln(after / before)."""

    rounds: Rounds
    truth: Numbers
    noise: Numbers
    """Of each row, the standard deviation of its own noise."""


def simulate(model: Model, random: np.random.Generator) -> Suite:
    """One suite, with its rows in the order of tables. Changed rows and placebos are spread over the same operators."""
    rows = model.changed + model.placebos
    keys, places = _keys(rows)
    placebo: Marks = places >= model.changed
    moved = ~placebo & (random.random(rows) < model.share)
    truth = np.where(moved, -math.log1p(model.effect), 0.0)
    noise = model.noise * np.exp(random.normal(0, NOISE_APART, rows))
    turns = _turns(model, places % OPERATORS, noise, random)
    after_first = (np.arange(model.rounds) + random.integers(2)) % 2 == 1
    before = np.where(after_first, turns[:, :, 1], turns[:, :, 0])
    after = np.where(after_first, turns[:, :, 0], turns[:, :, 1]) + truth[:, None]
    sides = [_as_written(np.exp(side), model.tick_ms) for side in (before, after)]
    tick = tick_of(np.concatenate(sides, axis=None))
    rounds = Rounds(keys, tuple(range(model.rounds)), *sides, placebo, np.zeros(rows, dtype=bool), tick)
    return Suite(rounds, truth, noise)


@cache
def _keys(rows: int) -> tuple[tuple[RowKey, ...], NDArray[np.int64]]:
    """The keys of rows numbered from 0 in the order of tables, and their numbers."""
    keys = (RowKey("", f"op{number % OPERATORS:02d}", "float16", 0, f"[{number:03d}]") for number in range(rows))
    ordered = tuple(sorted(keys, key=table_place))
    return ordered, np.array([int(key.detail[1:-1]) for key in ordered])


def _turns(model: Model, operators: NDArray[np.int64], noise: Numbers, random: np.random.Generator) -> Numbers:
    """Logarithms of what both turns of each round would measure of code that did not change: rows x rounds x 2.

    `operators` are each row's, numbered.
    """
    rows = len(operators)
    shape = (rows, model.rounds, 2)
    turn, slot = np.arange(2 * model.rounds).reshape(model.rounds, 2), np.array([0, 1])
    walk = random.normal(0, WALK, 2 * model.rounds).cumsum().reshape(model.rounds, 2)
    drift = model.drift * (walk + WARMING * np.exp(-turn / WARMED_AFTER_TURNS)) + model.slot * slot
    clock = random.uniform(CLOCK_LEAST, CLOCK_MOST, rows)
    process = random.normal(0, PROCESS, (model.rounds, 2))
    shared = random.normal(0, model.shared, (OPERATORS, model.rounds, 2))[operators]
    second = (random.random(rows) < SECOND_MODE_ROWS)[:, None, None] & (random.random(shape) < 0.5)
    disturbed = random.random(shape) < DISTURBED
    return np.asarray(
        random.uniform(math.log(SHORTEST_MS), math.log(LONGEST_MS), rows)[:, None, None]
        + clock[:, None, None] * drift
        + process
        + shared
        + random.normal(0, 1, shape) * noise[:, None, None]
        + SECOND_MODE * second
        + np.abs(random.normal(0, DISTURBANCE, shape)) * disturbed
    )


def _as_written(latencies: Numbers, tick_ms: float) -> Numbers:
    counted = np.round(latencies / tick_ms) * tick_ms if tick_ms else latencies
    return np.round(counted, WRITTEN_DIGITS)
