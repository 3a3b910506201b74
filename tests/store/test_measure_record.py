"""measure.jsonl: what is finished counts, whatever a kill left behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zl_bench.errors import UsageError
from zl_bench.store.measure_record import MeasureRecord, PairPlace

PLACE = PairPlace("mm:float16", "test_mm.py::test_mm", 1)


def row(side: str, detail: str = "64", **changed: Any) -> dict[str, Any]:
    return {"operator": "mm", "dtype": "float16", "node": "test_mm.py::test_mm[a]", "ordinal": 0, "detail": detail,
            "round": 1, "side": side, "median_ms": 0.5, "identical": False, **changed}  # fmt: skip


@pytest.fixture
def record(tmp_path: Path) -> MeasureRecord:
    made = MeasureRecord(tmp_path)
    made.start({"seed": 3})
    return made


def test_a_root_without_a_record_has_none(tmp_path: Path) -> None:
    assert MeasureRecord(tmp_path).prepare() is None
    (tmp_path / "measure.jsonl").write_text('{"record": "hea')
    assert MeasureRecord(tmp_path).prepare() is None
    assert (tmp_path / "measure.jsonl").read_bytes() == b""


def test_what_was_put_in_comes_out(record: MeasureRecord) -> None:
    record.add_dropped(PLACE, "throttled", {"seconds": 2.0})
    record.add_pair(PLACE, [row("before"), row("after")], {"seconds": 3.0})
    record.add_stopped(PairPlace("bmm", "test_bmm.py::test_bmm", 1), "other code")
    found = record.prepare()
    assert found is not None
    assert (found.header["seed"], found.header["format"]) == (3, 1)
    assert found.finished == {PLACE}
    assert [line["why"] for line in found.dropped] == ["throttled"]
    assert found.stopped == {"bmm": "other code"}
    assert [(median.side, median.key.node, median.round) for median in found.medians()] == [
        ("before", "test_mm.py::test_mm[a]", 1),
        ("after", "test_mm.py::test_mm[a]", 1),
    ]


@pytest.mark.parametrize("cut", range(1, 330, 7))
def test_a_write_that_was_cut_short_anywhere_costs_itself_alone(record: MeasureRecord, cut: int) -> None:
    record.add_pair(PLACE, [row("before"), row("after")], {})
    whole = record.path.read_bytes()
    second = PairPlace(PLACE.entry, PLACE.case, 2)
    record.add_pair(second, [row("before", round=2), row("after", round=2)], {})
    added = record.path.read_bytes()[len(whole) :]
    assert cut < len(added) - 1
    record.path.write_bytes(whole + added[:cut])
    found = record.prepare()
    assert found is not None
    assert found.finished == {PLACE}
    assert record.path.read_bytes() == whole
    record.add_pair(second, [row("before", round=2), row("after", round=2)], {})
    again = record.read()
    assert again is not None
    assert again.finished == {PLACE, second}


def test_a_damaged_line_is_named(record: MeasureRecord) -> None:
    record.add_pair(PLACE, [row("before"), row("after")], {})
    lines = record.path.read_text().splitlines()
    record.path.write_text("\n".join([lines[0], "nonsense", *lines[1:]]) + "\n")
    with pytest.raises(UsageError, match="line 2 is no record"):
        record.read()
    record.path.write_text("\n".join([lines[0], json.dumps({"record": "pair"})]) + "\n")
    with pytest.raises(UsageError, match="is no record of a measurement"):
        record.read()


def test_rounds_that_something_else_measured_are_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "measure.jsonl"
    path.write_text(json.dumps(row("before")) + "\nnonsense\n")
    kept = path.read_bytes()
    assert MeasureRecord(tmp_path).read() is None
    with pytest.raises(UsageError, match="something else has measured"):
        MeasureRecord(tmp_path).prepare()
    assert path.read_bytes() == kept
