"""Verdicts over rounds: which rows became faster or slower, which did not, and where these rounds can not tell.

`assess` works on arrays alone, so that a benchmark can call it on thousands of simulated suites; `judge` names what it found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import NDArray
from scipy.stats import false_discovery_control

from zl_bench.analysis.calibration import Calibration, calibrate, common_mode
from zl_bench.analysis.estimates import Estimates, estimate
from zl_bench.analysis.geomeans import GroupMean, group_mean
from zl_bench.analysis.rounds import Marks, Numbers, Rounds
from zl_bench.model import RowKey

DELTA = 0.01
"""The smallest change that is called one, unless another is asked for."""
SAME_WITHIN = 0.02
"""What NO_CHANGE promises: the 90 % interval lies within this of no change."""
POWER = 0.8
"""The probability with which a change of the size of `mde` would have been found."""
LARGEST_LOG = 700.0
"""Of a number that a float can hold."""
TOLERANCE = 1e-9
"""Of comparisons with a change that is asked for: one of just that size is large enough, however its digits were rounded."""


class SpeedVerdict(Enum):
    """One word per row. Of FASTER, SLOWER and NO_CHANGE the first that holds, INCONCLUSIVE where none does."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    NO_CHANGE = "NO_CHANGE"
    INCONCLUSIVE = "INCONCLUSIVE"
    IDENTICAL = "IDENTICAL"
    """The code is the same on both sides: nothing is ever claimed of such a row."""
    LAUNCH_BOUND = "LAUNCH_BOUND"
    """What was timed is the host."""
    UNTRUSTED = "UNTRUSTED"
    """Rows of identical code moved, so that no row of this run can be believed."""


@dataclass(frozen=True)
class Look:
    """A moment at which a measurement is judged: after so many rounds, with this rate of false discoveries."""

    rounds: int
    q: float


def looks_for(rounds: int) -> tuple[Look, ...]:
    """The looks of a measurement that is planned with so many rounds.

    Six allow an early one after three. Each look spends a share of the 5 %, so that looking twice makes nothing likelier to
    be found falsely; any other number of rounds is looked at once, at its end.
    """
    return (Look(3, 0.01), Look(6, 0.04)) if rounds == 6 else (Look(rounds, 0.05),)


@dataclass(frozen=True, eq=False)
class Assessment:
    """Everything that was found, a place per row. Log ratios are ln(after / before); errors are widened already."""

    estimates: Estimates
    q: Numbers
    """Adjusted over the changed rows (Benjamini-Hochberg); NaN of rows that are no part of that."""
    visible: Numbers
    """As a log ratio, the smallest change that would have been called one with a probability of 80 %; NaN as q is."""
    verdicts: NDArray[np.object_]
    calibration: Calibration
    adjusted: Numbers
    """The log ratios without the placebos' common mode, rows by rounds."""
    threshold: float
    """The log ratio from which a change was called one."""


@dataclass(frozen=True)
class JudgedRow:
    """A line of the table. None where it can not be known."""

    key: RowKey
    placebo: bool
    rounds: int
    before_ms: float | None
    """The geometric mean over the rounds, as measured: the common mode is taken out of `speedup` alone."""
    after_ms: float | None
    speedup: float | None
    """before / after, above 1 is faster."""
    ci_low: float | None
    """95 % interval of the speed-up."""
    ci_high: float | None
    q: float | None
    mde: float | None
    """As a share, 0.01 is 1 %: the smallest change that these rounds would have shown with a probability of 80 %."""
    verdict: SpeedVerdict


@dataclass(frozen=True)
class JudgedGroup:
    """The geometric mean of some rows' speed-ups, with its 95 % interval over rounds; None where it can not be known."""

    name: str
    rows: int
    of: int
    rounds: int
    speedup: float | None
    ci_low: float | None
    ci_high: float | None


@dataclass(frozen=True)
class Judgement:
    """A measurement, judged. `operators` and `suite` are of the changed rows alone."""

    rows: tuple[JudgedRow, ...]
    operators: tuple[JudgedGroup, ...]
    suite: JudgedGroup
    placebos: JudgedGroup
    """As measured, with the common mode: at 1 within its interval, or identical code changed."""
    calibration: Calibration
    threshold: float
    """The change from which FASTER and SLOWER are said, as a share."""
    level: float
    """The rate of false discoveries among them."""

    @property
    def trusted(self) -> bool:
        """Whether the rows of identical code stayed where they were."""
        return not self.calibration.moved


def judge(rounds: Rounds, level: float = 0.05, delta: float = DELTA) -> Judgement:
    """Judge what was measured at a rate of false discoveries `level`, for changes of at least `delta` (a share)."""
    found = assess(rounds.logs, rounds.placebo, rounds.launch_bound, rounds.tick_variance, level=level, delta=delta)
    reach = found.estimates.reach(0.95)
    rows = tuple(_judged_row(rounds, found, reach, place) for place in range(len(rounds.keys)))
    changed = ~rounds.placebo & ~rounds.launch_bound
    names = np.array([key.operator for key in rounds.keys], dtype=object)
    operators = tuple(
        _group(name, group_mean(found.adjusted, changed & (names == name))) for name in sorted({*names[changed]})
    )
    return Judgement(
        rows=rows,
        operators=operators,
        suite=_group("all changed rows", group_mean(found.adjusted, changed)),
        placebos=_group("placebos", group_mean(rounds.logs, rounds.placebo & ~rounds.launch_bound)),
        calibration=found.calibration,
        threshold=math.expm1(found.threshold),
        level=level,
    )


def assess(
    logs: Numbers,
    placebo: Marks,
    launch_bound: Marks,
    tick_variance: Numbers,
    *,
    level: float = 0.05,
    delta: float = DELTA,
) -> Assessment:
    """Judge rows x rounds of log ratios ln(after / before), NaN where a round lacks a row.

    Rows that are the host's time take no part in anything. A change counts from `delta` on, or from what placebos show.
    """
    steady, changed = placebo & ~launch_bound, ~placebo & ~launch_bound
    adjusted = logs - common_mode(logs, steady)
    sound = np.where(launch_bound[:, None], np.nan, adjusted)
    plain, smallest = estimate(sound, tick_variance), math.log1p(delta)
    calibration = calibrate(logs, plain, steady, smallest)
    estimates = plain.widened(calibration.widening)
    threshold = max(smallest, calibration.floor)
    q, visible = _adjusted(estimates, changed, level, threshold)
    verdicts = _verdicts(estimates, q, level, threshold, max(math.log1p(SAME_WITHIN), smallest))
    if calibration.moved:
        verdicts[:] = SpeedVerdict.UNTRUSTED
    verdicts[launch_bound] = SpeedVerdict.LAUNCH_BOUND
    verdicts[placebo] = SpeedVerdict.IDENTICAL
    return Assessment(estimates, q, visible, verdicts, calibration, adjusted, threshold)


def _adjusted(estimates: Estimates, changed: Marks, level: float, threshold: float) -> tuple[Numbers, Numbers]:
    """q values and visible changes. What a row needs is decided by how many others were found: the more, the less."""
    q, visible = np.full(changed.shape, np.nan), np.full(changed.shape, np.nan)
    family = changed & ~np.isnan(estimates.p)
    if family.any():
        q[family] = false_discovery_control(estimates.p[family])
        found = max(1, int((q[family] <= level).sum()))
        needed = level * found / int(family.sum())
        visible[family] = np.maximum(estimates.visible(needed, POWER)[family], threshold)
    return q, visible


def _verdicts(estimates: Estimates, q: Numbers, level: float, threshold: float, same: float) -> NDArray[np.object_]:
    """FASTER, SLOWER, NO_CHANGE or INCONCLUSIVE of every row as if it were a changed one; NaN compares as false."""
    mean = estimates.mean
    moved = (q <= level) & (np.abs(mean) >= threshold - TOLERANCE)
    within = np.abs(mean) + estimates.reach(0.9) <= same + TOLERANCE
    words = np.full(mean.shape, SpeedVerdict.INCONCLUSIVE, dtype=object)
    words[within] = SpeedVerdict.NO_CHANGE
    words[moved & (mean < 0)] = SpeedVerdict.FASTER
    words[moved & (mean > 0)] = SpeedVerdict.SLOWER
    return words


def _judged_row(rounds: Rounds, found: Assessment, reach: Numbers, place: int) -> JudgedRow:
    mean, half = float(found.estimates.mean[place]), float(reach[place])
    before, after = rounds.before[place], rounds.after[place]
    measured = ~np.isnan(before)
    verdict: SpeedVerdict = found.verdicts[place]
    return JudgedRow(
        key=rounds.keys[place],
        placebo=bool(rounds.placebo[place]),
        rounds=int(measured.sum()),
        before_ms=_exponential(float(np.log(before[measured]).mean())) if measured.any() else None,
        after_ms=_exponential(float(np.log(after[measured]).mean())) if measured.any() else None,
        speedup=_exponential(-mean),
        ci_low=_exponential(-mean - half),
        ci_high=_exponential(-mean + half),
        q=_known(float(found.q[place])),
        mde=_share(float(found.visible[place])),
        verdict=verdict,
    )


def _group(name: str, mean: GroupMean) -> JudgedGroup:
    low, high = _exponential(-mean.mean - mean.reach), _exponential(-mean.mean + mean.reach)
    return JudgedGroup(name, mean.rows, mean.of, mean.rounds, _exponential(-mean.mean), low, high)


def _exponential(log: float) -> float | None:
    """The exponential, None where it is not known or no number can say it."""
    return math.exp(log) if abs(log) < LARGEST_LOG else None


def _share(log_ratio: float) -> float | None:
    return math.expm1(log_ratio) if log_ratio < LARGEST_LOG else None


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
