"""One kernel's way through the passes of both sides: which passes answer each other, and after which the sides part.

Two compilers may have different pipelines, so the passes are aligned by stage and name; a pass that only one side has is a
step of its own. Whether the sides agree is asked after every step, by fingerprint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from zl_bench.model import Side


@dataclass(frozen=True)
class TracedPass:
    """A pass of one side and what the IR was after it. `occurrence` counts the passes of that name in its stage from 1."""

    stage: str
    name: str
    occurrence: int
    digest: str | None
    """Fingerprint of the IR; None where it can not be compared, and then it equals nothing."""
    converts: int = 0
    changed: bool = False
    """The pass changed the IR."""
    left_out: bool = False

    @property
    def label(self) -> str:
        """As a switch names it: `coalesce@1`."""
        return f"{self.name}@{self.occurrence}"


@dataclass(frozen=True)
class Step:
    """A pass on both sides, or on the one that has it, and whether the sides' IR differs when it has run."""

    before: TracedPass | None
    after: TracedPass | None
    apart: bool

    @property
    def a_pass(self) -> TracedPass:
        """The before side's pass, or the only one."""
        one = self.before or self.after
        assert one is not None
        return one

    @property
    def label(self) -> str:
        """As a switch names the pass; of two that are not the same occurrence on their sides, both numbers."""
        if self.before is not None and self.after is not None and self.before.occurrence != self.after.occurrence:
            return f"{self.before.label} ({self.after.label} of after)"
        return self.a_pass.label

    @property
    def only(self) -> Side | None:
        """The side that alone has this pass."""
        if self.before is not None and self.after is not None:
            return None
        return "before" if self.before is not None else "after"


@dataclass(frozen=True)
class Comparison:
    """The steps in order. `apart_at_start` says whether what the frontends made differs already."""

    apart_at_start: bool
    steps: tuple[Step, ...]

    @property
    def turns(self) -> tuple[Step, ...]:
        """The steps after which the sides have just parted (then `apart`) or met again, in order."""
        turns, apart = [], self.apart_at_start
        for step in self.steps:
            if step.apart != apart:
                turns.append(step)
                apart = step.apart
        return tuple(turns)

    @property
    def first_parting(self) -> Step | None:
        """The first step after which sides that had agreed differ; None where they never do, or always did."""
        return next((step for step in self.turns if step.apart), None)

    @property
    def apart_at_end(self) -> bool:
        """Whether they differ after the last step."""
        return self.steps[-1].apart if self.steps else self.apart_at_start


def compare(
    before: Sequence[TracedPass],
    after: Sequence[TracedPass],
    start: tuple[str | None, str | None],
    failed: Side | None = None,
) -> Comparison:
    """The two sides' passes, step by step. `start` are the fingerprints of what each side began with.

    Of a side that `failed`, what the other one did later has nothing to be compared with and is left out.
    """
    digest_before, digest_after = start
    steps: list[Step] = []
    for one, other in _aligned(before, after):
        digest_before = one.digest if one is not None else digest_before
        digest_after = other.digest if other is not None else digest_after
        steps.append(Step(one, other, _differ(digest_before, digest_after)))
    while failed is not None and steps and steps[-1].only not in (None, failed):
        steps.pop()
    return Comparison(_differ(*start), tuple(steps))


def _differ(before: str | None, after: str | None) -> bool:
    return before is None or after is None or before != after


def _aligned(
    before: Sequence[TracedPass], after: Sequence[TracedPass]
) -> Iterator[tuple[TracedPass | None, TracedPass | None]]:
    names = [[(traced.stage, traced.name) for traced in side] for side in (before, after)]
    matcher = SequenceMatcher(None, names[0], names[1], autojunk=False)
    for kind, start_before, end_before, start_after, end_after in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(before[start_before:end_before], after[start_after:end_after], strict=True)
        else:
            yield from ((one, None) for one in before[start_before:end_before])
            yield from ((None, other) for other in after[start_after:end_after])
