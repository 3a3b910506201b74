"""What the visits of flaggems_rounds.py have left: a line per part and operator, with its measured rounds whole.

Parts: `aa` is the null control, `rlc` a pass left out, `mirror` the same again with the sides' order reversed. Of an operator
that was done twice the last line counts.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import card_results
from card_results import RESULTS, SWITCHES, Line, Results

from zl_bench.analysis.judgement import DELTA
from zl_bench.analysis.looks import LookedAt, judge_looks
from zl_bench.analysis.rounds import RoundMedian, Rounds, pair_rounds
from zl_bench.store.round_file import RECORD, parse_rounds

PARTS = ("aa", "rlc", "mirror")
AXES = {"aa": SWITCHES["null"], "rlc": SWITCHES["rlc"], "mirror": SWITCHES["rlc"]}
"""The switch of each part."""
PACKED = "flaggems_rounds.jsonl.xz"


@dataclass(frozen=True)
class Measured:
    """One operator of one part."""

    line: Line

    @property
    def name(self) -> str:
        return str(self.line["name"])

    def told(self, kind: str) -> list[Line]:
        """The lines of one kind of the measurement's record."""
        return [line for line in self.line["record"] if line[RECORD] == kind]

    @cached_property
    def header(self) -> Line:
        return next(iter(self.told("header")), {})

    @cached_property
    def medians(self) -> tuple[RoundMedian, ...]:
        return parse_rounds("\n".join(map(json.dumps, self.line["record"])).encode()).medians

    @property
    def planned(self) -> int:
        return int(self.header["rounds"])

    @cached_property
    def rounds(self) -> Rounds:
        return pair_rounds(self.medians)

    @cached_property
    def looked(self) -> LookedAt:
        """As `zl-bench measure` has judged it."""
        return judge_looks(self.rounds, self.planned, float(self.header.get("delta", DELTA)))

    @property
    def seconds(self) -> float:
        """What its pairs took, dropped ones included."""
        return sum(float(line["seconds"]) for line in (*self.told("pair"), *self.told("dropped")))


def measured(results: Results, part: str) -> list[Measured]:
    """The operators of a part that have rounds."""
    found = [Measured(line) for line in results.done(part) if line["record"]]
    return [one for one in found if one.rounds.numbers]


def together(each: Sequence[Measured]) -> Rounds:
    """The rounds of several operators as those of one suite."""
    return pair_rounds(median for one in each for median in one.medians)


def pack(work: Path, have: Iterable[Path], out: Path) -> Path:
    """Put everything that `have` and `work` hold into one file of `out`, so that a kill leaves the old one or the new one."""
    out.mkdir(parents=True, exist_ok=True)
    lines = _counting(card_results.load([*have, work / RESULTS]))
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    unfinished = out / f"{PACKED}.part"
    unfinished.write_bytes(lzma.compress(text.encode()))
    return unfinished.replace(out / PACKED)


def _counting(results: Results) -> Iterator[Line]:
    for part in PARTS:
        yield from results.done(part)
