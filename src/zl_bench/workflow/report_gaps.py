"""What a report can not speak for, and why: so that silence is never taken for a result."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from zl_bench.analysis.axis import AxisState
from zl_bench.analysis.pins import covers_everything
from zl_bench.analysis.wording import counted, listed
from zl_bench.model import JudgedOperator, Status, Verdict
from zl_bench.reports.report_view import NotCovered, OperatorView
from zl_bench.reports.view import operator_name
from zl_bench.store.request import ScreenRequest
from zl_bench.workflow.report_rounds import MeasuredRoot

SHOWN = 8
"""Operators that a line names."""


@dataclass(frozen=True)
class Gap:
    """What an operator's verdict leaves out. Gaps of one `what` are told together, whatever their `detail`."""

    what: str
    detail: str = ""
    alone: str = ""
    """What to say instead of `what` where no other operator shares it."""


def not_covered(
    unfinished: Sequence[str],
    judged: Iterable[JudgedOperator],
    operators: Sequence[OperatorView],
    state: AxisState,
    measured: MeasuredRoot | None,
    request: ScreenRequest | None = None,
    damaged: Sequence[str] = (),
) -> Iterator[NotCovered]:
    """Each gap once, with the operators that share it. `damaged` are those whose runs lost their records since."""
    everything = list(judged)
    if not everything and not unfinished:
        yield NotCovered("what was asked", "no screen is recorded here, so whether anything is missing can not be told")
    if unfinished:
        yield NotCovered(listed(unfinished, shown=SHOWN), "asked for and not finished: the screen ended before them")
    if damaged:
        yield NotCovered(
            listed(damaged, shown=SHOWN),
            "the record of a side is missing or damaged since it was judged: its kernels are not shown; `zl-bench show` names "
            "the file",
        )
    if everything and state is AxisState.NOT_SHOWN_LIVE:
        yield NotCovered("the switch", "nothing changed at any stage, so it was not shown to act at all")
    if request is not None:
        yield from _left_out(request)
    yield from _speed(operators, measured)
    yield from _grouped((operator_name(one.verdict), gap) for one in everything for gap in _gaps(one))


def _left_out(request: ScreenRequest) -> Iterator[NotCovered]:
    """What the command line left out."""
    if request.extra.get("dtypes") == "first":
        yield NotCovered("other dtypes", "--dtypes first: each operator ran with one dtype, unless one was named")
    if request.target is not None and request.stages == "ttgir":
        yield NotCovered("machine code", "--stages ttgir: none was made, so whether it differs is not known")


def _grouped(gaps: Iterable[tuple[str, Gap]]) -> Iterator[NotCovered]:
    """A line for each kind of gap, which most operators share first. Details that are not alike stand with each operator."""
    kinds: dict[str, dict[str, Gap]] = defaultdict(dict)
    for entry, gap in gaps:
        kinds[gap.what][entry] = gap
    for what, shared in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        first, *others = shared.values()
        if not others:
            yield NotCovered(next(iter(shared)), _with_detail(first.alone or what, first.detail))
        elif all(gap.detail == first.detail for gap in others):
            yield NotCovered(listed(shared, shown=SHOWN), _with_detail(what, first.detail))
        else:
            named = (_with_detail(entry, gap.detail) for entry, gap in shared.items())
            yield NotCovered(listed(named, shown=SHOWN), what)


def _with_detail(text: str, detail: str) -> str:
    return f"{text} ({detail})" if detail else text


def _gaps(judged: JudgedOperator) -> Iterator[Gap]:
    """What an operator's verdict leaves out."""
    verdict = judged.verdict
    if verdict.verdict is Verdict.NO_ROWS:
        reason = verdict.reason or "no reason was recorded"
        nameless = _without_name(reason, verdict.operator)
        yield Gap(f"no row on both sides: {nameless}", alone=f"no row on both sides: {reason}")
        return
    one_sided = sum(len(node.one_sided) for node in judged.nodes)
    broken = {(row.side, row.key) for node in judged.nodes for row in node.broken}
    failed = {row.key for node in judged.nodes for side, row in node.failed if (side, row.key) not in broken}
    if one_sided:
        yield Gap("measured on one side alone, not compared", counted(one_sided, "row"))
    if failed:
        yield Gap("measured on neither side, or not readable", counted(len(failed), "row"))
    if verdict.status is Status.FAILED:
        yield Gap("a run was lost: whatever it had not reached is not in the verdict")
    if verdict.verdict is Verdict.NO_KERNEL:
        return
    if not covers_everything(verdict.pins):
        yield Gap("an autotuner's configurations are not all covered", f"pins: {verdict.pins}")
    if verdict.guessed_rows:
        yield Gap("values that the stand-in device had to guess", counted(verdict.guessed_rows, "row"))
    if verdict.unstable_kernels:
        what = "kernels that differ from themselves, left out of the changes"
        yield Gap(what, counted(verdict.unstable_kernels, "kernel"))


def _without_name(reason: str, operator: str) -> str:
    """The reason without the operator's own name, so that many operators that lack the same thing share a line."""
    return reason.replace(f"'{operator}'", "its name").replace(f"{operator}'s", "its own")


def _speed(operators: Sequence[OperatorView], measured: MeasuredRoot | None) -> Iterator[NotCovered]:
    timed = [row for one in operators for row in one.rows if row.timing is not None]
    if not timed:
        if operators:
            yield NotCovered("speed", "nothing was timed: no claim of faster or slower")
        return
    if measured is None:
        yield NotCovered(
            "speed", "timed in one round, while screening: no interval, and no verdict of faster or slower"
        )
        return
    changed = [one for one in operators if one.verdict == Verdict.IR_CHANGED.value and one.machine_code != "same"]
    without = [one.entry for one in changed if not any(_in_rounds(row.timing) for row in one.rows)]
    if without:
        yield NotCovered(listed(without, shown=SHOWN), "changed, and not measured in rounds")
    gaps = [row.timing for row in timed if row.timing is not None and row.timing.paired < row.timing.of]
    if gaps:
        yield NotCovered(counted(len(gaps), "row"), "rounds with one side alone, which are not counted")
    differing = [row for row in timed if row.numerics is not None and not row.numerics.same]
    if differing:
        yield NotCovered(
            counted(len(differing), "measured row"), "outputs differ between the sides: faster is no gain there"
        )
    yield from measured.not_measured


def _in_rounds(timing: object) -> bool:
    return getattr(timing, "source", "") == "measure"
