"""Compiles the kernel of a subject again: says what is executed, runs it, reads it back, and fingerprints what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.prints import Unreadable, digest_of
from zl_bench.ir.stages import order_stages
from zl_bench.model import Side, StageText
from zl_bench.running.replay import LOG_FILE, ReplayedSource, ReplayPlan, run_replay
from zl_bench.store.replays import Replay, Replayed, read_replay
from zl_bench.workflow.judge import StageFingerprints, read_stage
from zl_bench.workflow.subject import KernelSide, Subject

KERNEL = "kernel"
"""The id of the only kernel of a replay."""


@dataclass(frozen=True)
class CompiledAgain:
    """One side's kernel, compiled again by `triton`."""

    replayed: Replayed
    triton: Mapping[str, str]


def what_is_executed(subject: Subject, sides: Sequence[Side]) -> list[str]:
    """What is about to be executed, for people: nothing of a root is without its being said."""
    programs = {str(subject.sides[side].interpreter): side for side in sides}
    return [
        f"compiling {subject.name} again for {subject.target} with {program}, from its recorded IR; no code of the suite runs"
        for program in programs
    ]


def compile_again(
    side: KernelSide, target: str, directory: Path, *, last: str = "", passes: bool = False, timeout: float
) -> CompiledAgain:
    """Compile the side's kernel again, into that new directory. Raises EnvironmentUnfit when Triton can not be started."""
    source = ReplayedSource(KERNEL, str(side.source.path.absolute()), side.made, target, side.options)
    plan = ReplayPlan(
        side=side.side,
        interpreter=side.interpreter,
        environment=side.environment,
        directory=directory,
        kernels=(source,),
        dropped_pass=side.dropped_pass,
        last=last,
        passes=passes,
    )
    replay = replayed(plan, timeout)
    return CompiledAgain(replay.kernels[KERNEL], replay.triton)


def replayed(plan: ReplayPlan, timeout: float) -> Replay:
    """Run a replay and read it back."""
    outcome = run_replay(plan, timeout)
    return read_replay(plan.directory, outcome, plan.directory / LOG_FILE)


def both_again(
    subject: Subject, sides: Sequence[Side], directory: Path, *, passes: bool, timeout: float
) -> dict[Side, CompiledAgain]:
    """Those sides, at the same time, each into a folder of its own below the directory."""

    def one(side: Side) -> CompiledAgain:
        return compile_again(
            subject.sides[side],
            subject.target,
            directory / side,
            last=subject.last,
            passes=passes,
            timeout=timeout,
        )

    with ThreadPoolExecutor(len(sides)) as pool:
        return dict(zip(sides, pool.map(one, sides), strict=True))


@dataclass(frozen=True)
class Fidelity:
    """How a kernel that was compiled again compares with the recorded one: the stages of each kind, in pipeline order."""

    same: tuple[str, ...]
    other: tuple[str, ...]
    missed_failure: bool = False
    """The side could not compile it when it was recorded, and can now."""

    def describe(self, side: Side) -> str:
        """For people; what differs is a warning."""
        if self.missed_failure:
            return (
                f"{side}: it does NOT fail here, as it was recorded to, so what follows is not what broke it: the switch "
                "may act before the first pass, or in options that were recorded on the other side only"
            )
        if not self.other:
            return (
                f"{side}: it makes the recorded {', '.join(self.same)}"
                if self.same
                else f"{side}: nothing to compare with"
            )
        return (
            f"{side}: its {', '.join(self.other)} is NOT the recorded one, so what follows may not be what the launched "
            "kernel went through"
        )


def fidelity(side: KernelSide, again: Replayed, prints: StageFingerprints) -> Fidelity:
    """Compare every stage that is on both and was not lost since. A failure where one was recorded has no stages to compare."""
    if side.failed is not None:
        return Fidelity((), (), missed_failure=again.failure is None)
    recorded = [stage for stage in side.kernel.stages if not isinstance(read_stage(stage), Unreadable)]
    return Fidelity(*compare_stages(recorded, again.stages, prints))


def compare_stages(
    one: Sequence[StageText], other: Sequence[StageText], prints: StageFingerprints
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(the stages that are the same, those that differ), of those that are on both, in pipeline order."""
    ones, others = ({stage.name: stage for stage in stages} for stages in (one, other))
    same: list[str] = []
    apart: list[str] = []
    for name in order_stages(ones.keys() & others.keys()):
        found = prints.of([ones[name], others[name]])
        digest = digest_of(found, ones[name].path)
        (same if digest is not None and digest == digest_of(found, others[name].path) else apart).append(name)
    return tuple(same), tuple(apart)


def compiler_note(side: KernelSide, again: CompiledAgain) -> str | None:
    """What to say when another build of Triton compiled again than the one that was screened."""
    if not side.library or again.triton.get("library_sha256") == side.library:
        return None
    return f"{side.side}: Triton {again.triton.get('version')} here is another build than the one that was screened"
