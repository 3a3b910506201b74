"""Reading rounds that were measured by anything: one JSON object a line, one side of one row in one round.

    {"operator": "softmax", "dtype": "float16", "detail": "[4096, 4096]", "round": 0, "side": "before", "median_ms": 0.0373,
     "identical": false}

`node` (the test that it came from), `ordinal` (counts rows that share everything else from 0) and `first` (the side that
went first in that round) are optional, as is `launch_bound` (true where the host was slower than the device); whatever else an
object has is ignored. A bad line costs itself alone, and is named. Lines of `measure`'s own about other things than a row,
which say so in `record`, are passed over.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zl_bench.analysis.rounds import RoundMedian
from zl_bench.analysis.wording import one_line
from zl_bench.errors import UsageError
from zl_bench.model import SIDES, RowKey, Side
from zl_bench.store.layout import MEASURE_RECORD_FILE
from zl_bench.store.request import read_request

LONGEST_QUOTE = 60
RECORD = "record"
"""The field by which a line of `measure` says what it is about; ROUND is one side of one row in one round."""
ROUND = "round"


@dataclass(frozen=True)
class RoundFile:
    """What a file holds: one median per row, round and side. `bad` names the lines that were left out, and why."""

    medians: tuple[RoundMedian, ...]
    bad: tuple[str, ...]


class _BadLine(ValueError):
    """A line that is no round of a row."""


def read_rounds(source: Path) -> RoundFile:
    """The rounds in a file, or in a measured root. Raises UsageError if it can not be read, or holds none."""
    path = source / MEASURE_RECORD_FILE if source.is_dir() else source
    if path != source and not path.exists():
        raise UsageError(_without_rounds(source))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror or error}.") from error
    found = parse_rounds(content)
    if not found.medians:
        why = f" ({found.bad[0]})" if found.bad else ""
        raise UsageError(
            f"{path} holds no round{why}. Give a file with one JSON object a line, with operator, dtype, detail, round, "
            "side (before or after), median_ms and identical (true or false)."
        )
    return found


def _without_rounds(folder: Path) -> str:
    """Why a folder has no rounds, and what makes some."""
    if read_request(folder) is not None:
        made = f"`zl-bench measure {folder}` makes them"
        return f"{folder} was screened and not measured, so it has no rounds. On a card, {made}."
    return f"{folder} has no rounds: it is no measured root ({MEASURE_RECORD_FILE} is not there)."


def parse_rounds(content: bytes) -> RoundFile:
    """The rounds in the text of a file; of two medians of one row, round and side the first counts."""
    medians: dict[tuple[RowKey, int, Side], RoundMedian] = {}
    lines: dict[tuple[RowKey, int, Side], int] = {}
    bad = []
    for number, line in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            record = _object(line)
            if record.get(RECORD, ROUND) != ROUND:
                continue
            median = _median(record)
        except _BadLine as error:
            bad.append(f"line {number}: {error}")
            continue
        place = (median.key, median.round, median.side)
        if place in medians:
            bad.append(
                f"line {number}: {median.key.operator} {median.key.dtype} {one_line(median.key.detail, LONGEST_QUOTE)} has a "
                f"median of round {median.round} {median.side} in line {lines[place]}; give rows that repeat an ordinal each"
            )
            continue
        medians[place], lines[place] = median, number
    return RoundFile(tuple(medians.values()), tuple(bad))


def _object(line: bytes) -> Mapping[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise _BadLine(f"no JSON ({one_line(str(error), LONGEST_QUOTE)})") from error
    if not isinstance(record, dict):
        raise _BadLine("no JSON object")
    return record


def _median(record: Mapping[str, Any]) -> RoundMedian:
    operator, dtype, detail = (_text(record, name) for name in ("operator", "dtype", "detail"))
    node = _text(record, "node") if record.get("node") is not None else ""
    ordinal = _whole(record, "ordinal") if record.get("ordinal") is not None else 0
    return RoundMedian(
        key=RowKey(node, operator, dtype, ordinal, detail),
        round=_whole(record, "round"),
        side=_side(record, "side"),
        median_ms=_milliseconds(record),
        identical=_truth(record, "identical"),
        first=_side(record, "first") if record.get("first") is not None else None,
        launch_bound=record.get("launch_bound") is True,
    )


def _text(record: Mapping[str, Any], name: str) -> str:
    value = _value(record, name)
    if not isinstance(value, str):
        raise _wrong(name, value, "text")
    return value


def _whole(record: Mapping[str, Any], name: str) -> int:
    value = _value(record, name)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _wrong(name, value, "a whole number from 0 on")
    return value


def _side(record: Mapping[str, Any], name: str) -> Side:
    value = _value(record, name)
    for side in SIDES:
        if value == side:
            return side
    raise _wrong(name, value, "before or after")


def _truth(record: Mapping[str, Any], name: str) -> bool:
    value = _value(record, name)
    if not isinstance(value, bool):
        raise _wrong(name, value, "true or false")
    return value


def _milliseconds(record: Mapping[str, Any]) -> float:
    value = _value(record, "median_ms")
    if not isinstance(value, bool) and isinstance(value, int | float):
        try:
            milliseconds = float(value)
        except OverflowError:
            milliseconds = math.inf
        if 0 < milliseconds < math.inf:
            return milliseconds
    raise _wrong("median_ms", value, "a positive number")


def _value(record: Mapping[str, Any], name: str) -> Any:
    if name not in record:
        raise _BadLine(f"{name} is missing")
    return record[name]


def _wrong(name: str, value: object, wanted: str) -> _BadLine:
    try:
        shown = repr(value)
    except ValueError:  # Python writes no whole number of more than some thousand digits
        shown = "a number of thousands of digits"
    return _BadLine(f"{name} is {one_line(shown, LONGEST_QUOTE)}, not {wanted}")
