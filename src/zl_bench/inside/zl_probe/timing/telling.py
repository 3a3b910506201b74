"""How a latency is said in the record: its numbers and its circumstances as fields of the `latency` event."""

from collections.abc import Mapping
from typing import Any

from .summary import Summary, summarise
from .turns import Turn

NOTHING_SAID: Mapping[str, Any] = {"warmup_ms": 0.0, "launch_bound": False, "before": None, "after": None, "others": []}
"""Of the circumstances, where nothing was measured."""


def said(turns: list[Turn]) -> dict[str, Any]:
    """What a latency says of its turns; each by itself where there were several."""
    first, last = turns[0], turns[-1]
    told = {
        "warmup_ms": round(sum(turn.warm_up.milliseconds for turn in turns), 3),
        "launch_bound": any(turn.samples.launch_bound for turn in turns),
        "before": first.before,
        "after": last.after,
    }
    return {**told, "turns": [_one_turn(turn) for turn in turns]} if len(turns) > 1 else told


def _one_turn(turn: Turn) -> dict[str, Any]:
    found = summarise(turn.samples.milliseconds)
    warm_up = {"warmup_ms": round(turn.warm_up.milliseconds, 3), "steady": turn.warm_up.steady}
    card = {"before": turn.before, "after": turn.after}
    return {"median_ms": _plain(found.median_ms), "samples": found.samples, **warm_up, **card}


def values(summary: Summary) -> dict[str, Any]:
    """Its numbers, as JSON holds them."""
    numbers = {name: _plain(getattr(summary, name)) for name in ("median_ms", "q1_ms", "q3_ms", "min_ms")}
    return {**numbers, "samples": summary.samples}


def _plain(value: float) -> float | str:
    """JSON has no words for what is no finite number."""
    return value if value - value == 0 else str(value)
