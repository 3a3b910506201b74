"""A bisection by speed as lines of text: what makes the change, or what these rounds can not say, and what to try."""

from __future__ import annotations

from collections.abc import Iterator

from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.analysis.reasons import describe_row
from zl_bench.analysis.wording import counted
from zl_bench.reports.summary_view import readable
from zl_bench.store.bisect_log import Timed
from zl_bench.workflow.bisect_lines import found_lines, names
from zl_bench.workflow.bisect_speed import SpeedBisection, Stopped
from zl_bench.workflow.parts import Parts

NO_PART = "no part makes a difference that these rounds can show"
WORDS = {SpeedVerdict.SLOWER: "slower", SpeedVerdict.FASTER: "faster"}
FORBIDDEN = {
    SpeedVerdict.INCONCLUSIVE: "noise forbids an answer",
    SpeedVerdict.UNTRUSTED: "noise forbids an answer: rows of identical code moved",
    SpeedVerdict.LAUNCH_BOUND: "no answer: what was timed is the host, which is slower than the device",
}
ADVICE = {
    SpeedVerdict.INCONCLUSIVE: "more rounds (--rounds 12), or another row (--row N)",
    SpeedVerdict.UNTRUSTED: "a card that nobody else uses, more rounds (--rounds 12), or another row (--row N)",
    SpeedVerdict.LAUNCH_BOUND: "--timing graph or queued, or another row (--row N)",
}


def step_line(parts: Parts, timed: Timed, logged: bool) -> str:
    """What came of a step."""
    return f"  {_called(parts)}: {told(timed)}{' (from the log)' if logged else ''}"


def told(timed: Timed) -> str:
    """A verdict with what it rests on."""
    if timed.verdict == SpeedVerdict.IDENTICAL.value:
        return f"{timed.verdict} machine code, not timed"
    numerics = " (numerics differ)" if timed.numerics_differ else ""
    could = "" if SpeedVerdict(timed.verdict) in WORDS else _mde(timed)
    return f"{timed.verdict}{numerics}, {_speedup(timed)}, {counted(timed.rounds, 'round')}{could}"


def speed_lines(bisection: SpeedBisection) -> Iterator[str]:
    """The whole answer: what was found, or why nothing was, and what it took."""
    whole = bisection.outcomes.get(bisection.parts)
    if whole is not None and whole.row is not None:
        row = f"{whole.row.operator} {describe_row(whole.row)}"
        yield f"row {row}: {_called(bisection.parts)}: {told(whole)}"
    if bisection.stopped is not None:
        yield from _stopped(bisection, bisection.stopped)
    elif whole is not None and bisection.found is not None:
        word = WORDS[SpeedVerdict(whole.verdict)]
        yield from found_lines(
            bisection.found, f"makes it {word}", f"make it {word}", lambda group: _beside(bisection, group)
        )
    elif whole is not None:
        yield from _nothing_to_search(bisection, whole)
    timed = sum(one.rounds > 0 for one in bisection.outcomes.values())
    yield (
        f"{counted(len(bisection.outcomes), 'set')} of {counted(len(bisection.parts), 'part')} tried, {timed} of them "
        f"timed; each is a root below {bisection.steps}"
    )


def _nothing_to_search(bisection: SpeedBisection, whole: Timed) -> Iterator[str]:
    if SpeedVerdict(whole.verdict) in WORDS:
        yield "the switch has no parts: it is the whole of what was measured"
    elif whole.verdict == SpeedVerdict.IDENTICAL.value:
        yield f"{NO_PART}: the machine code is the same on both sides, so nothing was timed"
    else:
        where = " in each of the rows whose code changes" if whole.row is None else ""
        yield f"{NO_PART}: the whole switch is {whole.verdict}{where}{_mde(whole)}"
    if len(bisection.parts) > 1:
        yield "that is of all parts together: none was tried alone, so parts that undo each other would not be seen"


def _stopped(bisection: SpeedBisection, stopped: Stopped) -> Iterator[str]:
    if stopped.timed is None:
        yield f"the budget was spent before {_called(stopped.parts)} had all rounds; the same command goes on from there"
    else:
        word = SpeedVerdict(stopped.timed.verdict)
        yield f"{FORBIDDEN[word]}: {_called(stopped.parts)} is {told(stopped.timed)}"
    yield f"so far: {_so_far(bisection)}"
    if stopped.timed is not None:
        yield f"try {ADVICE[SpeedVerdict(stopped.timed.verdict)]}"


def _so_far(bisection: SpeedBisection) -> str:
    """The smallest set that is known to make the change of the whole, and those that are known not to."""
    whole = bisection.outcomes.get(bisection.parts)
    if whole is None or SpeedVerdict(whole.verdict) not in WORDS:
        return "nothing is known, the whole switch included"
    makes = [parts for parts, timed in bisection.outcomes.items() if timed.verdict == whole.verdict]
    others = [
        f"{names(parts)} {'do' if len(parts) > 1 else 'does'} not"
        for parts, timed in bisection.outcomes.items()
        if timed.verdict != whole.verdict and SpeedVerdict(timed.verdict) not in FORBIDDEN
    ]
    smallest = min(makes, key=len)
    does = "make" if len(smallest) > 1 else "makes"
    known = f"{_called(smallest)} {does} it {WORDS[SpeedVerdict(whole.verdict)]}"
    return "; ".join((f"{known}, and nothing smaller is known to", *others))


def _beside(bisection: SpeedBisection, group: Parts) -> str:
    """What was measured of a group, and of the whole switch where that is something else."""
    own = _speedup(bisection.outcomes[group])
    if group == bisection.parts:
        return f": {own}"
    return f": {own}; all parts together: {_speedup(bisection.outcomes[bisection.parts])}"


def _called(parts: Parts) -> str:
    return names(parts) or "the whole switch"


def _speedup(timed: Timed) -> str:
    return f"speedup {readable(timed.speedup)} ({readable(timed.ci_low)} to {readable(timed.ci_high)})"


def _mde(timed: Timed) -> str:
    return "" if timed.mde is None else f", mde {timed.mde * 100:.2g} %"
