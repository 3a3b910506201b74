"""Sentences of a report: what was asked, what the answer is and what each word promises, never more than was found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from zl_bench.analysis.axis import AxisState
from zl_bench.analysis.judgement import SAME_WITHIN, Judgement, SpeedVerdict
from zl_bench.analysis.wording import counted, listed
from zl_bench.model import Side, Verdict
from zl_bench.reports.report_view import TimingView
from zl_bench.reports.rounds_view import untrusted
from zl_bench.reports.summary_view import readable

Kind = Literal["variable", "pass", "build", ""]


def kind_of(switch: str) -> Kind:
    """What kind of switch was given, by how it is written; empty where none is known."""
    if not switch:
        return ""
    return "pass" if switch.startswith("pass:") else "build" if switch.startswith("build:") else "variable"


def side_values(switch: str, interpreters: Mapping[Side, str]) -> tuple[str, str]:
    """What each side is, in words. `interpreters` are those that the sides' runs tell."""
    match kind_of(switch):
        case "pass":
            name, _, occurrence = switch.removeprefix("pass:").partition("@")
            several = "s" if "," in occurrence else ""
            which = f"{name} (its occurrence{several} {occurrence} alone)" if occurrence else name
            return f"{name} kept", f"{which} left out"
        case "build":
            before, after = (interpreters.get(side, "") or "another build" for side in ("before", "after"))
            return before, after
        case "variable":
            name, equals, values = switch.partition("=")
            old, _, new = values.partition("..") if equals else ("0", "", "1")
            return _set_to(name, old), _set_to(name, new)
        case _:
            return "", ""


def _set_to(name: str, value: str) -> str:
    return f"{name}={value}" if value else f"{name} unset"


def question(switch: str, before: str, after: str, place: str, *, null_control: bool, timed: bool, rows: str) -> str:
    """The question in one sentence. `place` is the target or the card, `rows` what it was asked of."""
    faster = ", and is it faster" if timed else ""
    where = f" for {place}" if place else ""
    if null_control:
        return f"Are two sides that are asked to be the same ({before}) really the same{where}, over {rows}?"
    match kind_of(switch):
        case "pass":
            return (
                f"Does compiling{where} without {after.removesuffix(' left out')} change the code{faster}, over {rows}?"
            )
        case "build":
            return f"Does the compiler of {after} make other code{where} than that of {before}{faster}, over {rows}?"
        case "variable":
            return f"Does {after} make other code{where} than {before}{faster}, over {rows}?"
        case _:
            return f"Is the after side faster than the before side{where}, over {rows}?"


ANSWERS = {
    Verdict.BROKEN: "{n} broken by it (one side failed where the other measured)",
    Verdict.IR_CHANGED: "{n} with different {stage}",
    Verdict.NO_IR_DIFF: "{n} with identical {stage}",
    Verdict.NO_KERNEL: "{n} without a Triton kernel launched in any row, so nothing there for the switch to act on",
    Verdict.NO_ROWS: "{n} without a row on both sides",
}
"""Each verdict as a part of a sentence; only NO_IR_DIFF says that the code is the same (R4)."""


def answer(
    counts: Mapping[Verdict, int], state: AxisState | None, criterion: str, speed: str, *, complete: bool
) -> str:
    """The answer in one sentence. `speed` is what the measure says, empty where nothing was timed."""
    parts = [
        ANSWERS[verdict].format(n=counts[verdict], stage=criterion.upper())
        for verdict in Verdict
        if counts.get(verdict)
    ]
    total = sum(counts.values())
    caveats = {
        AxisState.NOT_SHOWN_LIVE: "the switch was not shown live, so this excuses no operator",
        AxisState.DEAD: "the compiler does not know the switch",
        AxisState.NULL_CONTROL: "both sides were asked to be the same",
    }
    said = [f"of {counted(total, 'operator')}: {', '.join(parts)}"] if parts else []
    if state in caveats:
        said.append(caveats[state])
    if parts and not complete:
        said.append("operators that were asked for are missing")
    said.append(speed or ("nothing was timed" if parts else "nothing was measured"))
    text = "; ".join(said)
    return f"{text[0].upper()}{text[1:]}."


def speed_answer(judgement: Judgement, rounds: int) -> str:
    """What a measure says, as a part of a sentence."""
    changed = [row for row in judgement.rows if not row.placebo]
    over = f"over {counted(rounds, 'round')}" if rounds != 1 else "over one round, which gives no interval"
    if not judgement.trusted:
        return f"{untrusted(judgement)}, so no speed-up of this measure can be believed"
    if not changed:
        alike = "its code" if len(judgement.rows) == 1 else "the code of each"
        rows = f"{counted(len(judgement.rows), 'row')} {'was' if len(judgement.rows) == 1 else 'were'} measured {over}"
        return f"{rows}, {alike} the same on both sides, so nothing is said of the switch's speed"
    words = Counter(row.verdict for row in changed)
    tallies = ", ".join(f"{words[verdict]} {verdict.value}" for verdict in SpeedVerdict if words[verdict])
    suite = judgement.suite
    mean = f", geometric mean of before / after {readable(suite.speedup)}" if suite.speedup is not None else ""
    interval = f" ({readable(suite.ci_low)} to {readable(suite.ci_high)})" if suite.ci_low and suite.ci_high else ""
    whole = (suite.rows, suite.rounds) == (len(changed), rounds)
    part = "" if whole else f", {suite.rows}/{suite.of} rows over {counted(suite.rounds, 'round')}"
    unchecked = "" if judgement.calibration.placebos else ", unchecked by any row of identical code"
    return f"of {counted(len(changed), 'changed row')} {over}: {tallies}{mean}{interval}{part}{unchecked}"


def speed_sentence(verdict: SpeedVerdict, threshold: float, level: float) -> str:
    """What a verdict on a row promises."""
    at_least, false = f"at least {_percent(threshold)}", f"at most {_percent(level)} of all FASTER and SLOWER are false"
    return {
        SpeedVerdict.FASTER: f"After is faster by {at_least}; {false}.",
        SpeedVerdict.SLOWER: f"After is slower by {at_least}; {false}.",
        SpeedVerdict.NO_CHANGE: f"The 90 % interval lies within {_percent(max(SAME_WITHIN, threshold))} of no change.",
        SpeedVerdict.INCONCLUSIVE: "These rounds can not tell; the smallest change that they would have shown is given.",
        SpeedVerdict.IDENTICAL: "A placebo: the same machine code on both sides, so that whatever it shows is noise.",
        SpeedVerdict.LAUNCH_BOUND: "The host was slower than the device: what was timed is the host.",
        SpeedVerdict.UNTRUSTED: "Rows of identical code moved in this measure, so that no row of it can be believed.",
    }[verdict]


def rounds_basis(counts: Sequence[int], rounds: int) -> str:
    """On how many rounds verdicts rest; `counts` are the rounds that each row has with both sides."""
    if not counts:
        return "No row was measured in rounds."
    if rounds == 1:
        return "One round: a single pair of processes, which gives no interval and no verdict of speed."
    few = [count for count in counts if count < rounds]
    fewer = f"; {counted(len(few), 'row')} with fewer ({listed(map(str, sorted(set(few))))})" if few else ""
    return f"{rounds} rounds, each a fresh pair of processes{fewer}."


def row_basis(paired: int, of: int) -> str:
    """What stands behind one row's numbers."""
    if paired == of:
        return {0: "no round", 1: "one round: no interval"}.get(of, f"{of} rounds")
    suffix = ": no interval" if paired < 2 else ""
    return f"{paired} of {counted(of, 'round')} {'has' if paired == 1 else 'have'} both sides{suffix}"


def compile_basis(*, self_check: bool, target: str) -> str:
    """On how many compiles a screen's verdicts rest."""
    where = f"compiled for {target} without a card, executed nowhere" if target else "compiled and run on a card"
    twice = "; before was compiled twice, to leave out what differs from itself" if self_check else ""
    return f"Each verdict rests on one pair of runs per operator, {where}{twice}."


def ratio_text(timing: TimingView) -> str:
    """`1.0234 (1.0210 to 1.0258)`, or what keeps it from being one."""
    if timing.speedup is None:
        return "-"
    if timing.low is None or timing.high is None:
        return f"{readable(timing.speedup)} ({timing.basis})"
    partial = f"; {timing.basis}" if timing.paired < timing.of else ""
    return f"{readable(timing.speedup)} ({readable(timing.low)} to {readable(timing.high)}{partial})"


def clock_range(readings: Sequence[int]) -> str:
    """`1980 MHz`, `1965 to 1980 MHz`; empty of none."""
    if not readings:
        return ""
    low, high = min(readings), max(readings)
    return f"{low} MHz" if low == high else f"{low} to {high} MHz"


def side_texts(values: Mapping[Side, str]) -> Iterator[str]:
    """`1980 MHz before`, for each side that has something to say."""
    return (f"{text} {side}" for side, text in values.items() if text)


def _percent(share: float) -> str:
    return f"{share * 100:.2g} %"
