"""The growing record of a measurement: measure.jsonl, an object a line, and measure.tsv, made from it.

    header    what was asked, and what is the same in all of it: versions, switch, seed
    round     one side of one row in one round, with everything that it was measured by; the lines that `judge` reads
    pair      closes the round lines of one node in one round: without it they are an interrupted write's, and do not count
    dropped   a pair that was measured and can not be used, and why
    stopped   an operator that must not be measured any further, and why
    operator  what measuring an operator has taken so far, in seconds, dropped pairs included; each command that comes to its
              end writes one, and the last of each holds
    whole     the same of all operators

Lines of a pair are written together and are on disk before the pair counts as finished.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zl_bench.analysis.rounds import RoundMedian
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import RowKey
from zl_bench.store.files import append_durably, unwritable
from zl_bench.store.layout import MEASURE_RECORD_FILE
from zl_bench.store.round_file import RECORD, ROUND, parse_rounds

FORMAT = 1
Line = Mapping[str, Any]


@dataclass(frozen=True, order=True)
class PairPlace:
    """One case (a node) of one operator entry in one round, from 1."""

    entry: str
    case: str
    round: int

    @classmethod
    def of(cls, line: Line) -> PairPlace:
        """Of a line of the record. Raises KeyError, TypeError or ValueError for one that has none."""
        return cls(str(line["entry"]), str(line["case"]), int(line["round"]))

    @property
    def fields(self) -> dict[str, Any]:
        """As in a line of the record."""
        return {"entry": self.entry, "case": self.case, "round": self.round}


@dataclass(frozen=True)
class Recorded:
    """What a record holds: `rows` of finished pairs alone."""

    header: Line
    rows: tuple[Line, ...]
    pairs: tuple[Line, ...]
    dropped: tuple[Line, ...]
    stopped: Mapping[str, str]
    """By operator entry, why it is not measured any further."""

    @property
    def finished(self) -> frozenset[PairPlace]:
        """The pairs that need not be measured any more."""
        return frozenset(map(PairPlace.of, self.pairs))

    @property
    def seconds(self) -> dict[str, float]:
        """By operator entry, what measuring it took, dropped pairs included."""
        spent: dict[str, float] = {}
        for line in (*self.pairs, *self.dropped):
            entry = str(line["entry"])
            spent[entry] = spent.get(entry, 0.0) + float(line.get("seconds") or 0.0)
        return spent

    def medians(self) -> tuple[RoundMedian, ...]:
        """The rows as the statistics take them."""
        return parse_rounds("\n".join(map(json.dumps, self.rows)).encode()).medians


def row_of(line: Line) -> RowKey:
    """The row that a line of a round is about; `node` and `ordinal` may be missing, as in rounds measured by anything."""
    node, operator, dtype = (str(line.get(name) or "") for name in ("node", "operator", "dtype"))
    return RowKey(node, operator, dtype, int(line.get("ordinal") or 0), str(line["detail"]))


class MeasureRecord:
    """The record in one root. Hold the root (`layout.hold_root`) while writing."""

    def __init__(self, root: Path) -> None:
        self.path = root / MEASURE_RECORD_FILE
        self._writing = threading.Lock()
        """Pairs of several cards may end at once, and the lines of one must stay together."""

    def read(self) -> Recorded | None:
        """What is recorded, None without a header. Raises UsageError if it is damaged, EnvironmentUnfit if unreadable."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise EnvironmentUnfit(f"can not read {self.path}: {error.strerror or error}.") from error
        whole = _whole_lines(content)
        # Rounds that something else has measured lie under the same name, and `judge` reads them line by line.
        if not whole or not _is_header(whole[0]):
            return None
        lines = [self._line(number, text) for number, text in enumerate(whole, start=1)]
        try:
            return _recorded(lines)
        except (KeyError, TypeError, ValueError) as error:
            raise self._damaged("a line of it", repr(error)) from error

    def prepare(self) -> Recorded | None:
        """Cut what an interrupted write has left, so that the next line starts on its own, and return what is recorded.

        Raises UsageError for whole lines that this tool has not written: they are somebody's rounds.
        """
        recorded = self.read()
        if self.path.exists():
            try:
                with self.path.open("r+b") as stream:
                    content = stream.read()
                    if recorded is None and _whole_lines(content):
                        raise self._damaged("line 1", "it is no header, so something else has measured these rounds")
                    stream.truncate(0 if recorded is None else _closed(content))
            except OSError as error:
                raise unwritable(self.path, error, "every finished round is kept") from error
        return recorded

    def start(self, header: Line) -> None:
        """Begin a record."""
        self._append({RECORD: "header", "format": FORMAT, **header})

    def add_pair(self, place: PairPlace, rows: Sequence[Line], about: Line) -> None:
        """A pair that stands: its rows, and what holds for all of them."""
        lines = [{RECORD: ROUND, **row, **place.fields} for row in rows]
        self._append(*lines, {RECORD: "pair", **place.fields, "rows": len(rows), **about})

    def add_dropped(self, place: PairPlace, why: str, about: Line) -> None:
        """A pair that can not be used."""
        self._append({RECORD: "dropped", **place.fields, "why": why, **about})

    def add_stopped(self, place: PairPlace, why: str) -> None:
        """An operator that must not be measured any further."""
        self._append({RECORD: "stopped", **place.fields, "why": why})

    def add_costs(self, recorded: Recorded) -> None:
        """What measuring has taken, by what is recorded."""
        rows: dict[str, set[RowKey]] = {}
        for line in recorded.rows:
            rows.setdefault(str(line["entry"]), set()).add(row_of(line))
        spent = recorded.seconds
        lines = [
            {RECORD: "operator", "entry": entry, "rows": len(rows.get(entry, ())), "seconds": round(seconds, 3)}
            for entry, seconds in spent.items()
        ]
        self._append(*lines, {RECORD: "whole", "seconds": round(sum(spent.values()), 3)})

    def _append(self, *lines: Line) -> None:
        text = "\n".join(json.dumps(line, separators=(",", ":"), default=str) for line in lines)
        with self._writing:
            append_durably(self.path, text, kept="every finished round is kept")

    def _line(self, number: int, text: bytes) -> Line:
        try:
            line = json.loads(text)
            if isinstance(line, dict):
                return line
        except ValueError:
            pass
        raise self._damaged(f"line {number}", "no JSON object")

    def _damaged(self, where: str, why: str) -> UsageError:
        return UsageError(
            f"{self.path}: {where} is no record of a measurement ({why}). Nothing was changed. Remove that line, or move the "
            "file away to measure afresh."
        )


def _whole_lines(content: bytes) -> list[bytes]:
    """The lines up to the last one that closes something; a cut one, and rows that no pair closes, are not there."""
    return [line for line in content[: _closed(content)].split(b"\n") if line.strip()]


def _closed(content: bytes) -> int:
    """How many bytes are of finished pairs and of what else stands for itself."""
    end = content.rfind(b"\n") + 1
    while end > 0:
        start = content.rfind(b"\n", 0, end - 1) + 1
        line = content[start:end].strip()
        if line and not _is_row(line):
            return end
        end = start
    return 0


def _is_row(line: bytes) -> bool:
    return _kind(line) == ROUND


def _is_header(line: bytes) -> bool:
    return _kind(line) == "header"


def _kind(line: bytes) -> object:
    """What kind of record a line is; None of what is none."""
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record.get(RECORD) if isinstance(record, dict) else None


def _recorded(lines: Iterable[Line]) -> Recorded:
    header, *others = lines
    by_kind: dict[str, list[Line]] = {}
    for line in others:
        by_kind.setdefault(str(line.get(RECORD)), []).append(line)
    finished = frozenset(map(PairPlace.of, by_kind.get("pair", ())))
    return Recorded(
        header=header,
        rows=tuple(line for line in by_kind.get(ROUND, ()) if PairPlace.of(line) in finished),
        pairs=tuple(by_kind.get("pair", ())),
        dropped=tuple(by_kind.get("dropped", ())),
        stopped={str(line["entry"]): str(line["why"]) for line in by_kind.get("stopped", ())},
    )
