"""A trace as lines of text: the table of passes, where the sides part, and the diffs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from zl_bench.analysis.prints import Unreadable
from zl_bench.analysis.trace import Comparison, Step, TracedPass
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.unreadable import UnreadableStage
from zl_bench.model import Side, StageText
from zl_bench.store.replays import ReplayFailure
from zl_bench.workflow.judge import read_stage
from zl_bench.workflow.subject import Subject
from zl_bench.workflow.trace import SideTrace, Trace

IR = "mlir"
"""The kind of the IR after a pass."""
PASS_COLUMN = 38
"""Its width, unless a pass has a longer name."""


def heading(subject: Subject) -> Iterator[str]:
    """Which kernel this is about, and what was assumed of it."""
    identity = subject.sides["before"].kernel.identity
    yield (
        f"{subject.entry}  row {subject.row}  {subject.row_text}  {identity.name}  warps {identity.num_warps}, "
        f"stages {identity.num_stages}, ctas {identity.num_ctas}  {subject.target}"
    )
    yield from (f"  {note}" for note in subject.notes)


def trace_lines(trace: Trace) -> Iterator[str]:
    """The whole answer of `trace`."""
    yield from heading(trace.subject)
    for one in trace.sides.values():
        yield f"  {one.side}: Triton {one.triton}" + (f"; {one.note}" if one.note else "")
        yield f"  {one.fidelity.describe(one.side)}"
    if trace.comparison is not None:
        yield from _both(trace, trace.comparison)
    else:
        for one in trace.sides.values():
            yield from _one_side(one)


def _both(trace: Trace, comparison: Comparison) -> Iterator[str]:
    yield ""
    wide = max((PASS_COLUMN, *(len(step.label) for step in comparison.steps)))
    yield f"    {'stage':6} {'pass':{wide}} {'before':20} after      (converts, * where the pass changed the IR)"
    apart = comparison.apart_at_start
    if apart:
        yield "  ≠ what the frontends made differs already, before the first pass"
    for step in comparison.steps:
        mark = "≠" if step.apart else " "
        yield f"  {mark} {step.a_pass.stage:6} {step.label:{wide}} {_cell(step.before):20} {_cell(step.after)}".rstrip()
    yield ""
    yield from where_the_sides_part(trace)
    first = comparison.first_parting
    if first is not None:
        yield from _diff(
            _text(trace, "before", first), _text(trace, "after", first), "before", "after", first.a_pass.label
        )


def where_the_sides_part(trace: Trace) -> Iterator[str]:
    """How each side ends, after which passes the two part and meet, and which stages are the same in the end."""
    yield from _failures(trace.sides)
    if trace.comparison is not None:
        yield from parting_lines(trace.comparison)
    if trace.stages_same or trace.stages_apart:
        states = [f"{name} same" for name in trace.stages_same] + [f"{name} differs" for name in trace.stages_apart]
        yield f"the stages: {', '.join(states)}"


def parting_lines(comparison: Comparison) -> Iterator[str]:
    """Where the sides part and whether they meet again."""
    if comparison.apart_at_start:
        yield "the sides are apart before the first pass: the frontends made different IR of the kernel"
    for step in comparison.turns:
        word = "part" if step.apart else "meet"
        first = " first" if step is comparison.first_parting else ""
        yield f"the sides {word}{first} after {describe_step(step)}"
    if not comparison.turns and not comparison.apart_at_start:
        yield "no pass parts the sides: their IR is the same after every one"
    elif comparison.turns and not comparison.apart_at_end:
        yield "in the end their IR is the same"


def describe_step(step: Step) -> str:
    """A step for people: its stage, its pass, and why only one side has it."""
    name = f"{step.a_pass.stage} {step.label}"
    if step.only is not None:
        return f"{name}, which only {step.only} has there"
    left_out = [
        side for side, one in (("before", step.before), ("after", step.after)) if one is not None and one.left_out
    ]
    return f"{name}, which {left_out[0]} leaves out" if left_out else name


def _one_side(trace: SideTrace) -> Iterator[str]:
    previous = trace.start
    for number, (one, text) in enumerate(zip(trace.passes, trace.texts, strict=True), start=1):
        yield ""
        yield f"{number:3} {one.stage} {one.label}  {_cell(one)}".rstrip()
        if one.changed:
            yield from _diff(previous, text, "in", "out", one.label)
        previous = text
    yield from _failures({trace.side: trace})


def _failures(sides: Mapping[Side, SideTrace]) -> Iterator[str]:
    for side, one in sides.items():
        if one.failure is not None:
            yield f"  {side} {_failure(one.failure, one.passes)}"


def _failure(failure: ReplayFailure, passes: Sequence[TracedPass]) -> str:
    last = f", after {passes[-1].stage} {passes[-1].label}" if passes and not failure.in_pass else ""
    return failure.describe() + last


def _cell(one: TracedPass | None) -> str:
    if one is None:
        return "-"
    if one.left_out:
        return f"{one.converts} left out"
    return f"{one.converts}{' *' if one.changed else ''}"


def _text(trace: Trace, side: Side, step: Step) -> StageText:
    """The IR of that side after the step: of a step that it does not have, after its last one before."""
    one, comparison = trace.sides[side], trace.comparison
    assert comparison is not None
    count = 0
    for each in comparison.steps[: comparison.steps.index(step) + 1]:
        count += (each.before if side == "before" else each.after) is not None
    return one.texts[count - 1] if count else one.start


def _diff(before: StageText, after: StageText, name: str, other: str, label: str) -> Iterator[str]:
    contents = read_stage(before), read_stage(after)
    if isinstance(contents[0], Unreadable) or isinstance(contents[1], Unreadable):
        yield from (f"  {one.message}" for one in contents if isinstance(one, Unreadable))
        return
    try:
        yield from unified_diff(IR, contents[0], contents[1], f"{name}/{label}", f"{other}/{label}")
    except UnreadableStage as error:
        yield f"  {error}"
