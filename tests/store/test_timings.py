from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.store.timed_runs import (
    BEGIN,
    END,
    NODE,
    abandoned,
    kernel,
    key,
    latency,
    row,
    row_failed,
    timed_row,
    write_run,
)
from zl_bench.model import Absence, CardReading, Latency, OutputSample, ProcessOutcome, Row, Run
from zl_bench.store.runs import read_run

PIN = {"event": "pin", "tuner": "k#1", "key": "512", "configuration": "B: 64", "position": 1, "candidates": 4}
NO_ONE_FOLLOWED = (
    "given up: timing left its process unusable (method graph, wedged, no capture), and no other went on, see run.log"
)


def load(directory: Path, *events: dict[str, Any], outcome: ProcessOutcome | None = None, timing: Any = None) -> Run:
    write_run(directory, events, timing=timing)
    return read_run(directory, NODE, "before", outcome or ProcessOutcome("exited"))


def only_row(run: Run) -> Row:
    (found,) = run.rows
    return found


def own(run: Run) -> Latency:
    found = only_row(run).latency
    assert found is not None
    return found


def test_a_latency_and_its_baseline_by_key_and_role(tmp_path: Path) -> None:
    reading = {
        "clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "temperature_c": 41,
        "power_w": 312.5,
        "throttle": ["power"],
    }
    told = latency(
        key(), 0.25, q1_ms=0.24, q3_ms=0.27, min_ms=0.2, samples=80, method="queued", l2="warm", launch_bound=True,
        fell_back=[{"method": "graph", "why": "no capture"}], before=reading, after={**reading, "clock_mhz": None},
    )  # fmt: skip
    run = load(tmp_path, BEGIN, latency(key(), 0.5, "baseline"), row(key()), told, row(key("128")), END)
    first, second = run.rows
    card = CardReading(1980, 3201, 41, 312.5, ("power",))
    assert first.latency == Latency(
        "queued",
        "warm",
        0.25,
        0.24,
        0.27,
        0.2,
        80,
        True,
        "",
        (("graph", "no capture"),),
        card,
        replace(card, clock_mhz=None),
    )
    assert first.baseline == Latency("graph", "cold", 0.5, 0.5, 0.5, 0.5, 50)
    assert (second.latency, second.baseline) == (None, None), "nothing was to be timed there"
    assert run.absence is None


@pytest.mark.parametrize(
    ("median", "told", "why"),
    [
        (0.0, "", "zero"),
        (-0.1, "", "negative"),
        (math.nan, "", "not a number"),
        ("nan", "", "not a number"),
        (math.inf, "", "infinite"),
        (None, "", "not a number"),
        ("nan", "no sample", "no sample"),
        (0.5, "clock stopped", "clock stopped"),
    ],
)
def test_what_is_no_latency_is_invalid_with_its_reason(tmp_path: Path, median: Any, told: str, why: str) -> None:
    found = own(load(tmp_path, BEGIN, *timed_row(key(), median, invalid=told), END))
    assert why in found.invalid
    assert all(map(math.isnan, (found.median_ms, found.q1_ms, found.q3_ms, found.min_ms)))


@pytest.mark.parametrize(
    "changed",
    [
        {"median_ms": "soon"},
        {"median_ms": [1]},
        {"median_ms": True},
        {"samples": "many"},
        {"samples": math.inf},
        {"method": "guess"},
        {"l2": None},
        {"fell_back": 7},
        {"fell_back": ["graph"]},
        {"before": {"clock_mhz": "fast"}},
        {"before": {"clock_mhz": math.inf}},
    ],
)
def test_a_damaged_latency_costs_the_latency_and_not_the_row(tmp_path: Path, changed: dict[str, Any]) -> None:
    run = load(tmp_path, BEGIN, *timed_row(key(), 0.5, **changed), *timed_row(key("128"), 0.5), END)
    first, second = run.rows
    assert first.latency is not None
    assert "understood" in first.latency.invalid or "unknown method" in first.latency.invalid
    assert second.latency is not None
    assert second.latency.median_ms == 0.5
    assert run.absence is None


@pytest.mark.parametrize("changed", [{"ordinal": "x"}, {"ordinal": math.inf}, {"role": "referee"}, {"role": {"a": 1}}])
def test_a_latency_of_no_known_row_is_passed_over(tmp_path: Path, changed: dict[str, Any]) -> None:
    run = load(tmp_path, BEGIN, row(key()), latency(key(), 0.5, **changed), END)
    assert only_row(run).latency is None


def test_a_key_that_is_no_number_is_damage_and_no_traceback(tmp_path: Path) -> None:
    run = load(tmp_path, BEGIN, row({**key(), "ordinal": math.inf}), END)
    assert run.absence is not None
    assert "can not be understood" in run.absence.reason


def test_a_row_that_was_to_be_timed_and_has_no_latency_says_so(tmp_path: Path) -> None:
    asked = {"method": "queued", "l2": "warm", "baseline": True}
    found = only_row(load(tmp_path, BEGIN, row(key()), END, timing=asked))
    assert found.latency is not None
    assert (found.latency.method, found.latency.l2, found.latency.samples) == ("queued", "warm", 0)
    assert found.latency.invalid == "no latency was recorded"
    assert found.baseline is None
    lost = own(load(tmp_path, BEGIN, row(key()), abandoned(key(), "queued", "wedged"), timing=asked))
    assert lost.invalid == "no latency was recorded: timing by queued was given up (wedged)"


@pytest.mark.parametrize("timing", [None, {"method": "guess", "l2": "cold"}, {"l2": "cold"}, ["graph"], "graph"])
def test_without_a_known_request_a_missing_latency_is_none(tmp_path: Path, timing: Any) -> None:
    assert only_row(load(tmp_path, BEGIN, row(key()), END, timing=timing)).latency is None


def test_outputs_are_read_beside_their_row(tmp_path: Path) -> None:
    tensor = {"dtype": "float32", "shape": [2, 3], "sha256": "ab", "file": "outputs/ab.bin", "elements": 4, "of": 6}
    events = (
        row(key()),
        {"event": "outputs", **key(), "tensors": [tensor, {**tensor, "strides": [1, 2]}], "reason": ""},
    )
    first, second = only_row(load(tmp_path, BEGIN, *events, END)).outputs or ()
    assert first == OutputSample("float32", (2, 3), "ab", tmp_path / "outputs" / "ab.bin", 4, 6)
    assert second.strides == (1, 2)
    nothing = {"event": "outputs", **key(), "tensors": [], "reason": "no tensor"}
    assert only_row(load(tmp_path, BEGIN, *events, nothing, END)).outputs is None


@pytest.mark.parametrize("tensors", [7, [7], [{}], [{"dtype": "x", "shape": 3}], "x", {"a": 1}])
def test_damaged_outputs_are_none(tmp_path: Path, tensors: Any) -> None:
    run = load(tmp_path, BEGIN, row(key()), {"event": "outputs", **key(), "tensors": tensors}, END)
    assert only_row(run).outputs is None
    assert run.absence is None


def test_kernel_ids_belong_to_the_process_that_told_them(tmp_path: Path) -> None:
    run = load(
        tmp_path,
        BEGIN, kernel("1", "add"), kernel("2", "sub"), row(key("a"), "1"), row(key("b"), "2"), abandoned(key("c")),
        BEGIN, kernel("1", "mul"), row(key("c"), "1"), row(key("d"), "2"), END,
    )  # fmt: skip
    names = {found.key.detail: [launch.identity.name for launch in found.launches] for found in run.rows}
    assert names == {"a": ["add"], "b": ["sub"], "c": ["mul"]}
    (failed,) = run.failed_rows
    assert (failed.key.detail, failed.phase) == ("d", "read"), "the second process has told no kernel 2"


def test_of_a_row_told_by_two_processes_the_last_word_counts_in_the_first_place(tmp_path: Path) -> None:
    run = load(
        tmp_path,
        BEGIN, *timed_row(key("a"), 1.0), latency(key("b"), 9.0, "baseline"), row(key("b")), abandoned(key("b")),
        BEGIN, latency(key("b"), 8.0, "baseline"), *timed_row(key("b"), 2.0, method="queued"), *timed_row(key("c"), 3.0), END,
    )  # fmt: skip
    assert [found.key.detail for found in run.rows] == ["a", "b", "c"]
    assert [found.latency.median_ms for found in run.rows if found.latency] == [1.0, 2.0, 3.0]
    assert [found.baseline.median_ms for found in run.rows if found.baseline] == [8.0]
    assert run.absence is None, "what was abandoned was gone on with"


def test_a_row_that_fails_in_the_next_process_is_failed_and_the_other_way_round(tmp_path: Path) -> None:
    run = load(
        tmp_path,
        BEGIN, row(key("a")), row_failed(key("b")), abandoned(key("a")),
        BEGIN, row_failed(key("a")), row(key("b")), END,
    )  # fmt: skip
    assert [found.key.detail for found in run.rows] == ["b"]
    assert [found.key.detail for found in run.failed_rows] == ["a"]


def test_a_repeated_key_within_one_process_stays_two_rows(tmp_path: Path) -> None:
    assert len(load(tmp_path, BEGIN, row(key()), row(key()), END).rows) == 2


@pytest.mark.parametrize("end", [[], [BEGIN, *timed_row(key(), 1.0), abandoned(key("b"), why="wedged")]])
def test_a_run_that_was_given_up_says_why(tmp_path: Path, end: list[dict[str, Any]]) -> None:
    events = [BEGIN, *timed_row(key(), 1.0), abandoned(key("b"), why="wedged"), *end]
    assert load(tmp_path, *events).absence == Absence("crashed", NO_ONE_FOLLOWED)
    told = "given up after 25 processes that timing left unusable, the last one by graph (wedged: no capture)"
    assert load(tmp_path, *events, outcome=ProcessOutcome("exited", detail=told)).absence == Absence("crashed", told)
    late = load(tmp_path, *events, outcome=ProcessOutcome("timeout", detail="300 s")).absence
    assert late is not None
    assert late.kind == "timeout"


def test_times_are_counted_within_each_process(tmp_path: Path) -> None:
    events = [
        {**BEGIN, "t": 100.0}, {**row(key("a")), "t": 103.0}, {**abandoned(key("b")), "t": 110.0},
        {**BEGIN, "t": 150.0}, {**row(key("b")), "t": 152.0},
    ]  # fmt: skip
    run = load(tmp_path, *events, outcome=ProcessOutcome("timeout", 0, "more than 60 s", seconds=72.0))
    assert [found.seconds for found in run.rows] == [3.0, 2.0]
    assert (run.unfinished_seconds, run.limit_seconds) == (60.0, 62.0)


def test_pins_that_a_later_process_replays_are_told_once_and_are_not_missing(tmp_path: Path) -> None:
    missing = {"event": "pin_missing", "tuner": "k#1", "key": "512", "reason": "not launched"}
    run = load(
        tmp_path,
        BEGIN, {**PIN, "how": "tuned"}, abandoned(key()),
        BEGIN, {**PIN, "how": "replayed"}, {**PIN, "key": "1024", "how": "tuned"}, missing, {**missing, "key": "7"}, END,
    )  # fmt: skip
    assert [(pin.key, pin.how) for pin in run.pins] == [("512", "tuned"), ("1024", "tuned")]
    assert [pin.key for pin in run.missing_pins] == ["7"]


def test_an_event_of_json_without_numbers_is_no_traceback(tmp_path: Path) -> None:
    line = json.dumps({"event": "latency", **key()})
    assert own(load(tmp_path, BEGIN, row(key()), json.loads(line), END)).invalid.startswith(
        "timed by an unknown method"
    )
