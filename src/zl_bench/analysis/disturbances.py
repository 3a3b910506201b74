"""Whether a pair was disturbed, by rules that see the card and never a latency.

A rule that looked at the ratio would throw away what it does not like. These look at why the clock was held down, at how the
clock moved while a row was timed, and at who else was on the card; what they find costs the whole pair, both sides alike.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from zl_bench.analysis.wording import listed
from zl_bench.model import CardReading, Side

DISTURBING = frozenset(
    ["hardware slowdown", "software thermal slowdown", "hardware thermal slowdown", "hardware power brake"]
)
"""Reasons for a held-down clock that come from outside the measured work. The power cap is none: a kernel that reaches it does
so in every round, on both sides, and dropping its pairs would leave nothing of it."""
POWER_CAP = "power cap"
CLOCK_STEP = 0.05
"""The share by which a clock may move within a turn, or between the two sides of a row. Under steady load a card keeps its
clock to a step or two of 15 MHz in about 1980; one that went idle comes back from 345."""


@dataclass(frozen=True)
class Beside:
    """What the card told beside one turn of a row; `others` is how many processes were on it but for the timed one."""

    row: str
    side: Side
    before: CardReading | None
    after: CardReading | None
    others: int | None = None


def disturbances(pair: Sequence[Beside], usual_others: int | None) -> tuple[str, ...]:
    """Why a pair is to be dropped, a reason each, none if it stands.

    `usual_others` is how many other processes there are on the card when nothing disturbs: the other side's, and whoever was
    there all along; None where that is not known.
    """
    found = [*_held_down(pair), *_stepped(pair), *_between_sides(pair), *_joined(pair, usual_others)]
    return tuple(dict.fromkeys(found))


def fewest_others(pair: Collection[Beside], known: int | None) -> int | None:
    """The fewest other processes ever seen on the card, which are there all along."""
    counts = [one.others for one in pair if one.others is not None]
    return min([*counts, *([] if known is None else [known])], default=None)


def _held_down(pair: Sequence[Beside]) -> Iterator[str]:
    reasons = {word for one in pair for reading in _readings(one) for word in reading.throttle} & DISTURBING
    if reasons:
        yield f"the clock was held down: {listed(sorted(reasons))}"


def _stepped(pair: Sequence[Beside]) -> Iterator[str]:
    for one in pair:
        clocks = [reading.clock_mhz for reading in _readings(one)]
        if len(clocks) == 2 and None not in clocks and not _capped([one]) and _apart(*map(float, filter(None, clocks))):
            yield f"the clock stepped from {clocks[0]} to {clocks[1]} MHz while {one.row} was timed {one.side}"


def _between_sides(pair: Sequence[Beside]) -> Iterator[str]:
    """Of each row, the sides' clocks: kernels of one operator load the card alike, unless its power is at the limit."""
    rows: dict[str, list[Beside]] = {}
    for one in pair:
        rows.setdefault(one.row, []).append(one)
    for row, turns in rows.items():
        before, after = (_mean_clock([one for one in turns if one.side == side]) for side in ("before", "after"))
        if before and after and not _capped(turns) and _apart(before, after):
            yield f"the clock was {before:.0f} MHz before and {after:.0f} MHz after at {row}"


def _joined(pair: Sequence[Beside], usual: int | None) -> Iterator[str]:
    most = max((one.others for one in pair if one.others is not None), default=None)
    if most is not None and usual is not None and most > usual:
        yield f"another process came to the card ({most} beside the timed one, {usual} as a rule)"


def _readings(one: Beside) -> list[CardReading]:
    return [reading for reading in (one.before, one.after) if reading is not None]


def _capped(turns: Sequence[Beside]) -> bool:
    return any(POWER_CAP in reading.throttle for one in turns for reading in _readings(one))


def _mean_clock(turns: Sequence[Beside]) -> float | None:
    clocks = [reading.clock_mhz for one in turns for reading in _readings(one) if reading.clock_mhz]
    return sum(clocks) / len(clocks) if clocks else None


def _apart(*clocks: float) -> bool:
    return len(clocks) == 2 and max(clocks) > min(clocks) * (1 + CLOCK_STEP)
