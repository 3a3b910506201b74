"""What rows of identical code say about a measurement: its common mode, how far its intervals can be believed, and whether."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import false_discovery_control

from zl_bench.analysis.estimates import Estimates
from zl_bench.analysis.geomeans import group_mean
from zl_bench.analysis.rounds import Marks, Numbers

FEWEST_PLACEBOS = 5
"""With fewer, their median and their quantiles are noise of their own."""
NORMAL_Q90 = 1.645
"""The 90 % quantile of |z| where z is normal."""
ALARM = 0.002
"""The level at which placebos that move are believed to have moved: sound runs must hardly ever be called broken."""


@dataclass(frozen=True)
class Calibration:
    """How the placebos of a run behaved. `moved` says why the run is UNTRUSTED, a sentence each; empty where it is not."""

    placebos: int
    common_mode: bool
    """The placebos' median was taken out of every round."""
    widening: float
    """What every interval was multiplied by."""
    floor: float
    """The log ratio that placebos show in spite of identical code: nothing smaller is claimed of other rows."""
    moved: tuple[str, ...]


def common_mode(logs: Numbers, placebo: Marks) -> Numbers:
    """Of each round, the median of the placebos' log ratios; 0 in a round that has too few of them."""
    enough = _enough(logs, placebo)
    mode = np.zeros(logs.shape[1])
    if enough.any():
        mode[enough] = np.nanmedian(logs[placebo][:, enough], axis=0)
    return mode


def calibrate(raw: Numbers, estimates: Estimates, placebo: Marks, delta: float) -> Calibration:
    """Read a calibration off the placebos. `raw` still has the common mode, `estimates` no more; `delta` is a log ratio."""
    tested = placebo & ~np.isnan(estimates.p)
    placebos, enough = int(tested.sum()), int(tested.sum()) >= FEWEST_PLACEBOS
    widening, floor = 1.0, 0.0
    if enough:
        widening = max(1.0, float(np.quantile(estimates.z[tested], 0.9)) / NORMAL_Q90)
        floor = float(np.quantile(np.abs(estimates.mean[tested]), 0.9))
    moved = tuple(_moved(raw, estimates, tested, delta)) if placebos else ()
    return Calibration(placebos, bool(_enough(raw, placebo).any()), widening, floor, moved)


def _enough(logs: Numbers, placebo: Marks) -> Marks:
    """Of each round, whether it has placebos enough for a common mode."""
    return np.asarray((~np.isnan(logs[placebo])).sum(axis=0) >= FEWEST_PLACEBOS)


def _moved(raw: Numbers, estimates: Estimates, tested: Marks, delta: float) -> Iterator[str]:
    """A run is broken if identical code moved together, or some of it by itself, by as much as would be claimed of a row.

    The intervals are not widened for this: the widening would hide the very rows that it is made from.
    """
    line = group_mean(raw, tested)
    if abs(line.mean) >= delta and line.p <= ALARM:
        yield f"rows of identical code together changed by {_percent(line.mean)}"
    adjusted = false_discovery_control(estimates.p[tested])
    own = np.abs(estimates.mean[tested])
    moved = (adjusted <= ALARM) & (own >= delta)
    if moved.any():
        yield (
            f"{int(moved.sum())} of {int(tested.sum())} rows of identical code changed, "
            f"the most by {_percent(float(own[moved].max()))}"
        )


def _percent(log_ratio: float) -> str:
    return f"{np.expm1(abs(log_ratio)) * 100:.2g} %"
