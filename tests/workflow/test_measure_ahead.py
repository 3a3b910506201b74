"""The next pair of a measurement starts up while one is measured. Cards and sides are simulated; the sockets are real."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.workflow.simulated_measure import STEADY, Happening, SimulatedRow
from tests.workflow.test_measure import LIMIT, ONE, TWO, Machine, machine_with
from zl_bench.errors import EnvironmentUnfit
from zl_bench.workflow.measure_rounds import Rounds

ROUNDS = 4


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_with({"one": ONE}, tmp_path, monkeypatch)


def meeting(operator: str, number: int, **what: object) -> object:
    """The pair of that round is not timed before the next one's processes are there."""
    return lambda name, when, attempt, side: (
        Happening(meets=(operator, number + 1), **what)  # type: ignore[arg-type]
        if (name, when, attempt) == (operator, number, 0)
        else Happening()
    )


def started(machine: Machine, number: int) -> int:
    return sum(when == number for _, _, when, _ in machine.world.ran)


def left_of(machine: Machine, number: int) -> bool:
    return any((machine.root / "measure" / f"round_{number}").glob("*/input.json"))


def test_the_next_pair_starts_up_while_a_case_is_measured_that_is_known_to_be_timed_by_graph(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: Happening(
        meets=("one", number + 1) if 1 < number < ROUNDS else None
    )
    machine.measure(rounds=ROUNDS)
    assert machine.world.beside == {("one", 2, "one", 3), ("one", 3, "one", 4)}
    assert [started(machine, number) for number in range(1, ROUNDS + 1)] == [2] * ROUNDS
    assert [line["accompanied"] for line in machine.lines("pair")] == [False, True, True, False]
    assert {row["rounds"] for row in machine.table().values()} == {str(ROUNDS)}
    assert machine.lines("dropped") == []
    assert machine.world.alive == []


def test_going_on_knows_how_a_case_was_timed(machine: Machine) -> None:
    machine.measure(rounds=2)
    record = machine.root / "measure.jsonl"
    kept = [line for line in record.read_text().splitlines(keepends=True) if '"round":2' not in line]
    record.write_text("".join(kept).replace('"rounds":2', '"rounds":3'))
    machine.world.happens = meeting("one", 2)  # type: ignore[assignment]
    machine.measure(rounds=3, resume=True)
    assert machine.world.beside == {("one", 2, "one", 3)}


@pytest.mark.parametrize("changed", [{"ahead": False}, {"alternate": "processes"}])
def test_unless_it_is_wanted_nothing_starts_up_beside_a_turn(machine: Machine, changed: dict[str, object]) -> None:
    machine.measure(rounds=ROUNDS, **changed)
    assert machine.world.beside == set()
    assert {row["rounds"] for row in machine.table().values()} == {str(ROUNDS)}


def test_a_case_with_a_row_that_no_graph_times_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_with({"one": ONE, "two": TWO}, tmp_path, monkeypatch)
    machine.world.happens = lambda operator, *_: Happening(direct=operator == "two")
    machine.measure(rounds=ROUNDS)
    assert {operator for operator, _, _, _ in machine.world.beside} <= {"one"}
    assert machine.table()["other"]["timing"] == "direct cold"


def test_a_budget_that_ends_meanwhile_ends_what_had_started_up(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = Rounds._settle

    def settled(self: Rounds, task: object, pair: object, accompanied: bool) -> object:
        if started(machine, 3):
            self._deadline = 0.0
        return settle(self, task, pair, accompanied)  # type: ignore[arg-type]

    monkeypatch.setattr(Rounds, "_settle", settled)
    machine.world.happens = meeting("one", 2)  # type: ignore[assignment]
    result = machine.measure(rounds=ROUNDS)
    assert any("budget" in note for note in result.notes)
    assert (started(machine, 3), started(machine, 4)) == (2, 0)
    assert machine.world.alive == []
    assert not left_of(machine, 3)
    assert {row["rounds"] for row in machine.table().values()} == {"2"}


def test_other_code_than_was_screened_ends_what_had_started_up(machine: Machine) -> None:
    machine.world.happens = meeting("one", 2, other_code=True)  # type: ignore[assignment]
    machine.measure(rounds=ROUNDS)
    assert len(machine.lines("stopped")) == 1
    assert [started(machine, number) for number in range(1, ROUNDS + 1)] == [2, 2, 2, 0]
    assert machine.world.alive == []
    assert not left_of(machine, 3)


def test_what_a_pair_has_learnt_is_known_to_the_next_though_that_had_started_up(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: (
        Happening(abandons_at=1, meets=("one", 3)) if number == 2 and not attempt else Happening()
    )
    machine.measure(rounds=ROUNDS)
    assert len(machine.lines("dropped")) == 1
    assert started(machine, 3) == 4  # those that had not been told were ended
    last = [given for given in machine.world.given if "round_3" in given["out"]][-2:]
    assert [given["continue"]["avoid"] for given in last] == [{"1": ["graph"]}] * 2
    assert machine.table()["fast"]["timing"] == "graph cold, queued cold"


def test_a_disturbed_pair_is_repeated_while_the_next_one_waits(machine: Machine) -> None:
    hot = {**STEADY, "throttle": ["hardware thermal slowdown"]}
    machine.world.happens = meeting("one", 2, reading=hot)  # type: ignore[assignment]
    machine.measure(rounds=ROUNDS)
    assert len(machine.lines("dropped")) == 1
    assert [started(machine, number) for number in range(1, ROUNDS + 1)] == [2, 4, 2, 2]
    assert {row["rounds"] for row in machine.table().values()} == {str(ROUNDS)}


def test_one_that_dies_while_it_waits_costs_its_own_pair(machine: Machine) -> None:
    def happens(operator: str, number: int, attempt: int, side: str) -> Happening:
        if number == 2:
            return Happening(meets=("one", 3))
        return Happening(dies_waiting=number == 3 and side == "after" and not attempt)

    machine.world.happens = happens
    machine.measure(rounds=ROUNDS)
    (dropped,) = machine.lines("dropped")
    assert dropped["round"] == 3
    assert "after: " in dropped["why"]
    assert {row["rounds"] for row in machine.table().values()} == {str(ROUNDS)}


def test_time_spent_waiting_is_not_the_processs_own(machine: Machine) -> None:
    plan = machine.plan()
    machine.world.happens = lambda operator, number, attempt, side: Happening(
        meets=("one", 3) if number == 2 else None, hangs=number == 3 and not attempt
    )
    machine.measure(rounds=3, screen=replace(plan.screen, timeout=0.3))
    (dropped,) = machine.lines("dropped")
    assert dropped["round"] == 3
    assert "0.3 s" in dropped["why"]
    assert {row["rounds"] for row in machine.table().values()} == {"3"}


def test_an_interrupt_ends_both_pairs_and_leaves_nothing_of_the_one_that_waits(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: Happening(
        meets=("nobody", 0) if number == 2 else None
    )

    async def interrupted() -> None:
        task = asyncio.create_task(machine._measured(machine.plan(rounds=ROUNDS)))
        while started(machine, 3) < 2:
            await asyncio.sleep(0.001)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(interrupted(), LIMIT))
    assert machine.world.alive == []
    assert not left_of(machine, 3)
    machine.world.happens = lambda *_: Happening()
    machine.measure(rounds=ROUNDS, resume=True)
    assert {row["rounds"] for row in machine.table().values()} == {str(ROUNDS)}


def test_a_card_that_is_lost_ends_what_had_started_up(machine: Machine) -> None:
    machine.world.happens = meeting("one", 2, dies_at=1)  # type: ignore[assignment]
    machine.world.lost_after_round = 1
    with pytest.raises(EnvironmentUnfit, match="does not answer any more"):
        machine.measure(rounds=ROUNDS)
    assert machine.world.alive == []
    assert not left_of(machine, 3)


def test_several_cards_have_a_pair_each_and_one_that_starts_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {name: (SimulatedRow(f"{name}0"), *(SimulatedRow(f"{name}{n}", changed=False) for n in range(1, 4)))
            for name in ("one", "two", "three")}  # fmt: skip
    machine = machine_with(rows, tmp_path, monkeypatch)
    machine.measure(cards=2, rounds=6)
    assert {row["rounds"] for row in machine.table().values()} == {"6"}
    ran = [(operator, number) for _, operator, number, _ in machine.world.ran]
    assert all(ran.count(one) == 2 for one in ran)
