"""Made-up rounds: rows that stay, move or jitter as a test says."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from zl_bench.analysis.rounds import RoundMedian
from zl_bench.model import RowKey, Side


def key(
    detail: str = "64", operator: str = "mm", *, dtype: str = "float16", node: str = "", ordinal: int = 0
) -> RowKey:
    return RowKey(node, operator, dtype, ordinal, detail)


def row(
    before: Sequence[float], after: Sequence[float], where: RowKey | None = None, *, identical: bool = False
) -> list[RoundMedian]:
    """A row with these medians in milliseconds, in rounds from 0 on."""
    place = where or key()
    sides: tuple[tuple[Side, Sequence[float]], ...] = (("before", before), ("after", after))
    return [
        RoundMedian(place, number, side, milliseconds, identical)
        for side, medians in sides
        for number, milliseconds in enumerate(medians)
    ]


def suite(
    speedups: Sequence[float], placebos: Sequence[float] = (), *, rounds: int = 6, noise: float = 0.002, seed: int = 0
) -> list[RoundMedian]:
    """Changed rows `c0`, `c1`, … of the operators op0 to op2, and placebos `p0`, …, with these true speed-ups."""
    random = np.random.default_rng(seed)
    found: list[RoundMedian] = []
    for place, speedup in enumerate((*speedups, *placebos)):
        identical = place >= len(speedups)
        detail = f"p{place - len(speedups)}" if identical else f"c{place}"
        base = math.exp(random.uniform(-4, 1))
        before, after = base * np.exp(random.normal(0, noise, (2, rounds)))
        where = key(detail, f"op{place % 3}")
        found += row(before.tolist(), (after / speedup).tolist(), where, identical=identical)
    return found
