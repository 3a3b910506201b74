"""The processes of one run: when another follows, and what it is told. The probe is simulated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from zl_bench.model import Pin, ProcessOutcome
from zl_bench.running.planner import Continuation, RunPlan, Timing
from zl_bench.workflow import attempts
from zl_bench.workflow.attempts import distinct_pins, next_step, run_case

NODE = "test_one.py::test_one"
BEGIN = {"event": "begin", "wire": 1, "pid": 1}
END = {"event": "end", "exit": 0}
PIN: dict[str, Any] = {"event": "pin", "tuner": "k", "configuration": "B: 1", "position": 1, "candidates": 4}


def abandoned(call: int, method: str = "graph", why: str = "poisoned") -> dict[str, Any]:
    return {"event": "abandoned", "call": call, "node": NODE, "method": method, "why": why, "message": "no capture"}


def row(detail: str) -> dict[str, Any]:
    return {
        "event": "row",
        "node": NODE,
        "operator": "one",
        "dtype": "-",
        "ordinal": 0,
        "detail": detail,
        "launches": [],
    }


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], None),
        ([BEGIN, END], None),
        ([BEGIN, row("1")], None),
        ([BEGIN, abandoned(3)], Continuation(3, {3: ("graph",)})),
        ([BEGIN, abandoned(0, "queued")], Continuation(0, {0: ("queued",)})),
        ([BEGIN, abandoned(3), BEGIN, END], None),
        ([BEGIN, abandoned(3), BEGIN, row("1")], None),
        ([BEGIN, abandoned(3), BEGIN, abandoned(3, "queued")], Continuation(3, {3: ("graph", "queued")})),
        ([BEGIN, abandoned(3), BEGIN, abandoned(7)], Continuation(7, {3: ("graph",), 7: ("graph",)}, True)),
        (
            [BEGIN, abandoned(3), BEGIN, abandoned(7, why="wedged")],
            Continuation(7, {3: ("graph",), 7: ("graph",)}, True),
        ),
        ([BEGIN, abandoned(3), BEGIN, abandoned(3)], Continuation(3, {3: ("graph",)}, True)),
    ],
)
def test_what_the_next_process_does(events: list[dict[str, Any]], expected: Continuation | None) -> None:
    assert next_step(events) == expected


def test_a_process_that_left_no_word_of_its_own_is_not_followed_by_another() -> None:
    events = [BEGIN, abandoned(3)]
    assert next_step(events, lost_before=0) is not None
    assert next_step(events, lost_before=1) is None


def test_a_choice_is_kept_as_it_was_first_recorded() -> None:
    tuned, other = Pin("k", "(1,)", "B: 1", 1, 4, "tuned"), Pin("k", "(1,)", "B: 2", 2, 4, "all")
    again = replace(tuned, how="replayed")
    assert distinct_pins([tuned, other, again]) == (tuned, other)


Behaviour = Callable[[dict[str, Any]], list[dict[str, Any]]]


class SimulatedSide:
    """Servers whose runs append what `behave` says to their record, as the probe does."""

    def __init__(self, behave: Behaviour, outcome: ProcessOutcome | None = None):
        self.plans = {"before": SimpleNamespace(environment={"A": "1"}), "after": SimpleNamespace(environment={})}
        self.given: list[dict[str, Any]] = []
        self.files: list[str] = []
        self.timeouts: list[float] = []
        self._behave = behave
        self._outcome = outcome or ProcessOutcome("exited", 0, seconds=1.5)

    async def run(self, side: str, input_file: Path, timeout: float) -> ProcessOutcome:
        given = json.loads(input_file.read_text())
        self.given.append(given)
        self.files.append(input_file.name)
        self.timeouts.append(timeout)
        with (input_file.parent / "events.jsonl").open("a") as stream:
            for event in self._behave(given):
                stream.write(json.dumps(event) + "\n")
        return self._outcome


def plan_for(root: Path, **changed: Any) -> RunPlan:
    plan = RunPlan(
        operator="one", dtype=None, node=NODE, side="before", directory=root / "one_before", suite="small", rootdir=root,
        pytest_args=(), target=None, stages="all", dropped_pass=None, pin_mode="tune", timing=Timing("graph", "cold"),
    )  # fmt: skip
    return replace(plan, **changed)


def run(plan: RunPlan, side: SimulatedSide) -> ProcessOutcome:
    return asyncio.run(run_case(plan, side, 7.0))  # type: ignore[arg-type]


def twice_poisoned(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Two calls that no graph can be made of: 2 and 5."""
    start = given.get("continue", {}).get("from_call", 0)
    known = {(pin["tuner"], pin["key"]) for pin in given["pins"]["records"]}
    events: list[dict[str, Any]] = [BEGIN]
    for call in range(start, 8):
        key = f"({call},)"
        events.append({**PIN, "key": key, "how": "replayed" if ("k", key) in known else "tuned"})
        continuation = given.get("continue", {"avoid": {}, "queue_rest": False})
        by_graph = not continuation["queue_rest"] and "graph" not in continuation["avoid"].get(str(call), ())
        if call in (2, 5) and by_graph:
            return [*events, abandoned(call)]
        events.append(row(str(call)))
    return [*events, END]


def test_a_run_goes_on_until_every_row_is_there(tmp_path: Path) -> None:
    side = SimulatedSide(twice_poisoned)
    outcome = run(plan_for(tmp_path), side)
    assert side.files == ["input.json", "input.2.json", "input.3.json"]
    assert "continue" not in side.given[0]
    assert side.given[1]["continue"] == {"from_call": 2, "avoid": {"2": ["graph"]}, "queue_rest": False}
    assert side.given[2]["continue"] == {"from_call": 5, "avoid": {"2": ["graph"], "5": ["graph"]}, "queue_rest": True}
    record = (tmp_path / "one_before" / "events.jsonl").read_text().splitlines()
    rows = [json.loads(line)["detail"] for line in record if '"row"' in line]
    assert rows == list("01234567")
    assert outcome == ProcessOutcome("exited", 0)
    assert outcome.seconds == 4.5
    assert side.timeouts == [7.0] * 3


def test_choices_of_the_given_up_processes_are_replayed_as_they_were_made(tmp_path: Path) -> None:
    side = SimulatedSide(twice_poisoned)
    run(plan_for(tmp_path), side)
    assert side.given[0]["pins"] == {"mode": "tune", "records": []}
    for given, calls in ((side.given[1], 3), (side.given[2], 6)):
        assert given["pins"]["mode"] == "tune"
        assert [pin["key"] for pin in given["pins"]["records"]] == [f"({call},)" for call in range(calls)]
        assert {pin["how"] for pin in given["pins"]["records"]} == {"tuned"}


def test_what_is_replayed_is_told_once(tmp_path: Path) -> None:
    given = (Pin("k", "(0,)", "B: 1", 1, 4, "tuned"),)
    side = SimulatedSide(twice_poisoned)
    run(plan_for(tmp_path, pin_mode="replay", pins=given), side)
    assert [len(one["pins"]["records"]) for one in side.given] == [1, 1, 1]
    assert {one["pins"]["mode"] for one in side.given} == {"replay"}


def test_a_run_that_never_comes_to_its_end_is_given_up_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attempts, "MOST_PROCESSES", 4)
    side = SimulatedSide(lambda _: [BEGIN, abandoned(1, "direct", "wedged")], ProcessOutcome("exited", 75, seconds=1.0))
    outcome = run(plan_for(tmp_path), side)
    assert len(side.given) == 4
    assert (outcome.kind, outcome.code) == ("exited", 75)
    assert outcome.detail.startswith(
        "given up after 4 processes that timing left unusable, the last one by direct (wedged"
    )


def test_a_process_that_dies_before_its_first_event_is_the_last(tmp_path: Path) -> None:
    side = SimulatedSide(lambda given: [] if "continue" in given else [BEGIN, abandoned(1)])
    run(plan_for(tmp_path), side)
    assert len(side.given) == 2


def test_a_process_that_must_be_killed_after_its_last_word_is_followed_by_another(tmp_path: Path) -> None:
    def behave(given: dict[str, Any]) -> list[dict[str, Any]]:
        return [BEGIN, END] if "continue" in given else [BEGIN, abandoned(1, why="wedged")]

    side = SimulatedSide(behave, ProcessOutcome("timeout", detail="more than 7 s"))
    run(plan_for(tmp_path), side)
    assert len(side.given) == 2


@pytest.mark.parametrize(
    "text", ['{"event": "abandoned", "call": 1}\n{"event', "[]\n", "\x00\n", '{"event": "a"}\n{\n{}\n']
)
def test_a_damaged_record_ends_the_run(tmp_path: Path, text: str) -> None:
    class Damaging(SimulatedSide):
        async def run(self, side: str, input_file: Path, timeout: float) -> ProcessOutcome:
            outcome = await super().run(side, input_file, timeout)
            with (input_file.parent / "events.jsonl").open("a") as stream:
                stream.write('{"event": "broken\n' + text)
            return outcome

    side = Damaging(lambda _: [BEGIN, abandoned(1)])
    run(plan_for(tmp_path), side)
    assert len(side.given) == 1


def test_without_timing_nothing_is_looked_for(tmp_path: Path) -> None:
    side = SimulatedSide(lambda _: [BEGIN, abandoned(1)])
    run(plan_for(tmp_path, timing=None), side)
    assert len(side.given) == 1
