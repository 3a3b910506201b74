from __future__ import annotations

import errno
import json
import math
import os
import resource
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import (
    Absence,
    BrokenRow,
    JudgedOperator,
    KernelIdentity,
    Launch,
    NodeVerdict,
    Numerics,
    OperatorVerdict,
    PairedRow,
    RowKey,
    ShapeFinding,
    Status,
    Verdict,
)
from zl_bench.store.screen import COLUMNS, ScreenRecord, operator_record, table_line, table_order

ADD = OperatorVerdict(
    operator="add", dtype="-", verdict=Verdict.NO_IR_DIFF, rows=2, changed_rows=0, kernels=1, converts_before=1,
    converts_after=1, first_stage="-", machine_code="same", pins="none", reason="", seconds=1.25,
    status=Status.COMPLETE, guessed_rows=1,
)  # fmt: skip
MM = replace(ADD, operator="mm", dtype="float16", verdict=Verdict.BROKEN, status=Status.PARTIAL, reason="a\tb\nc")
KEY = RowKey("t.py::t", "mm", "float16", 0, "64")
LAUNCH = Launch(KernelIdentity("k", "{}", "{}", "{}", 4, 3, 1), ("ttgir",), False, "differs", 1, 11)
JUDGED = JudgedOperator(
    MM,
    (
        NodeVerdict(
            "t.py::t",
            MM,
            (PairedRow(KEY, True, (LAUNCH,), first_stage="ttgir"),),
            (BrokenRow(KEY, "after", "compile", "k", "ttgir", "PassManager::run failed"),),
            (),
            (),
            (("after", Absence("failed", "no")),),
            (),
        ),
    ),
)


def plain(verdict: OperatorVerdict) -> JudgedOperator:
    return JudgedOperator(verdict, ())


def test_finished_operators_are_read_back(tmp_path: Path) -> None:
    record = ScreenRecord(tmp_path)
    assert record.prepare() == []
    record.append(plain(ADD))
    record.append(JUDGED)
    assert record.finished() == [ADD, MM]


def test_judged_operators_are_read_back_with_all_that_stands_behind_them(tmp_path: Path) -> None:
    record = ScreenRecord(tmp_path)
    infinite = Numerics(False, math.inf, 0.5, "dtype of output 1")
    node = replace(
        JUDGED.nodes[0],
        summary=replace(MM, seconds=0.0, shapes="not seen", shape_keys=("mm",)),
        shapes=(
            ShapeFinding("mm", "mm", "honoured", ("(64,)",), ("(64,)",)),
            ShapeFinding("mm", "mm", "not seen", ("(8,)",), ("(64,)",), "shapes not seen"),
        ),
        paired=(replace(JUDGED.nodes[0].paired[0], numerics=infinite),),
    )
    whole = JudgedOperator(MM, (node,))
    record.append(plain(ADD))
    record.append(whole)
    assert record.judged() == [plain(ADD), whole]


def test_a_repeated_operator_counts_once_with_its_last_verdict(tmp_path: Path) -> None:
    record = ScreenRecord(tmp_path)
    record.append(plain(ADD))
    record.append(plain(MM))
    record.append(plain(replace(ADD, rows=9)))
    assert record.finished() == [replace(ADD, rows=9), MM]


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_a_half_written_last_line_is_no_operator_and_is_cut(tmp_path: Path, cut: int) -> None:
    record = ScreenRecord(tmp_path)
    record.append(plain(ADD))
    record.append(plain(MM))
    path = tmp_path / "screen.jsonl"
    path.write_bytes(path.read_bytes()[:-cut])
    assert record.finished() == [ADD]
    assert record.prepare() == [ADD]
    record.append(plain(MM))
    assert record.finished() == [ADD, MM]


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / "screen.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="line 1"):
        ScreenRecord(tmp_path).finished()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("kernels",), []),
        (("pins",), {}),
        (("rows",), "x"),
        (("seconds",), None),
        (("shape_keys",), "mm"),
        (("shape_keys",), [1]),
        (("nodes",), {}),
        (("nodes",), [3]),
        (("nodes", 0, "rows"), "x"),
        (("nodes", 0, "paired"), [None]),
        (("nodes", 0, "paired", 0, "key"), "64"),
        (("nodes", 0, "paired", 0, "key", "ordinal"), "0"),
        (("nodes", 0, "paired", 0, "numerics"), 1),
        (("nodes", 0, "paired", 0, "kernels"), "k"),
        (("nodes", 0, "paired", 0, "kernels", 0, "identity"), None),
        (("nodes", 0, "paired", 0, "kernels", 0, "changed_stages"), "ttgir"),
        (("nodes", 0, "broken", 0, "message"), 1),
        (("nodes", 0, "absences"), "no"),
    ],
)
def test_a_line_of_other_types_is_no_operator(tmp_path: Path, place: tuple[str | int, ...], value: object) -> None:
    line = json.loads(json.dumps(operator_record(JUDGED)))
    *way, last = place
    inner = line
    for step in way:
        inner = inner[step]
    inner[last] = value
    (tmp_path / "screen.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match="line 1, is no finished operator"):
        ScreenRecord(tmp_path).judged()


def test_a_verdict_of_other_types_stops_a_screen_that_goes_on(tmp_path: Path) -> None:
    line = {**operator_record(plain(ADD)), "kernels": []}
    (tmp_path / "screen.jsonl").write_text(json.dumps(line) + "\n")
    with pytest.raises(UsageError, match=r"line 1, is no finished operator \(TypeError\('kernels is of type list'\)\)"):
        ScreenRecord(tmp_path).prepare()


def test_a_newer_field_is_passed_over(tmp_path: Path) -> None:
    line = {**operator_record(plain(ADD)), "unheard_of": 1}
    (tmp_path / "screen.jsonl").write_text(json.dumps(line) + "\n")
    assert ScreenRecord(tmp_path).finished() == [ADD]


def test_the_record_holds_nodes_rows_and_kernels(tmp_path: Path) -> None:
    ScreenRecord(tmp_path).append(JUDGED)
    (line,) = (tmp_path / "screen.jsonl").read_text().splitlines()
    node = json.loads(line)["nodes"][0]
    assert (node["node"], node["verdict"]) == ("t.py::t", "BROKEN")
    assert node["paired"][0]["key"]["detail"] == "64"
    assert node["paired"][0]["kernels"][0]["changed_stages"] == ["ttgir"]
    assert node["broken"][0]["message"] == "PassManager::run failed"
    assert node["absences"] == [
        {"side": "after", "kind": "failed", "reason": "no", "clean": False, "kernel": "", "stage": ""}
    ]


def test_the_table(tmp_path: Path) -> None:
    ScreenRecord(tmp_path).write_table([ADD, MM], [("add", "-"), ("mm", "float16")])
    header, first, second = (tmp_path / "screen.tsv").read_text().splitlines()
    assert header == (
        "operator\tdtype\tverdict\trows\tchanged_rows\tkernels\tconverts_before\tconverts_after\tfirst_stage\t"
        "machine_code\tpins\treason\tseconds\tstatus\tnumerics"
    )
    assert first == "mm\tfloat16\tBROKEN\t2\t0\t1\t1\t1\t-\tsame\tnone\ta b c\t1.2\tpartial\tn/a"
    assert second.startswith("add\t-\tNO_IR_DIFF\t")
    assert [path.name for path in tmp_path.iterdir()] == ["screen.tsv"]


def test_how_outputs_compare_stands_at_the_end_of_the_line() -> None:
    differs = "differs (largest absolute 0.5, relative inf)"
    assert table_line(replace(ADD, numerics=differs)).split("\t")[-1] == differs


def test_how_outputs_compare_is_recorded_as_strict_json(tmp_path: Path) -> None:
    row = replace(JUDGED.nodes[0].paired[0], numerics=Numerics(False, math.inf, 0.5, "2 outputs before, 1 after"))
    verdict = replace(ADD, numerics="differs (largest absolute inf, relative 0.5)")
    ScreenRecord(tmp_path).append(JudgedOperator(verdict, (replace(JUDGED.nodes[0], paired=(row,)),)))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    record = json.loads((tmp_path / "screen.jsonl").read_text(), parse_constant=refuse)
    assert record["nodes"][0]["paired"][0]["numerics"] == {
        "same": False, "largest_absolute": "inf", "largest_relative": 0.5, "note": "2 outputs before, 1 after",
        "unordered": False,
    }  # fmt: skip
    assert ScreenRecord(tmp_path).finished() == [verdict]


def test_a_record_from_before_outputs_were_compared_is_read(tmp_path: Path) -> None:
    line = operator_record(JUDGED)
    del line["numerics"], line["nodes"][0]["numerics"], line["nodes"][0]["paired"][0]["numerics"]
    (tmp_path / "screen.jsonl").write_text(json.dumps(line) + "\n")
    record = ScreenRecord(tmp_path)
    assert record.prepare() == [MM]
    record.append(plain(replace(ADD, numerics="same")))
    record.write_table(record.finished())
    assert [line.split("\t")[-1] for line in (tmp_path / "screen.tsv").read_text().splitlines()] == [
        "numerics",
        "n/a",
        "same",
    ]


def test_the_order_is_verdict_then_request() -> None:
    entries = [replace(ADD, operator=name) for name in "dbca"]
    order = [(name, "-") for name in "abcd"]
    mixed = [*entries, MM]
    assert [verdict.operator for verdict in table_order(mixed, order)] == ["mm", "a", "b", "c", "d"]
    every = [replace(ADD, verdict=verdict) for verdict in reversed(Verdict)]
    assert [entry.verdict for entry in table_order(every)] == list(Verdict)


@given(st.text(), st.text(), st.text())
def test_a_line_stays_a_line_and_a_cell_a_cell(operator: str, dtype: str, reason: str) -> None:
    line = table_line(replace(ADD, operator=operator, dtype=dtype, reason=reason))
    assert len(line.split("\t")) == len(COLUMNS)
    assert len(f"{line}x".splitlines()) == 1


def test_text_that_utf8_can_not_hold_is_written_all_the_same(tmp_path: Path) -> None:
    record = ScreenRecord(tmp_path)
    odd = replace(ADD, reason="\ud800")
    record.append(plain(odd))
    record.write_table([odd])
    assert record.finished() == [odd]


def fail_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)


def test_a_full_disk_keeps_what_is_finished_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = ScreenRecord(tmp_path)
    record.append(plain(ADD))
    record.write_table([ADD])
    fail_at(monkeypatch, errno.ENOSPC)
    with pytest.raises(EnvironmentUnfit, match=r"No space left.*1 finished operator .*--resume"):
        record.append(plain(MM))
    assert record.finished() == [ADD]
    with pytest.raises(EnvironmentUnfit, match="--resume"):
        record.write_table([ADD, MM])
    assert len((tmp_path / "screen.tsv").read_text().splitlines()) == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["screen.jsonl", "screen.tsv"]


def test_a_line_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """A real short write: the process may not make files longer than a line and a half."""
    record = ScreenRecord(tmp_path)
    record.append(plain(ADD))
    size = (tmp_path / "screen.jsonl").stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + size // 2, limits[1]))
    try:
        with pytest.raises(EnvironmentUnfit, match="1 finished operator"):
            record.append(plain(MM))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert (tmp_path / "screen.jsonl").stat().st_size == size
    record.append(plain(MM))
    assert record.finished() == [ADD, MM]


def test_a_root_that_is_gone(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match=r"screen\.jsonl"):
        ScreenRecord(tmp_path / "gone").append(plain(ADD))
