"""Two sides of a row, launch by launch and stage by stage.

Launches are matched by kernel identity, the k-th of an identity with the k-th of the same identity on the other side; the
position in the sequence is no identity, since a switch may add a launch. What then is left on both sides is matched by
name: a switch that changes how a kernel is specialised (its attributes, say) gives it another identity, and its stages
are still to be compared with those that it had.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal

from zl_bench.analysis.prints import Fingerprints, StageFingerprint, StageRules, Unreadable
from zl_bench.model import FailedRow, Kernel, KernelIdentity, Launch, PairedRow, Row, Side, StageText

Sameness = Literal["same", "differs", "-"]


@dataclass(frozen=True)
class SelfDifferences:
    """What a repetition of the before side showed to differ from itself, for one row."""

    stages: Mapping[KernelIdentity, frozenset[str]] = field(default_factory=dict)
    sequence: bool = False


NOTHING_UNSTABLE = SelfDifferences()


def unreadable_row(row: Row, prints: Fingerprints, rules: StageRules) -> FailedRow | None:
    """The failed row to put in place of `row` if any of its launches can not be compared, otherwise None.

    A launch can be compared when it has the criterion stage and every stage that was recorded is readable.
    """
    for kernel in row.launches:
        if kernel.stage(rules.criterion) is None:
            message = f"no {rules.criterion} was recorded for this kernel"
            return FailedRow(row.key, "read", message, kernel.identity.name, rules.criterion)
        for stage in kernel.stages:
            found = prints.get(stage.path, Unreadable("the file was not read"))
            if isinstance(found, Unreadable):
                return FailedRow(row.key, "read", found.message, kernel.identity.name, stage.name)
    return None


def match_launches(before: Sequence[Kernel], after: Sequence[Kernel]) -> list[tuple[Kernel | None, Kernel | None]]:
    """Pairs of launches of one kernel, in the order of the before side; those of the after side alone come last."""
    return _matches(before, after, _partners(before, after))


def _matches(
    before: Sequence[Kernel], after: Sequence[Kernel], partners: Sequence[int | None]
) -> list[tuple[Kernel | None, Kernel | None]]:
    matches: list[tuple[Kernel | None, Kernel | None]] = [
        (kernel, None if partner is None else after[partner]) for kernel, partner in zip(before, partners, strict=True)
    ]
    taken = set(partners)
    matches.extend((None, kernel) for position, kernel in enumerate(after) if position not in taken)
    return matches


def _partners(before: Sequence[Kernel], after: Sequence[Kernel]) -> list[int | None]:
    """For each launch of the before side, the position of its partner on the after side. Rows may have 100,000 launches."""
    partners: list[int | None] = [None] * len(before)
    taken: set[int] = set()
    by_identity: Callable[[Kernel], Hashable] = lambda kernel: kernel.identity  # noqa: E731
    by_name: Callable[[Kernel], Hashable] = lambda kernel: kernel.identity.name  # noqa: E731
    for key in (by_identity, by_name):
        waiting: dict[Hashable, deque[int]] = defaultdict(deque)
        for position, kernel in enumerate(after):
            if position not in taken:
                waiting[key(kernel)].append(position)
        for number, kernel in enumerate(before):
            if partners[number] is None and waiting[key(kernel)]:
                partners[number] = partner = waiting[key(kernel)].popleft()
                taken.add(partner)
    return partners


def pair_rows(
    before: Row,
    after: Row,
    prints: Fingerprints,
    rules: StageRules,
    unstable: SelfDifferences = NOTHING_UNSTABLE,
) -> PairedRow:
    """Compare two rows of one key. Both must have passed `unreadable_row`."""
    launches = []
    partners = _partners(before.launches, after.launches)
    for left, right in _matches(before.launches, after.launches, partners):
        if left is not None and right is not None:
            launches.append(_compare(left, right, prints, rules, unstable.stages.get(left.identity, frozenset())))
        elif left is not None:
            launches.append(_alone(left, "before", prints, rules, unstable.sequence))
        elif right is not None:
            launches.append(_alone(right, "after", prints, rules, unstable.sequence))
    sequence = _sequence(partners, len(after.launches))
    if sequence != "same" and unstable.sequence:
        sequence = "unstable"
    changed = sequence in ("reordered", "differs") or any(
        rules.criterion in launch.changed_stages for launch in launches if launch.unmatched is None
    )
    differing = {stage for launch in launches for stage in launch.changed_stages}
    return PairedRow(
        key=before.key,
        changed=changed,
        launches=tuple(launches),
        guesses=max(before.guesses, after.guesses),
        first_stage=next(iter(rules.sorted(differing)), "-"),
        machine_code=_row_machine_code(launches, sequence),
        sequence=sequence,
    )


def self_differences(before: Row, again: Row | None, prints: Fingerprints, rules: StageRules) -> SelfDifferences:
    """What differs between a row of the before side and its repetition; nothing is known without a repetition."""
    if again is None:
        return NOTHING_UNSTABLE
    compared = pair_rows(before, again, prints, rules)
    stages: dict[KernelIdentity, frozenset[str]] = {}
    for launch in compared.launches:
        if launch.unmatched is None and launch.changed_stages:
            stages[launch.identity] = stages.get(launch.identity, frozenset()) | set(launch.changed_stages)
    return SelfDifferences(stages, compared.sequence != "same")


def summary_machine_code(parts: Iterable[Sameness]) -> Sameness:
    """`differs` if any part does, `same` only if there are parts and every one is the same, otherwise `-`."""
    seen = set(parts)
    if "differs" in seen:
        return "differs"
    return "same" if seen == {"same"} else "-"


def _sequence(partners: Sequence[int | None], after: int) -> Literal["same", "reordered", "differs", "unstable"]:
    """How the launches are ordered, from the partners of the before side's; `after` is their number on the other."""
    if None in partners or len(partners) != after:
        return "differs"
    return "same" if partners == list(range(len(partners))) else "reordered"


def _row_machine_code(launches: Sequence[Launch], sequence: str) -> Sameness:
    compiled = any(launch.machine_code != "-" for launch in launches)
    if sequence in ("reordered", "differs"):
        # Other kernels, or the same ones in another order, are other machine code even if each kernel's own agrees.
        return "differs" if compiled else "-"
    return summary_machine_code(launch.machine_code for launch in launches)


def _compare(
    before: Kernel, after: Kernel, prints: Fingerprints, rules: StageRules, unstable: frozenset[str]
) -> Launch:
    names = {stage.name for stage in (*before.stages, *after.stages)}
    differing = {name for name in names if not _equal(before.stage(name), after.stage(name), prints)}
    counted = differing - unstable
    old, new = criterion_print(before, prints, rules), criterion_print(after, prints, rules)
    return Launch(
        identity=before.identity,
        changed_stages=rules.sorted(counted),
        attributes_only=rules.criterion in counted and old.body_digest == new.body_digest,
        machine_code=_machine_code(before, after, rules, differing, unstable),
        converts_before=old.converts,
        converts_after=new.converts,
        unstable=bool(unstable),
        specialised_otherwise=tuple(
            entry.name
            for entry in fields(KernelIdentity)
            if getattr(before.identity, entry.name) != getattr(after.identity, entry.name)
        ),
    )


def _machine_code(
    before: Kernel, after: Kernel, rules: StageRules, differing: set[str], unstable: frozenset[str]
) -> Sameness:
    """Compare at the last machine-code stage of both sides; what only one side compiled further is never `same`."""
    stages = rules.sorted({stage.name for stage in (*before.stages, *after.stages)} & rules.machine_code)
    both = [name for name in stages if before.stage(name) and after.stage(name)]
    if not both or both[-1] in unstable:
        return "-"
    if both[-1] in differing:
        return "differs"
    return "same" if both[-1] == stages[-1] else "-"


def _alone(kernel: Kernel, side: Side, prints: Fingerprints, rules: StageRules, unstable: bool) -> Launch:
    stages = rules.sorted({stage.name for stage in kernel.stages})
    converts = criterion_print(kernel, prints, rules).converts
    compiled = not rules.machine_code.isdisjoint(stages)
    return Launch(
        identity=kernel.identity,
        changed_stages=() if unstable else stages,
        attributes_only=False,
        machine_code="differs" if compiled and not unstable else "-",
        converts_before=converts if side == "before" else 0,
        converts_after=converts if side == "after" else 0,
        unmatched=side,
        unstable=unstable,
    )


def _equal(before: StageText | None, after: StageText | None, prints: Fingerprints) -> bool:
    """Whether a stage is the same on both sides; one that only one side recorded never is."""
    if before is None or after is None:
        return False
    left, right = prints[before.path], prints[after.path]
    if isinstance(left, Unreadable) or isinstance(right, Unreadable):
        return False
    return left.digest == right.digest


def criterion_print(kernel: Kernel, prints: Fingerprints, rules: StageRules) -> StageFingerprint:
    """The fingerprint at the criterion stage; ValueError for a kernel that `unreadable_row` would have rejected."""
    stage = kernel.stage(rules.criterion)
    found = prints[stage.path] if stage is not None else None
    if found is None or isinstance(found, Unreadable):
        raise ValueError(f"{kernel.identity.name} can not be compared at {rules.criterion}: reject its row first")
    return found
