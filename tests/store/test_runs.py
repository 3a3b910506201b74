from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zl_bench.model import Absence, ProcessOutcome, Run
from zl_bench.store.runs import OUTCOME_FILE, read_outcome, read_run, write_outcome

OK = ProcessOutcome("exited", 0)
NODE = "t.py::t"
BEGIN = {"event": "begin", "wire": 1, "triton": {"version": "3.6.0"}, "target": "cuda:90"}
COLLECTED = {"event": "collected", "nodes": [NODE]}
KERNEL = {
    "event": "kernel", "id": "k1", "name": "add", "signature": {"x": "*fp32"}, "constants": "{}", "attributes": "{}",
    "num_warps": 4, "num_stages": 3, "num_ctas": 1, "shared": 128, "configuration": "BLOCK: 64",
    "stages": {"ttgir": {"file": "ir/add.ttgir", "sha256": "ab"}},
}  # fmt: skip
KEY = {"node": NODE, "operator": "add", "dtype": "float16", "ordinal": 0, "detail": "64"}
ROW = {"event": "row", **KEY, "launches": ["k1", "k1"], "guesses": 2}
ROW_FAILED = {
    "event": "row_failed", **KEY, "phase": "compile", "message": "PassManager::run failed", "kernel": "mm",
    "stage": "ttgir", "whole_test": True,
}  # fmt: skip
COMPILE = {"event": "compile", "kernel": "add", "seconds": 0.1, "cached": False}
PASSED = {"event": "test", "node": NODE, "outcome": "passed", "message": ""}
TEST_FAILED = {"event": "test", "node": NODE, "outcome": "failed", "message": "RuntimeError: PassManager::run failed"}
SKIPPED = {"event": "test", "node": NODE, "outcome": "skipped", "message": "needs two cards"}
DESELECTED = {"event": "deselected", "dtype": "complex64", "available": ["float16", "float32"]}


def end(status: int = 0) -> dict[str, Any]:
    return {"event": "end", "exit": status}


def written(directory: Path, *events: dict[str, Any], tail: str = "") -> Path:
    text = "".join(json.dumps({"t": 1.0, **event}) + "\n" for event in events)
    (directory / "events.jsonl").write_text(text + tail, encoding="utf-8")
    (directory / "input.json").write_text(json.dumps({"operator": "add", "node": NODE}), encoding="utf-8")
    return directory


def load(directory: Path, *events: dict[str, Any], outcome: ProcessOutcome = OK, tail: str = "") -> Run:
    return read_run(written(directory, *events, tail=tail), NODE, "before", outcome)


def absence(directory: Path, *events: dict[str, Any], outcome: ProcessOutcome = OK, tail: str = "") -> Absence:
    found = load(directory, *events, outcome=outcome, tail=tail).absence
    assert found is not None
    return found


def test_a_whole_run(tmp_path: Path) -> None:
    pin = {
        "event": "pin",
        "tuner": "mm",
        "key": ["512"],
        "configuration": "c",
        "position": 0,
        "candidates": 36,
        "how": "first",
    }
    missing = {"event": "pin_missing", "tuner": "mm", "key": "1", "reason": "gone"}
    run = load(tmp_path, BEGIN, COLLECTED, COMPILE, KERNEL, pin, missing, ROW, PASSED, end())
    assert run.absence is None
    assert (run.node, run.side, run.compiles) == (NODE, "before", 1)
    (row,) = run.rows
    assert (row.key.operator, row.key.dtype, row.key.detail, row.guesses) == ("add", "float16", "64", 2)
    assert [kernel.identity.name for kernel in row.launches] == ["add", "add"]
    kernel = row.launches[0]
    assert kernel.identity.signature == '{"x": "*fp32"}'
    assert (kernel.shared_bytes, kernel.configuration) == (128, "BLOCK: 64")
    stage = kernel.stage("ttgir")
    assert stage is not None
    assert (stage.path, stage.sha256) == (tmp_path / "ir" / "add.ttgir", "ab")
    assert (run.pins[0].key, run.pins[0].how, run.pins[0].candidates) == ('["512"]', "first", 36)
    assert run.missing_pins[0].reason == "gone"
    assert run.environment["target"] == "cuda:90"


def test_a_cut_last_line_loses_only_itself(tmp_path: Path) -> None:
    run = load(
        tmp_path, BEGIN, COLLECTED, KERNEL, ROW, outcome=ProcessOutcome("signal", 9), tail='{"event": "row", "node'
    )
    assert len(run.rows) == 1
    assert run.absence == Absence("crashed", "killed by SIGKILL, after 1 row")


def test_damage_in_the_middle_keeps_what_came_before(tmp_path: Path) -> None:
    run = load(tmp_path, BEGIN, KERNEL, ROW, tail='garbage\n{"event": "end", "exit": 0}\n')
    assert len(run.rows) == 1
    assert run.absence is not None
    assert run.absence.kind == "crashed"
    assert "damaged" in run.absence.reason


@pytest.mark.parametrize("line", ["7", "[1]", '"x"'])
def test_lines_that_are_no_events_are_damage(tmp_path: Path, line: str) -> None:
    assert absence(tmp_path, BEGIN, tail=line + "\n").kind == "crashed"


def test_binary_is_damage(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_bytes(b"\xff\xfe\x00")
    found = read_run(tmp_path, NODE, "after", OK).absence
    assert found is not None
    assert found.kind == "crashed"


def test_no_record_at_all(tmp_path: Path) -> None:
    found = read_run(tmp_path / "nowhere", NODE, "after", ProcessOutcome("exited", 3)).absence
    assert found == Absence(
        "crashed",
        "the process ended with exit status 3 before the end of its record, before its first event, see run.log",
    )


def test_dtype_is_clean_and_names_what_there_is(tmp_path: Path) -> None:
    assert absence(tmp_path, BEGIN, DESELECTED, end(5), outcome=ProcessOutcome("exited", 5)) == Absence(
        "dtype", "dtype complex64 is not one of add's: float16, float32", clean=True
    )


def test_a_suite_that_refuses_a_dtype_by_failing_the_test_is_clean_too(tmp_path: Path) -> None:
    refused = (BEGIN, COLLECTED, DESELECTED, TEST_FAILED, end(1))
    found = absence(tmp_path, *refused, outcome=ProcessOutcome("exited", 1))
    assert found == Absence("dtype", "dtype complex64 is not one of add's: float16, float32", clean=True)
    later = absence(tmp_path, *refused[:3], ROW_FAILED, *refused[3:], outcome=ProcessOutcome("exited", 1))
    assert later.kind == "failed", "a row failed, so some dtype was taken"


def test_what_the_suite_itself_takes_out_is_named(tmp_path: Path) -> None:
    removed = {"event": "removed", "nodes": [NODE]}
    found = absence(tmp_path, BEGIN, removed, end(5), outcome=ProcessOutcome("exited", 5))
    assert found == Absence("nothing collected", f"deselected by the suite itself: {NODE}", clean=True)


def test_a_deselection_beside_rows_is_no_absence(tmp_path: Path) -> None:
    assert load(tmp_path, BEGIN, DESELECTED, COLLECTED, KERNEL, ROW, PASSED, end()).absence is None


def test_a_skip_is_clean_with_its_exact_reason(tmp_path: Path) -> None:
    assert absence(tmp_path, BEGIN, COLLECTED, SKIPPED, end()) == Absence(
        "skipped", "skipped: needs two cards", clean=True
    )


def test_a_failed_test_keeps_its_message(tmp_path: Path) -> None:
    found = absence(tmp_path, BEGIN, COLLECTED, KERNEL, ROW, TEST_FAILED, end(1), outcome=ProcessOutcome("exited", 1))
    assert found == Absence("failed", "RuntimeError: PassManager::run failed")


def test_a_failed_compile_names_kernel_and_stage_if_it_is_the_cause(tmp_path: Path) -> None:
    compile_failed = {
        "event": "compile_failed", "kernel": "mm", "stage": "ttgir", "error": "RuntimeError",
        "message": "PassManager::run failed\nmore",
    }  # fmt: skip
    found = absence(tmp_path, BEGIN, compile_failed, TEST_FAILED, end(1))
    assert (found.kernel, found.stage) == ("mm", "ttgir")
    unrelated = absence(tmp_path, BEGIN, {**compile_failed, "message": "a losing configuration"}, TEST_FAILED, end(1))
    assert unrelated.kernel == ""


def test_failed_rows_without_a_failed_test(tmp_path: Path) -> None:
    run = load(tmp_path, BEGIN, COLLECTED, ROW_FAILED, PASSED, end())
    assert run.failed_rows[0].whole_test
    assert (run.failed_rows[0].phase, run.failed_rows[0].kernel) == ("compile", "mm")
    assert run.absence == Absence("failed", "PassManager::run failed", kernel="mm", stage="ttgir")


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (
            ProcessOutcome("timeout", 0, "60 s"),
            Absence("timeout", "ran out of time, 60 s, before its first row, having compiled add"),
        ),
        (
            ProcessOutcome("signal", 11),
            Absence("crashed", "killed by SIGSEGV, before its first row, having compiled add"),
        ),
        (
            ProcessOutcome("signal", 250),
            Absence("crashed", "killed by signal 250, before its first row, having compiled add"),
        ),
        (
            ProcessOutcome("memory", 9, "limit 2 GiB, --memory"),
            Absence(
                "memory",
                "crashed: out of memory (limit 2 GiB, --memory), before its first row, having compiled add",
            ),
        ),
        (
            ProcessOutcome("signal", 9, "perhaps by the kernel"),
            Absence("crashed", "killed by SIGKILL, perhaps by the kernel, before its first row, having compiled add"),
        ),
        (ProcessOutcome("not started", 0, "no space left"), Absence("not started", "no space left")),
    ],
)
def test_how_the_process_ended(tmp_path: Path, outcome: ProcessOutcome, expected: Absence) -> None:
    assert absence(tmp_path, BEGIN, COLLECTED, COMPILE, outcome=outcome) == expected


def test_a_run_without_its_end_was_cut_short(tmp_path: Path) -> None:
    found = absence(tmp_path, BEGIN, COLLECTED, KERNEL, ROW)
    assert found.kind == "crashed"
    assert "exit status 0 before the end of its record" in found.reason


def test_a_process_that_dies_after_its_last_event_crashed(tmp_path: Path) -> None:
    events = (BEGIN, COLLECTED, KERNEL, ROW, PASSED, end())
    assert absence(tmp_path, *events, outcome=ProcessOutcome("exited", 134)).kind == "crashed"
    assert "after its last event" in absence(tmp_path, *events, outcome=ProcessOutcome("signal", 6)).reason


def test_what_the_stand_in_can_not_do(tmp_path: Path) -> None:
    needs = {"event": "needs_device", "operation": "aten::_linalg_svd"}
    found = absence(tmp_path, BEGIN, COLLECTED, needs, TEST_FAILED, end(1))
    assert found == Absence("needs a device", "needs a device: aten::_linalg_svd")


def test_nothing_collected_and_nothing_measured(tmp_path: Path) -> None:
    assert absence(tmp_path, BEGIN, end(5)) == Absence("nothing collected", "no test was collected")
    broken = absence(tmp_path, BEGIN, end(2), outcome=ProcessOutcome("exited", 2))
    assert broken.kind == "crashed"
    assert broken.reason.startswith("pytest was interrupted from within")
    assert absence(tmp_path, BEGIN, COLLECTED, PASSED, end()).reason == "the test measured nothing"
    gone = {**end(4), "message": "\nERROR: not found: /suite/test_add.py::test_add\n(no match in any of [<Module>])"}
    found = absence(tmp_path, BEGIN, gone, outcome=ProcessOutcome("exited", 4))
    assert found == Absence("nothing collected", "no test was collected: not found: /suite/test_add.py::test_add")
    usage = "ERROR: usage: pytest.main() [options]\npytest.main(): error: unrecognized arguments: --iter"
    found = absence(tmp_path, BEGIN, {**end(4), "message": usage}, outcome=ProcessOutcome("exited", 4))
    assert found.reason.endswith("before any test ran: pytest.main(): error: unrecognized arguments: --iter")
    found = absence(tmp_path, BEGIN, COLLECTED, COMPILE, PASSED, end())
    assert found == Absence("nothing captured", "the test measured nothing, though 1 kernel compiled")


@pytest.mark.parametrize(
    ("dtype", "known"), [("'nope'", "'float16', 'bool'"), ("nope", "float16, bool")], ids=["quoted", "plain"]
)
def test_a_dtype_that_the_suite_s_option_does_not_know(tmp_path: Path, dtype: str, known: str) -> None:
    said = f"ERROR: usage: x\nx: error: argument --dtypes: invalid choice: {dtype} (choose from {known})\n  rootdir: /suite"
    found = absence(tmp_path, BEGIN, {**end(4), "message": said}, outcome=ProcessOutcome("exited", 4))
    assert found == Absence("dtype", "dtype nope is not one of the suite's: float16, bool", clean=True)


def test_a_launch_of_an_unrecorded_kernel_fails_its_row(tmp_path: Path) -> None:
    run = load(tmp_path, BEGIN, COLLECTED, ROW, PASSED, end())
    assert run.rows == ()
    assert "never recorded" in run.failed_rows[0].message


def test_how_long_each_row_took_and_what_a_late_run_was_at(tmp_path: Path) -> None:
    other = {**ROW, "detail": "more"}
    failed_row = {**ROW_FAILED, "detail": "worse"}
    events = ({**BEGIN, "t": 100.0}, KERNEL, {**ROW, "t": 103.0}, {**failed_row, "t": 104.0}, {**other, "t": 109.5})
    run = load(tmp_path, *events, outcome=ProcessOutcome("timeout", 0, "more than 60 s", seconds=61.0))
    assert [row.seconds for row in run.rows] == [3.0, 5.5]
    assert (run.unfinished_seconds, run.limit_seconds) == (51.5, 61.0)
    ended = load(tmp_path, *events, outcome=ProcessOutcome("signal", 11, seconds=61.0))
    assert ended.limit_seconds is None


def test_outcomes_are_kept_beside_the_run(tmp_path: Path) -> None:
    outcome = ProcessOutcome("timeout", 0, "60 s", 2)
    write_outcome(tmp_path, outcome)
    assert read_outcome(tmp_path) == outcome
    write_outcome(tmp_path, replace(outcome, seconds=60.2))
    assert read_outcome(tmp_path).seconds == 60.2
    (tmp_path / OUTCOME_FILE).write_text('{"kind": "timeout", "code": 0, "detail": "60 s"}')  # of an older version
    assert read_outcome(tmp_path) == ProcessOutcome("timeout", 0, "60 s")


def test_a_missing_outcome_is_told_from_the_events(tmp_path: Path) -> None:
    assert read_outcome(tmp_path).kind == "not started"
    written(tmp_path, BEGIN)
    assert read_outcome(tmp_path).kind == "exited"
    for damaged in ("{", "[7]", '{"kind": "exited", "code": 1e400, "detail": ""}', "[" * 200_000):
        (tmp_path / "outcome.json").write_text(damaged)
        assert read_outcome(tmp_path) == ProcessOutcome("exited", detail="how the process ended was not recorded")


def test_an_event_nested_without_end_is_damage(tmp_path: Path) -> None:
    found = load(tmp_path, BEGIN, tail='{"event": ' + "[" * 200_000 + "\n{}\n")
    assert found.absence is not None
    assert "events.jsonl is damaged" in found.absence.reason
    (tmp_path / "input.json").write_text("[" * 200_000)
    assert read_run(tmp_path, NODE, "before", OK).absence is not None


@pytest.mark.parametrize(("status", "words"), [(2, "interrupted"), (3, "internal error")])
def test_a_session_that_pytest_ended_early_is_no_complete_run(tmp_path: Path, status: int, words: str) -> None:
    found = absence(tmp_path, BEGIN, COLLECTED, PASSED, end(status), outcome=ProcessOutcome("exited", status))
    assert found.kind == "crashed"
    assert words in found.reason


def test_a_collected_test_that_never_ran_is_no_complete_run(tmp_path: Path) -> None:
    found = absence(tmp_path, BEGIN, COLLECTED, PASSED, {**end(0), "unrun": ["t.py::b", "t.py::c"]})
    assert found == Absence("crashed", "the session ended early, 2 collected tests never ran: t.py::b")


def test_a_session_that_a_test_stopped_is_no_complete_run(tmp_path: Path) -> None:
    found = absence(tmp_path, BEGIN, COLLECTED, PASSED, {**end(0), "stopped": "Exit: enough"})
    assert found == Absence("crashed", "the session ended early, Exit: enough")


@pytest.mark.parametrize(
    "event",
    [
        {"event": "kernel", "name": "k"},
        {"event": "kernel", "id": 1, "stages": {"ttgir": {}}},
        {"event": "kernel", "id": 1, "stages": []},
        {"event": "kernel", "id": 1, "stages": {}, "shared": "lots"},
        {"event": "row", "ordinal": "x"},
        {"event": "row", "launches": None},
    ],
)
def test_an_event_that_can_not_be_understood_is_damage_and_no_traceback(
    tmp_path: Path, event: dict[str, object]
) -> None:
    found = load(tmp_path, BEGIN, COLLECTED, event, PASSED, end())
    assert found.rows == ()
    assert found.absence is not None
    assert "can not be understood" in found.absence.reason


def test_the_last_word_on_a_failed_row_counts(tmp_path: Path) -> None:
    failed = {"event": "row_failed", "node": NODE, "operator": "add", "dtype": "float16", "ordinal": 0, "detail": "1"}
    found = load(tmp_path, BEGIN, COLLECTED, {**failed, "whole_test": False}, {**failed, "whole_test": True}, end(1))
    assert [row.whole_test for row in found.failed_rows] == [True]
