"""The measured rounds of a root as a report shows them: judged as `measure` and `judge` do."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.judgement import DELTA, JudgedGroup, Judgement, SpeedVerdict, judge
from zl_bench.analysis.rounds import RoundMedian, pair_rounds
from zl_bench.analysis.wording import counted, one_line
from zl_bench.model import RowKey
from zl_bench.reports import report_words
from zl_bench.reports.report_view import GroupView, MeasurePart, NotCovered, TimingView, VerdictCount
from zl_bench.reports.rounds_view import described, placebo_line, promises, untrusted
from zl_bench.store.measure_record import Line, MeasureRecord, Recorded, row_of
from zl_bench.store.round_file import parse_rounds, read_rounds
from zl_bench.workflow.judge_file import notes_of
from zl_bench.workflow.measure_result import result_of
from zl_bench.workflow.report_round_rows import timing_view


@dataclass(frozen=True)
class MeasuredRoot:
    """What the rounds of a root say: as a whole, of each row, and of each operator's changed rows by its name in the rows."""

    part: MeasurePart
    judgement: Judgement
    rows: Mapping[RowKey, TimingView]
    groups: Mapping[str, GroupView]
    header: Line
    """What was asked of the measurement; empty of rounds that something else has measured."""
    lines: Sequence[Line]
    """Everything that was recorded of each side of each row in each round."""
    outputs_differ: frozenset[RowKey]
    """Rows whose sides were found to compute different things."""
    not_measured: tuple[NotCovered, ...]


@dataclass(frozen=True)
class JudgedRounds:
    """Rounds and what was made of them. `notes` say what should be known of them."""

    medians: tuple[RoundMedian, ...]
    lines: Sequence[Line]
    header: Line
    judgement: Judgement
    notes: tuple[str, ...]
    not_measured: tuple[NotCovered, ...] = ()


def read_measured(root: Path) -> MeasuredRoot | None:
    """The judged rounds of a root, None if there is none that has both sides of a row.

    Raises UsageError for a damaged record, EnvironmentUnfit for one that can not be read.
    """
    record = MeasureRecord(root)
    recorded = record.read()
    found = _measured(recorded) if recorded is not None else _from_elsewhere(record.path)
    if found is None:
        return None
    judgement = found.judgement
    rounds = sorted({median.round for median in found.medians})
    medians: dict[RowKey, list[RoundMedian]] = defaultdict(list)
    for median in found.medians:
        medians[median.key].append(median)
    lines: dict[RowKey, list[Line]] = defaultdict(list)
    for line in found.lines:
        lines[row_of(line)].append(line)
    paired = [row.rounds for row in judgement.rows]
    part = MeasurePart(
        counts=tuple(_counts(judgement)),
        totals=f"{counted(len(judgement.rows), 'row')}; {described(judgement.suite)}",
        trusted=judgement.trusted,
        untrusted=judgement.calibration.moved,
        placebo=_group(judgement.placebos),
        placebo_line=_placebo_sentence(judgement),
        changed=_group(judgement.suite),
        rounds=tuple(rounds),
        basis=report_words.rounds_basis(paired, len(rounds)),
        threshold=judgement.threshold,
        level=judgement.level,
        words=f"{promises(judgement)}.",
        notes=found.notes,
    )
    return MeasuredRoot(
        part=part,
        judgement=judgement,
        rows={row.key: timing_view(row, medians[row.key], lines[row.key]) for row in judgement.rows},
        groups={group.name: _group(group) for group in judgement.operators},
        header=found.header,
        lines=found.lines,
        outputs_differ=frozenset(row_of(line) for line in found.lines if line.get("numerics_differ") is True),
        not_measured=found.not_measured,
    )


def _measured(recorded: Recorded) -> JudgedRounds | None:
    """What a measurement of this tool recorded."""
    planned, delta = int(recorded.header.get("rounds") or 0), float(recorded.header.get("delta") or DELTA)
    medians = recorded.medians()
    there = len({median.round for median in medians})
    result = result_of(recorded, planned or there, delta, (), ())
    if result.looked is None:
        return None
    early = [f"{there} of {planned} planned rounds were measured"] if there < planned else []
    stopped = tuple(NotCovered(entry, f"not measured any further: {why}") for entry, why in recorded.stopped.items())
    notes = (*result.notes, *early, *notes_of(medians, pair_rounds(medians)))
    return JudgedRounds(medians, recorded.rows, recorded.header, result.looked.judgement, notes, stopped)


def _from_elsewhere(path: Path) -> JudgedRounds | None:
    """Rounds that something else has put there, in the form that `judge` reads."""
    if not path.is_file():
        return None
    found = read_rounds(path)
    rounds = pair_rounds(found.medians)
    if not rounds.numbers:
        return None
    lines = [json.loads(line) for line in path.read_bytes().split(b"\n") if parse_rounds(line).medians]
    notes = (*map(one_line, found.bad), *notes_of(found.medians, rounds))
    return JudgedRounds(found.medians, lines, {}, judge(rounds), notes)


def _counts(judgement: Judgement) -> Iterator[VerdictCount]:
    words = Counter(row.verdict for row in judgement.rows)
    for verdict in SpeedVerdict:
        if words[verdict]:
            sentence = report_words.speed_sentence(verdict, judgement.threshold, judgement.level)
            yield VerdictCount(verdict.value, words[verdict], sentence)


def _placebo_sentence(judgement: Judgement) -> str:
    line = placebo_line(judgement)
    alarm = f"{untrusted(judgement)}. " if not judgement.trusted else ""
    return f"{alarm}{line[0].upper()}{line[1:]}."


def _group(group: JudgedGroup) -> GroupView:
    ranged = group.rounds > 1
    return GroupView(
        name=group.name,
        rows=group.rows,
        of=group.of,
        rounds=group.rounds,
        speedup=group.speedup,
        low=group.ci_low if ranged else None,
        high=group.ci_high if ranged else None,
        sentence=described(group),
    )
