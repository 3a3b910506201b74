from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.rounds import RoundMedian
from zl_bench.errors import UsageError
from zl_bench.model import RowKey
from zl_bench.store.round_file import RoundFile, parse_rounds, read_rounds

GOOD: dict[str, Any] = {
    "operator": "mm", "dtype": "float16", "detail": "[64]", "round": 2, "side": "after", "median_ms": 0.5, "identical": False,
}  # fmt: skip


def parsed(*records: object) -> RoundFile:
    return parse_rounds("\n".join(json.dumps(record) for record in records).encode())


def why_bad(**changed: object) -> str:
    """What is said of a line with these fields, which stands between two good ones."""
    found = parsed(GOOD, GOOD | changed, GOOD | {"round": 3})
    assert [median.round for median in found.medians] == [2, 3]
    (told,) = found.bad
    assert told.startswith("line 2: ")
    return told.removeprefix("line 2: ")


def test_a_line_with_everything() -> None:
    found = parsed(GOOD | {"node": "t.py::t", "ordinal": 1, "first": "before", "comment": [1, 2]})
    assert found == RoundFile(
        (RoundMedian(RowKey("t.py::t", "mm", "float16", 1, "[64]"), 2, "after", 0.5, False, "before"),), ()
    )


def test_what_is_optional() -> None:
    expected = RoundMedian(RowKey("", "mm", "float16", 0, "[64]"), 2, "after", 0.5, False, None)
    assert parsed(GOOD).medians == (expected,)
    assert parsed(GOOD | {"node": None, "ordinal": None, "first": None}).medians == (expected,)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_what_is_missing_is_named(name: str) -> None:
    found = parsed({field: value for field, value in GOOD.items() if field != name})
    assert found == RoundFile((), (f"line 1: {name} is missing",))


def test_what_is_wrong_is_named() -> None:
    assert why_bad(median_ms=0) == "median_ms is 0, not a positive number"
    assert why_bad(median_ms="1.0") == "median_ms is '1.0', not a positive number"
    assert why_bad(median_ms=float("nan")) == "median_ms is nan, not a positive number"
    assert why_bad(median_ms=float("inf")) == "median_ms is inf, not a positive number"
    assert why_bad(median_ms=True) == "median_ms is True, not a positive number"
    assert why_bad(median_ms=10**400).endswith("not a positive number")
    assert why_bad(side="left") == "side is 'left', not before or after"
    assert why_bad(first="left") == "first is 'left', not before or after"
    assert why_bad(round=-1) == "round is -1, not a whole number from 0 on"
    assert why_bad(round=True) == "round is True, not a whole number from 0 on"
    assert why_bad(round=1.5) == "round is 1.5, not a whole number from 0 on"
    assert why_bad(ordinal="0") == "ordinal is '0', not a whole number from 0 on"
    assert why_bad(identical="false") == "identical is 'false', not true or false"
    assert why_bad(operator=None) == "operator is None, not text"


def test_lines_that_are_no_objects() -> None:
    good = json.dumps(GOOD).encode()
    found = parse_rounds(b"\xef\xbb\xbf" + good + b"\r\n\n[1]\n{\n\xff\n" + b"[" * 100_000 + b"\n" + good[:-5])
    assert len(found.medians) == 1
    assert [told.split(" (")[0] for told in found.bad] == [
        "line 3: no JSON object", "line 4: no JSON", "line 5: no JSON", "line 6: no JSON", "line 7: no JSON",
    ]  # fmt: skip


def test_a_number_of_thousands_of_digits() -> None:
    huge = json.dumps(GOOD).replace("0.5", "9" * 5000).encode()
    (told,) = parse_rounds(huge).bad
    assert told.startswith("line 1: ")


def test_of_two_medians_of_one_row_round_and_side_the_first_counts() -> None:
    found = parsed(GOOD, GOOD | {"median_ms": 0.7}, GOOD | {"ordinal": 1})
    assert [median.median_ms for median in found.medians] == [0.5, 0.5]
    assert found.bad == (
        "line 2: mm float16 [64] has a median of round 2 after in line 1; give rows that repeat an ordinal each",
    )


@given(st.binary(max_size=200))
def test_whatever_stands_in_a_file_is_rounds_or_bad_lines(content: bytes) -> None:
    found = parse_rounds(content)
    assert len(found.medians) + len(found.bad) == sum(
        bool(line.strip()) for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    )


def test_a_file_without_rounds_says_what_one_looks_like(tmp_path: Path) -> None:
    path = tmp_path / "rounds.jsonl"
    path.write_text("time: 1 ms\n")
    with pytest.raises(UsageError, match=r"holds no round \(line 1: no JSON .*operator, dtype, detail, round, side"):
        read_rounds(path)
    path.write_text("")
    with pytest.raises(UsageError, match="holds no round"):
        read_rounds(path)


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read: No such file"):
        read_rounds(tmp_path / "absent.jsonl")
    with pytest.raises(UsageError, match="it is no measured root"):
        read_rounds(tmp_path)


def test_lines_of_a_measurement_about_other_things_are_passed_over() -> None:
    record = {"operator": "mm", "dtype": "float16", "detail": "64", "round": 1, "side": "before", "median_ms": 0.5,
              "identical": False}  # fmt: skip
    lines = [
        {"record": "header"},
        {"record": "round", "launch_bound": True, **record},
        {"record": "pair"},
        {**record, "round": 2},
    ]
    found = parse_rounds("\n".join(map(json.dumps, lines)).encode())
    assert found.bad == ()
    assert [(median.round, median.launch_bound) for median in found.medians] == [(1, True), (2, False)]
