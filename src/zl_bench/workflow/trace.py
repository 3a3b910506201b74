"""`trace`: one launched kernel's IR after each pass, on both sides, and where the sides part.

Steps: choose the kernel, compile it again on each side pass by pass, fingerprint the IR after every pass, compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.prints import Fingerprints, Unreadable, digest_of
from zl_bench.analysis.trace import Comparison, TracedPass, compare
from zl_bench.model import SIDES, Side, StageText
from zl_bench.store.replays import Replayed, ReplayFailure
from zl_bench.workflow.judge import StageFingerprints
from zl_bench.workflow.replaying import (
    CompiledAgain,
    Fidelity,
    both_again,
    compare_stages,
    compiler_note,
    fidelity,
)
from zl_bench.workflow.subject import KernelSide, Subject


@dataclass(frozen=True)
class SideTrace:
    """One side's passes in order, with the IR before the first of them and after each."""

    side: Side
    triton: str
    start: StageText
    passes: tuple[TracedPass, ...]
    texts: tuple[StageText, ...]
    """The IR after each pass, in the order of `passes`."""
    stages: tuple[StageText, ...]
    failure: ReplayFailure | None
    fidelity: Fidelity
    note: str | None


@dataclass(frozen=True)
class Trace:
    """The traces, and, of both sides, how they compare. `stages_apart` are the stages that differ in the end."""

    subject: Subject
    sides: Mapping[Side, SideTrace]
    comparison: Comparison | None
    stages_apart: tuple[str, ...]
    stages_same: tuple[str, ...]


def trace_subject(subject: Subject, sides: Sequence[Side], directory: Path, timeout: float) -> Trace:
    """Trace the kernel on those sides; the IR after each pass is recorded below the directory."""
    again = both_again(subject, sides, directory, passes=True, timeout=timeout)
    prints = StageFingerprints()
    traces = {side: trace_side(subject.sides[side], again[side], prints) for side in sides}
    if len(sides) < len(SIDES):
        return Trace(subject, traces, None, (), ())
    before, after = traces["before"], traces["after"]
    starts = prints.of([before.start, after.start])
    start = digest_of(starts, before.start.path), digest_of(starts, after.start.path)
    failed: Side | None = next((side for side, trace in traces.items() if trace.failure is not None), None)
    same, apart = compare_stages(before.stages, after.stages, prints)
    return Trace(subject, traces, compare(before.passes, after.passes, start, failed), apart, same)


def trace_side(side: KernelSide, again: CompiledAgain, prints: StageFingerprints) -> SideTrace:
    """What a side's replay recorded, with a fingerprint after each pass."""
    replayed = again.replayed
    found = prints.of([side.source, *(one.text for one in replayed.passes)])
    return SideTrace(
        side.side,
        str(again.triton.get("version", "")),
        side.source,
        tuple(_traced(side.source, replayed, found)),
        tuple(one.text for one in replayed.passes),
        replayed.stages,
        replayed.failure,
        fidelity(side, replayed, prints),
        compiler_note(side, again),
    )


def _traced(source: StageText, replayed: Replayed, found: Fingerprints) -> list[TracedPass]:
    traced, last = [], digest_of(found, source.path)
    for one in replayed.passes:
        now, digest = found[one.text.path], digest_of(found, one.text.path)
        converts = 0 if isinstance(now, Unreadable) else now.converts
        changed = digest is None or digest != last
        traced.append(TracedPass(one.stage, one.name, one.occurrence, digest, converts, changed, one.left_out))
        last = digest
    return traced
