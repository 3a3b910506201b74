"""Judges the self-test of the timer on a card: what zl_probe/timing/selftest.py has written becomes findings.

Pure, like the rest of what judges: the answer is data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zl_bench.model import TimingMethod
from zl_bench.workflow.doctor import Finding

AGREEMENT = 0.02
"""Two methods on the same call, and twice the length against once."""
CLOCK_AGREEMENT = 0.1
"""The known length by the card's clock against the measured one. Coarse, since a clock is read now and then: it is for a
timer that is off by a factor."""
STEADY = 0.01
"""The clock is steady once all later readings agree as well as this: the timer's own measure."""
HELD_BACK = frozenset(
    ("hardware slowdown", "software thermal slowdown", "hardware thermal slowdown", "hardware power brake")
)
"""Of the reasons that hold a clock down, those that something is wrong with the card or its cooling."""
OTHER_METHOD = "trust no latency by this method here; time by another one with --timing"


@dataclass(frozen=True)
class Regime:
    """What one method measured with one L2 policy. Milliseconds, None where nothing was measured; `notes` say why."""

    method: str
    l2: str
    known: float | None
    doubled: float | None
    empty: float | None
    expected: float | None
    """What the known length takes by the card's clock; None where that is not told."""
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.method}, L2 {self.l2}"


def judge_selftest(answer: Mapping[str, Any], default: TimingMethod) -> list[Finding]:
    """The findings, in the order of the measurements. `default` is the method that rows are timed by on such a card.

    Raises KeyError, TypeError or ValueError for an answer that is none.
    """
    if answer["reason"]:
        return [Finding("timer", False, str(answer["reason"]), "install the torch that is built for this card")]
    regimes = regimes_of(answer["timings"])
    findings = [_clock(answer["clock"])] if answer["clock"] is not None else []
    findings += [_regime(regime, default) for regime in regimes]
    return [*findings, *_together(regimes)]


def regimes_of(timings: Iterable[Mapping[str, Any]]) -> list[Regime]:
    """The measurements by method and L2 policy, in their order."""
    groups: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for timing in timings:
        groups.setdefault((str(timing["method"]), str(timing["l2"])), {})[str(timing["what"])] = timing
    found = []
    for (method, l2), calls in groups.items():
        known, doubled, empty = (_milliseconds(calls, what, "measured_ms") for what in ("known", "doubled", "empty"))
        expected = _milliseconds(calls, "known", "expected_ms")
        notes = dict.fromkeys(str(call["note"]) for call in calls.values() if call["note"])
        found.append(Regime(method, l2, known, doubled, empty, expected, tuple(notes)))
    return found


def steady_after(ramp: Sequence[tuple[float, float]]) -> float | None:
    """Milliseconds under load after which every reading of the clock agrees; None if fewer than three do."""
    for place in range(len(ramp) - 2):
        later = [clock for _, clock in ramp[place:]]
        if max(later) <= min(later) * (1 + STEADY):
            return ramp[place][0]
    return None


def _milliseconds(calls: Mapping[str, Mapping[str, Any]], what: str, name: str) -> float | None:
    value = calls[what][name] if what in calls else None
    return None if value is None else float(value)


def _clock(told: Mapping[str, Any]) -> Finding:
    idle, loaded = told["idle"] or {}, told["loaded"] or {}
    if not told["ramp"]:
        return Finding("clock", True, "not told by this vendor; the timer warms up until its own durations agree")
    after = steady_after([(float(at), float(clock)) for at, clock in told["ramp"]])
    rest = f"does not come to rest within {told['ramp'][-1][0]:.0f} ms, so rows are measured for longer"
    about = [
        f"{_number(idle, 'clock_mhz', 'MHz')} idle, {_number(loaded, 'clock_mhz', 'MHz')} under load",
        rest if after is None else f"steady after {after:.0f} ms",
        f"memory {_number(loaded, 'memory_clock_mhz', 'MHz')}",
        f"{_number(loaded, 'temperature_c', '°C')}, {_number(loaded, 'power_w', 'W')}",
    ]
    reasons = [str(reason) for reason in loaded.get("throttle") or ()]
    about.append(f"held down by: {', '.join(reasons)}" if reasons else "nothing holds it down")
    wrong = sorted(HELD_BACK.intersection(reasons))
    remedy = "see to the card's cooling and power: what is timed now is a slower card" if wrong else ""
    return Finding("clock", not wrong, ", ".join(about), remedy)


def _number(reading: Mapping[str, Any], name: str, unit: str) -> str:
    value = reading.get(name)
    return f"unknown {unit}" if value is None else f"{value:g} {unit}"


def _regime(regime: Regime, default: TimingMethod) -> Finding:
    subject = f"timing by {regime}"
    if regime.known is None or regime.doubled is None:
        why = "; ".join(regime.notes) or "the self-test came to its end before"
        if regime.method not in (default, "direct"):
            return Finding(subject, True, f"not to be had: {why}")
        instead = "rows are timed by the next method" if regime.method != "direct" else "nothing is timed by do_bench"
        return Finding(subject, False, f"not to be had: {why}", f"until that is mended, {instead}")
    parts = [f"a call of known length takes {_time(regime.known)}"]
    wrong = []
    if regime.expected is not None:
        parts[0] += f", by the card's clock {_time(regime.expected)}"
        if not _agree(regime.known, regime.expected, CLOCK_AGREEMENT):
            wrong.append("which is not what the clock says")
    ratio = regime.doubled / regime.known
    parts.append(f"one of twice that {ratio:.3f} times as long")
    if not _agree(ratio, 2.0, AGREEMENT):
        wrong.append(f"which should be 2 within {AGREEMENT:.0%}")
    parts.append(f"an empty one {_time(regime.empty)}" if regime.empty is not None else _no_empty(regime))
    text = ", ".join(parts) + (f": {'; '.join(wrong)}" if wrong else "")
    return Finding(subject, not wrong, text, OTHER_METHOD if wrong else "")


def _no_empty(regime: Regime) -> str:
    return f"an empty one was not measured ({'; '.join(regime.notes) or 'no reason told'})"


def _together(regimes: Sequence[Regime]) -> list[Finding]:
    """How the methods compare with each other; nothing where only one measured."""
    known = {str(regime): regime.known for regime in regimes if regime.known is not None}
    if len(known) < 2:
        return []
    shortest, longest = min(known, key=known.__getitem__), max(known, key=known.__getitem__)
    apart = known[longest] / known[shortest] - 1
    good = apart <= AGREEMENT
    text = f"they agree within {apart:.2%} on the call of known length"
    if not good:
        text = f"{longest} takes {apart:.1%} longer than {shortest} on the same call, more than {AGREEMENT:.0%}"
    findings = [Finding("timing methods", good, text, "" if good else "compare latencies of one method only")]
    return findings + _overheads(regimes)


def _overheads(regimes: Sequence[Regime]) -> list[Finding]:
    """What each method adds: the time of an empty call. A graph adds less than a launch from the host, or it is no graph."""
    # Of a method with two policies the warm one, which comes first: a cold graph's has an event on either side.
    empty = {regime.method: regime.empty for regime in reversed(regimes) if regime.empty is not None}
    if not {"graph", "direct"} <= empty.keys():
        return []
    good = empty["graph"] < empty["direct"]
    told = ", ".join(
        f"{_time(empty[method])} by {method}" for method in ("graph", "queued", "direct") if method in empty
    )
    text = f"an empty call takes {told}" + ("" if good else ": a graph should add less than a launch from the host")
    return [Finding("timing overhead", good, text, "" if good else OTHER_METHOD)]


def _agree(one: float, other: float, share: float) -> bool:
    return abs(one - other) <= share * abs(other)


def _time(milliseconds: float) -> str:
    return f"{milliseconds * 1e3:.3g} us" if milliseconds < 0.1 else f"{milliseconds:.4g} ms"
