"""Whether a whole screen believes in its axis (R16), and what one verdict advises given that."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from zl_bench.analysis.pins import covers_everything
from zl_bench.analysis.wording import counted
from zl_bench.model import OperatorVerdict, Status, Verdict


class AxisState(Enum):
    """What a screen as a whole says about its switch."""

    DEAD = "dead"
    NOT_SHOWN_LIVE = "not shown live"
    LIVE = "live"
    NULL_CONTROL = "null control"


def shows_life(verdict: OperatorVerdict) -> bool:
    """Whether this operator shows that the switch acts: some stage or launch sequence differs, or a compile breaks.

    A crash or a time limit alone does not: a machine can do that to either side.
    """
    differs = verdict.changed_rows > 0 or verdict.first_stage != "-" or verdict.machine_code == "differs"
    return differs or verdict.broken_compiles > 0


def axis_state(verdicts: Iterable[OperatorVerdict], *, known: bool = True, null_control: bool = False) -> AxisState:
    """The state of an axis after the operators so far.

    `known` is whether the compiler mentions the switch at all; one that it does not mention and that changes something
    all the same (a name put together at run time) is live. A null control is never anything else.
    """
    if null_control:
        return AxisState.NULL_CONTROL
    judged = list(verdicts)
    if any(shows_life(verdict) for verdict in judged):
        return AxisState.LIVE
    # With --force a screen of an unknown switch has been compiled: what it says is "nothing changed", not "dead".
    return AxisState.NOT_SHOWN_LIVE if known or judged else AxisState.DEAD


def may_skip(verdict: OperatorVerdict, state: AxisState) -> bool:
    """Whether the verdict promises that measuring this operator under this switch is a waste of time."""
    return (
        verdict.verdict is Verdict.NO_IR_DIFF
        and verdict.status is Status.COMPLETE
        and verdict.machine_code != "differs"
        and covers_everything(verdict.pins)
        and not verdict.guessed_rows
        and not verdict.unstable_kernels
        and verdict.kernels > 0
        and state is AxisState.LIVE
    )


def advice(verdict: OperatorVerdict, state: AxisState) -> str:
    """What to do about one operator, in a few words for the terminal's table."""
    match verdict.verdict:
        case Verdict.BROKEN:
            return "fix first: the switch breaks it" if state is not AxisState.NULL_CONTROL else "not reproducible"
        case Verdict.NO_ROWS:
            return "see the reason" if verdict.status is not Status.COMPLETE else "nothing was measured"
        case Verdict.NO_KERNEL:
            return "no Triton code to act on"
        case Verdict.IR_CHANGED:
            return _changed_advice(verdict, state)
        case Verdict.NO_IR_DIFF:
            return _same_advice(verdict, state)


def _changed_advice(verdict: OperatorVerdict, state: AxisState) -> str:
    if state is AxisState.NULL_CONTROL:
        return "differs without a switch: not reproducible"
    if verdict.machine_code != "same":
        return "measure it"
    if verdict.status is not Status.COMPLETE:
        return "same machine code in the compared rows"
    return "nothing to measure: same machine code" + _limits(verdict)


def _same_advice(verdict: OperatorVerdict, state: AxisState) -> str:
    if may_skip(verdict, state):
        return "skip it"
    if verdict.machine_code == "differs":
        return "the switch acts below TTGIR" if state is not AxisState.NULL_CONTROL else "machine code not reproducible"
    if verdict.kernels == 0:
        return "no kernel was compared"
    if state is AxisState.NULL_CONTROL:
        return "reproducible" + _limits(verdict)
    if verdict.status is not Status.COMPLETE:
        return "no difference in the compared rows" + _limits(verdict)
    return "no difference" + _limits(verdict) + _axis_limit(state)


def _limits(verdict: OperatorVerdict) -> str:
    """What the pins, guesses and unstable kernels leave open, as a suffix."""
    limits = ""
    word, _, count = verdict.pins.partition(" ")
    screened, _, candidates = count.partition("/")
    if word in ("first", "all") and not covers_everything(verdict.pins):
        limits += f" in {screened} of {candidates} configurations"
    elif not covers_everything(verdict.pins):
        limits += f"; pins {verdict.pins}"
    if verdict.guessed_rows:
        limits += f"; {counted(verdict.guessed_rows, 'row')} with guessed values"
    if verdict.unstable_kernels:
        limits += f"; {counted(verdict.unstable_kernels, 'unstable kernel')}"
    return limits


def _axis_limit(state: AxisState) -> str:
    return "" if state is AxisState.LIVE else f" (switch {state.value})"
