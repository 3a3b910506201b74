"""The verdicts of a measurement by the looks that were planned for it: what an earlier look has found stays found.

Each look spends its share of the 5 % (`judgement.looks_for`), so finding at either one is what was paid for. Everything else
that is told of a row is the last look's, and its interval must not speak against the word: a row that jumps between two
latencies can stand on the same one through three rounds, and hardly ever through six.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from zl_bench.analysis.judgement import JudgedRow, Judgement, Look, SpeedVerdict, judge, looks_for
from zl_bench.analysis.rounds import Rounds
from zl_bench.analysis.wording import counted
from zl_bench.model import RowKey

FOUND = (SpeedVerdict.FASTER, SpeedVerdict.SLOWER)


@dataclass(frozen=True)
class LookedAt:
    """A measurement, judged. `notes` say what an earlier look found that the last one would not."""

    judgement: Judgement
    looks: tuple[Look, ...]
    notes: tuple[str, ...] = ()


def judge_looks(rounds: Rounds, planned: int, delta: float) -> LookedAt:
    """Judge what there is of a measurement that was planned with so many rounds, for changes of at least `delta` (a share).

    Looks come when their number of rounds is there. One that ended between two, by a budget or by hand, is given the next one
    early, with what it has and at that look's rate; one that ended at a look has used no later one.
    """
    there = len(rounds.numbers)
    looks = looks_for(planned)
    next_one = next((look for look in looks if look.rounds >= there), looks[-1])
    taken = [look for look in looks if look.rounds < min(there, next_one.rounds)] + [Look(there, next_one.q)]
    seen = [judge(rounds.first_rounds(look.rounds), level=look.q, delta=delta) for look in taken]
    last = seen[-1]
    if not last.trusted or len(seen) == 1:
        return LookedAt(last, tuple(taken))
    earlier = _found_earlier(seen[:-1])
    rows = tuple(_with_earlier(row, earlier) for row in last.rows)
    return LookedAt(replace(last, rows=rows), tuple(taken), tuple(_notes(last.rows, rows, taken)))


def _found_earlier(judgements: Sequence[Judgement]) -> dict[RowKey, SpeedVerdict]:
    found: dict[RowKey, SpeedVerdict] = {}
    for judgement in judgements:
        for row in judgement.rows:
            if row.verdict in FOUND:
                found.setdefault(row.key, row.verdict)
    return found


def _with_earlier(row: JudgedRow, earlier: dict[RowKey, SpeedVerdict]) -> JudgedRow:
    """The row with the word of an earlier look, if all of its interval is on that side of no change.

    Where the last look found the opposite, nothing is claimed.
    """
    word = earlier.get(row.key)
    if word is None or word is row.verdict or row.placebo:
        return row
    if row.verdict in FOUND:
        return replace(row, verdict=SpeedVerdict.INCONCLUSIVE)
    return replace(row, verdict=word) if _beyond_no_change(row) is word else row


def _beyond_no_change(row: JudgedRow) -> SpeedVerdict | None:
    if row.ci_low is not None and row.ci_low > 1:
        return SpeedVerdict.FASTER
    return SpeedVerdict.SLOWER if row.ci_high is not None and row.ci_high < 1 else None


def _notes(last: Sequence[JudgedRow], rows: Sequence[JudgedRow], looks: Sequence[Look]) -> Iterator[str]:
    moved = sum(one.verdict is not other.verdict for one, other in zip(last, rows, strict=True))
    if moved:
        yield f"{counted(moved, 'row')} decided by the look after {looks[0].rounds} rounds (q {looks[0].q:g})"
