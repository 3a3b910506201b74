"""`judge`: the statistics of `measure` on rounds that anything measured, without a device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.judgement import Judgement, judge
from zl_bench.analysis.rounds import RoundMedian, Rounds, one_sided_order, pair_rounds
from zl_bench.analysis.wording import counted, listed
from zl_bench.errors import UsageError
from zl_bench.store.round_file import read_rounds


@dataclass(frozen=True)
class JudgedFile:
    """A file's rounds, judged. `notes` say what should be known of them, a sentence each."""

    path: Path
    judgement: Judgement
    notes: tuple[str, ...]


def judge_file(path: Path, delta: float) -> JudgedFile:
    """Judge the rounds in a file at one look, for changes of at least `delta` (a share).

    Raises UsageError if there is nothing to judge.
    """
    found = read_rounds(path)
    rounds = pair_rounds(found.medians)
    if not rounds.numbers:
        raise UsageError(f"{path} has no round with both sides of a row: a ratio takes a before and an after.")
    return JudgedFile(path, judge(rounds, delta=delta), (*found.bad, *notes_of(found.medians, rounds)))


def notes_of(medians: Sequence[RoundMedian], rounds: Rounds) -> Iterator[str]:
    """What should be known of these rounds, a sentence each."""
    measured = {(median.key, median.round) for median in medians}
    pairs = int((rounds.before > 0).sum())
    if pairs < len(measured):
        yield f"{counted(len(measured) - pairs, 'round')} of a row with one side alone, not counted"
    said = {(median.key, median.identical) for median in medians}
    unsure = sorted({key for key, _ in said if (key, True) in said and (key, False) in said})
    if unsure:
        names = listed(f"{key.operator} {key.dtype} {key.detail}" for key in unsure)
        yield f"identical in some rounds and not in others, so taken as changed: {names}"
    if first := one_sided_order(medians):
        yield f"the {first} side went first in every round, so what going first costs looks like a change"
