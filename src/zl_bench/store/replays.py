"""Reading back what a replay left: of each kernel its passes, its stages and how it ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit
from zl_bench.inside.zl_probe.wire import EVENTS_FILE, read_events
from zl_bench.model import ProcessOutcome, StageText
from zl_bench.store.events import Event, of_kind, text


@dataclass(frozen=True)
class ReplayedPass:
    """A pass and the IR after it. `occurrence` counts the passes of that name in its stage from 1."""

    stage: str
    name: str
    occurrence: int
    left_out: bool
    text: StageText


@dataclass(frozen=True)
class ReplayFailure:
    """Where a compile failed. `stage` is `load` where the target has not enough memory; `in_pass` is empty if not told."""

    stage: str
    in_pass: str
    message: str

    def describe(self) -> str:
        """In one sentence without its end."""
        where = f"{self.stage} ({self.in_pass})" if self.in_pass else self.stage or "the start"
        return f"fails at {where}: {self.message}"


@dataclass(frozen=True)
class Replayed:
    """One kernel, compiled again. `failure` is None where every stage that was asked for was made."""

    passes: tuple[ReplayedPass, ...]
    stages: tuple[StageText, ...]
    failure: ReplayFailure | None
    added: tuple[str, ...] = ()
    """The passes of the TTGIR pipeline, in order, those that were left out included."""

    def stage(self, name: str) -> StageText | None:
        """The stage of that name, or None if it was not made."""
        return next((stage for stage in self.stages if stage.name == name), None)


@dataclass(frozen=True)
class Replay:
    """Everything that one replay recorded: its kernels by their ids, and the `begin` event."""

    kernels: Mapping[str, Replayed]
    environment: Mapping[str, object]

    @property
    def triton(self) -> Mapping[str, str]:
        """Version, path and hash of the Triton that compiled."""
        found = self.environment.get("triton")
        return found if isinstance(found, dict) else {}


def read_replay(directory: Path, outcome: ProcessOutcome, log: Path) -> Replay:
    """What was recorded below `directory`. A kernel at which the process ended has failed by that.

    Raises EnvironmentUnfit, naming the log, when it did not get so far as to compile.
    """
    events: list[Event] = list(read_events(str(directory / EVENTS_FILE)))
    starts = [place for place, event in enumerate(events) if event.get("event") == "replay"]
    if not starts:
        raise EnvironmentUnfit(f"The kernel could not be compiled again ({how_it_ended(outcome)}); see {log}.")
    parts = [events[start:end] for start, end in zip(starts, [*starts[1:], len(events)], strict=True)]
    kernels = {text(part[0], "kernel"): _kernel(directory, part, outcome) for part in parts}
    return Replay(kernels, dict(next(of_kind(events, "begin"), {})))


def how_it_ended(outcome: ProcessOutcome) -> str:
    """How a replay's process ended, for people."""
    words = {
        "exited": f"it ended with {outcome.code}",
        "signal": f"it ended by signal {outcome.code}",
        "timeout": f"it took {outcome.detail}",
    }
    return words.get(outcome.kind, outcome.kind)


def _kernel(directory: Path, events: Sequence[Event], outcome: ProcessOutcome) -> Replayed:
    counts: Counter[tuple[str, str]] = Counter()
    passes = []
    for event in of_kind(events, "pass"):
        key = text(event, "stage"), text(event, "pass")
        counts[key] += 1
        reference = StageText("mlir", directory / text(event, "file"), text(event, "sha256"))
        passes.append(ReplayedPass(*key, counts[key], bool(event.get("left_out")), reference))
    stages = tuple(
        StageText(text(event, "stage"), directory / text(event, "file"), text(event, "sha256"))
        for event in of_kind(events, "stage")
    )
    end = next((event for event in events if event.get("event") in ("replayed", "replay_failed")), None)
    added = tuple(map(str, end.get("added") or ())) if end is not None else ()
    return Replayed(tuple(passes), stages, _failure(events, end, outcome), added)


def _failure(events: Sequence[Event], end: Event | None, outcome: ProcessOutcome) -> ReplayFailure | None:
    if end is None:
        begun = [event for event in events if event.get("event") in ("stage_begins", "pass_begins")]
        last: Event = begun[-1] if begun else {}
        return ReplayFailure(
            text(last, "stage"), text(last, "pass"), f"the process did not survive: {how_it_ended(outcome)}"
        )
    if end.get("event") == "replayed":
        return None
    cause = text(end, "cause")
    message = text(end, "message")
    return ReplayFailure(text(end, "stage"), text(end, "pass"), f"{message}; {cause}" if cause else message)
