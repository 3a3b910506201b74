"""The bars that rounds on a card are held against, and what was found."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from card_results import Line, Results
from rounds_confirm import Confirmation, confirmations, orders
from rounds_results import Measured, measured, together
from rounds_spike import Spiked, spikes
from rounds_spread import PROMISED, FalseVerdicts, Spread, most_by_chance, of_halves, of_operators, spreads

from zl_bench.analysis.judgement import JudgedGroup, judge

OPERATORS_BAR = 15
LONG = "topk"
"""The operator whose cost has a bar: fourteen rows."""
COST_BAR = 120.0
SEED = 1
HEAD = ("what", "found", "bar", "held")


@dataclass(frozen=True)
class Judged:
    """Everything that the report says, worked out of the recorded rounds."""

    results: Results
    aa: Sequence[Measured]
    rlc: Sequence[Measured]
    mirror: Sequence[Measured]
    placebos: JudgedGroup | None
    """All rows of identical code together; None without any."""
    spreads: Sequence[Spread]
    halves: FalseVerdicts
    alone: FalseVerdicts
    spiked: Sequence[Spiked]
    confirmations: Sequence[Confirmation]
    reversed_orders: tuple[int, int]

    @classmethod
    def of(cls, results: Results) -> Judged:
        aa, rlc, mirror = (measured(results, part) for part in ("aa", "rlc", "mirror"))
        rounds, planned = together(aa), max((one.planned for one in aa), default=0)
        return cls(
            results,
            aa,
            rlc,
            mirror,
            judge(rounds).placebos if aa else None,
            spreads(rounds) if aa else [],
            of_halves(rounds, planned, SEED) if aa else FalseVerdicts(0, 0, 0, 0, 0),
            of_operators(aa),
            spikes(rounds, planned) if aa else [],
            confirmations(rlc, mirror),
            orders(rlc, mirror),
        )

    @property
    def untrusted(self) -> list[str]:
        """Operators of which the tool said, of identical code, that it had moved."""
        return [one.name for one in self.aa if not one.looked.judgement.trusted]


def bars(judged: Judged) -> list[list[str]]:
    """A line per bar: what it is about, what was found, the bar, and whether it is held."""
    return [
        _operators("identical code", judged.aa),
        *_false_verdicts(judged),
        _placebo_line(judged.placebos),
        *(_spiked(one) for one in judged.spiked),
        _never_faster(judged.spiked),
        _operators("a pass left out", judged.rlc),
        *_confirmed(judged),
        _cost(judged.results.of("aa", LONG)),
    ]


def change(speedup: float | None, low: float | None, high: float | None) -> str:
    """A speed-up with its interval."""
    return f"{_number(speedup)} [{_number(low)}, {_number(high)}]"


def _operators(what: str, each: Sequence[Measured]) -> list[str]:
    rows = sum(len(one.rounds.keys) for one in each)
    return _bar(
        f"operators, {what}", f"{len(each)} ({rows} rows)", f">= {OPERATORS_BAR}", len(each) >= OPERATORS_BAR, each
    )


def _false_verdicts(judged: Judged) -> list[list[str]]:
    halves, alone, most = judged.halves, judged.alone, most_by_chance(judged.alone.suites)
    share = f"{halves.some} of {halves.suites} ({100 * halves.share:.1f} %)" if halves.suites else "-"
    return [
        _bar(
            "identical code, half of the rows judged as changed: suites with a false verdict",
            share,
            f"<= {100 * PROMISED:.0f} %",
            halves.share <= PROMISED,
            halves.suites,
        ),
        _bar(
            "identical code, each operator judged as changed: operators with a false verdict",
            f"{alone.some} of {alone.suites}",
            f"<= {most}",
            alone.some <= most,
            alone.suites,
        ),
        _bar(
            "identical code: operators UNTRUSTED",
            ", ".join(judged.untrusted) or "none",
            "none",
            not judged.untrusted,
            judged.aa,
        ),
    ]


def _placebo_line(line: JudgedGroup | None) -> list[str]:
    what, bar = "identical code: all rows together, before / after", "1 within its interval"
    if line is None or line.ci_low is None or line.ci_high is None:
        return _bar(what, "-", bar, False, None)
    return _bar(what, change(line.speedup, line.ci_low, line.ci_high), bar, line.ci_low <= 1 <= line.ci_high, line)


def _spiked(one: Spiked) -> list[str]:
    found = f"{100 * one.found_share:.1f} % of {one.planted}" if one.planted else "-"
    bar = f"{100 * one.promised_share:.1f} % within {100 * one.tolerance:.1f}" if one.planted else "-"
    return _bar(f"planted {100 * one.effect:.0f} %: found SLOWER", found, bar, one.as_promised, one.planted)


def _never_faster(each: Sequence[Spiked]) -> list[str]:
    wrong, planted = sum(one.faster for one in each), sum(one.planted for one in each)
    return _bar("planted slower: found FASTER", str(wrong), "0", not wrong, planted)


def _confirmed(judged: Judged) -> list[list[str]]:
    told = [one for one in judged.confirmations if one.second is not None]
    outcomes = [one.outcome for one in told]
    contradicted = [one.name for one in told if one.outcome == "contradicted"]
    found = (
        f"{len(contradicted)} of {len(told)} ({outcomes.count('confirmed')} confirmed, "
        f"{outcomes.count('not decided')} not decided)"
    )
    turned, places = judged.reversed_orders
    return [
        _bar("a pass left out: rows FASTER or SLOWER that are contradicted", found, "0", not contradicted, told),
        _bar("a pass left out: rows not measured again", *_missing(judged.confirmations), judged.confirmations),
        _bar("measured again: the other side first", f"{turned} of {places}", "all", turned == places, places),
    ]


def _missing(each: Sequence[Confirmation]) -> tuple[str, str, bool]:
    missing = sum(one.second is None for one in each)
    return f"{missing} of {len(each)}", "0", not missing


def _cost(line: Line | None) -> list[str]:
    what = f"{LONG}: seconds of six rounds"
    one = Measured(line) if line is not None and line["record"] else None
    if one is None or one.planned != 6 or one.line["resumed"]:
        return _bar(what, "-", f"<= {COST_BAR:.0f}", False, None)
    found = f"{one.line['wall']:.0f} ({len(one.rounds.keys)} rows; {one.seconds:.0f} of it in pairs)"
    return _bar(what, found, f"<= {COST_BAR:.0f}", one.line["wall"] <= COST_BAR, one)


def _bar(what: str, found: str, bar: str, held: bool, done: object) -> list[str]:
    return [what, found, bar, "not measured" if not done else "pass" if held else "FAIL"]


def _number(value: float | None) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:.4f}"
