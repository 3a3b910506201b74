"""What a measurement's record says: the judgement by its looks, and the circumstances of each row."""

from __future__ import annotations

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.analysis.looks import LookedAt, judge_looks
from zl_bench.analysis.rounds import pair_rounds
from zl_bench.analysis.wording import counted, listed, one_line
from zl_bench.errors import ExitCode
from zl_bench.model import SIDES, RowKey, Side
from zl_bench.reports.rounds_view import Circumstances
from zl_bench.store.measure_record import Recorded, row_of


@dataclass(frozen=True)
class MeasureResult:
    """A measurement as far as it has come. `looked` is None where nothing was measured; `failed` names what was given up."""

    looked: LookedAt | None
    circumstances: Mapping[RowKey, Circumstances]
    notes: tuple[str, ...]
    failed: tuple[str, ...] = ()


NOTHING = MeasureResult(None, {}, ())


def result_of(
    recorded: Recorded, planned: int, delta: float, failed: Sequence[str], notes: Sequence[str]
) -> MeasureResult:
    """Judge what is recorded of a measurement of so many planned rounds."""
    told = (*notes, *_stops(recorded), *failed, *_untimed(recorded), *_drops(recorded), *_costs(recorded))
    failures = (*(f"{entry}: {why}" for entry, why in recorded.stopped.items()), *failed)
    rounds = pair_rounds(recorded.medians())
    if not rounds.numbers:
        return MeasureResult(None, {}, told, failures)
    looked = judge_looks(rounds, planned, delta)
    return MeasureResult(looked, circumstances_of(recorded), (*looked.notes, *told), failures)


def exit_code(result: MeasureResult, fail_on: Sequence[str]) -> ExitCode:
    """The exit code of a measurement that came to its end."""
    words = {row.verdict.value for row in result.looked.judgement.rows} if result.looked is not None else set()
    if result.looked is not None and not result.looked.judgement.trusted:
        words.add(SpeedVerdict.UNTRUSTED.value)
    if words & set(fail_on):
        return ExitCode.VERDICT_FOUND
    return ExitCode.FAILED_RUN if result.failed else ExitCode.OK


def circumstances_of(recorded: Recorded) -> dict[RowKey, Circumstances]:
    """How each row was measured: the medians of the clocks of all rounds, and how many pairs of its case were dropped."""
    lines: dict[RowKey, list[Mapping[str, Any]]] = defaultdict(list)
    for line in recorded.rows:
        lines[row_of(line)].append(line)
    dropped = Counter((str(line["entry"]), str(line["case"])) for line in recorded.dropped)
    return {
        key: Circumstances(
            timing=", ".join(dict.fromkeys(f"{line['method']} {line['l2']}" for line in found)),
            clock_before=_clock(found, "before"),
            clock_after=_clock(found, "after"),
            dropped=dropped[str(found[0]["entry"]), str(found[0]["case"])],
            numerics_differ=any(line.get("numerics_differ") is True for line in found),
        )
        for key, found in lines.items()
    }


def _clock(lines: Sequence[Mapping[str, Any]], side: Side) -> int | None:
    clocks = [
        reading["clock_mhz"]
        for line in lines
        if line["side"] == side
        for reading in (line.get(moment) for moment in SIDES)
        if reading is not None and reading.get("clock_mhz")
    ]
    return round(statistics.median(clocks)) if clocks else None


def _stops(recorded: Recorded) -> Iterator[str]:
    for entry, why in recorded.stopped.items():
        yield f"{entry} was stopped, since it launches other code than was screened: {one_line(why)}"


def _drops(recorded: Recorded) -> Iterator[str]:
    if recorded.dropped:
        reasons = Counter(one_line(str(line["why"])) for line in recorded.dropped)
        told = listed(f"{why}{f' ×{times}' if times > 1 else ''}" for why, times in reasons.most_common())
        yield f"{counted(len(recorded.dropped), 'pair')} measured and dropped: {told}"


def _untimed(recorded: Recorded) -> Iterator[str]:
    """Rows that some pair did not time though it stands: a row that no round has is in no table."""
    rounds: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for pair in recorded.pairs:
        for missing in pair.get("missing") or ():
            row = str(missing["row"])
            rounds[row] += 1
            reasons.setdefault(row, one_line(str(missing["why"])))
    if rounds:
        told = listed(f"{row} in {counted(times, 'round')} ({reasons[row]})" for row, times in rounds.items())
        yield f"{counted(len(rounds), 'row')} not timed in every round: {told}"


def _costs(recorded: Recorded) -> Iterator[str]:
    """What each operator took, dropped pairs included."""
    seconds = recorded.seconds
    if seconds:
        told = listed((f"{entry} {spent:.0f} s" for entry, spent in seconds.items()), shown=20)
        yield f"measuring took {sum(seconds.values()):.0f} s: {told}"
