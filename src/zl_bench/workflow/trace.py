"""`trace`: one launched kernel's IR after each pass, on both sides, and where the sides part.

Steps: choose the kernel, compile it again on each side pass by pass, fingerprint the IR after every pass, compare.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.prints import Fingerprints, Unreadable
from zl_bench.analysis.trace import Comparison, TracedPass, compare
from zl_bench.ir.stages import order_stages
from zl_bench.model import SIDES, Side, StageText
from zl_bench.store.replays import Replayed, ReplayFailure
from zl_bench.workflow.judge import StageFingerprints
from zl_bench.workflow.replaying import CompiledAgain, Fidelity, both_again, compiler_note, fidelity
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
    start = _digest(before.start, prints), _digest(after.start, prints)
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


def compare_stages(
    before: Sequence[StageText], after: Sequence[StageText], prints: StageFingerprints
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the stages that are the same, those that differ), of those that both sides have."""
    sides = [{stage.name: stage for stage in stages} for stages in (before, after)]
    same: list[str] = []
    apart: list[str] = []
    for name in order_stages(sides[0].keys() & sides[1].keys()):
        digests = [_digest(side[name], prints) for side in sides]
        (same if digests[0] is not None and digests[0] == digests[1] else apart).append(name)
    return tuple(same), tuple(apart)


def _traced(source: StageText, replayed: Replayed, found: Fingerprints) -> list[TracedPass]:
    traced, last = [], _digest_of(found, source)
    for one in replayed.passes:
        now, digest = found[one.text.path], _digest_of(found, one.text)
        converts = 0 if isinstance(now, Unreadable) else now.converts
        changed = digest is None or digest != last
        traced.append(TracedPass(one.stage, one.name, one.occurrence, digest, converts, changed, one.left_out))
        last = digest
    return traced


def _digest_of(found: Fingerprints, stage: StageText) -> str | None:
    """None for what can not be compared."""
    one = found[stage.path]
    return None if isinstance(one, Unreadable) else one.digest


def _digest(stage: StageText, prints: StageFingerprints) -> str | None:
    return _digest_of(prints.of([stage]), stage)
