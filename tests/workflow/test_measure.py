"""A measurement from a screened root to its table. Cards and sides are simulated; sockets, locks and files are real."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.fleet.simulated import SimulatedCards, simulated_cards
from tests.workflow.simulated_measure import STEADY, Happening, SimulatedRow, World
from tests.workflow.simulated_sides import card_plan
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet import pool
from zl_bench.model import Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.planner import Timing
from zl_bench.store.request import read_request
from zl_bench.store.round_file import read_rounds
from zl_bench.workflow import measure as workflow
from zl_bench.workflow import screen as screen_workflow
from zl_bench.workflow.measure_plan import MeasurePlan
from zl_bench.workflow.measure_result import MeasureResult, exit_code
from zl_bench.workflow.screen import ScreenPlan

LIMIT = 60.0
PLACEBOS = tuple(SimulatedRow(f"same{number}", changed=False) for number in range(5))
ONE = (SimulatedRow("slow", factor=1.05), SimulatedRow("fast", factor=0.95), SimulatedRow("still"), *PLACEBOS)
TWO = (SimulatedRow("other", factor=1.0),)


class Machine:
    """Simulated cards with a world on them, and a root that was screened there."""

    def __init__(self, folder: Path, world: World, cards: SimulatedCards):
        self.root = folder / "root"
        self.world = world
        self.cards = cards
        self.screen_plan = card_plan(self.root, cards, operators=tuple(world.rows), cards=cards.cards[:1])

    def screen(self, **changed: Any) -> None:
        plan = replace(self.screen_plan, **changed)
        self.root.mkdir(exist_ok=True)
        asyncio.run(asyncio.wait_for(self._screened(plan), LIMIT))
        self.world.ran.clear()

    async def _screened(self, plan: ScreenPlan) -> None:
        with ProgressReporter(1, Console(file=io.StringIO())) as progress:
            await screen_workflow.screen(plan, progress)

    def plan(self, *named: str, cards: int = 1, **changed: Any) -> MeasurePlan:
        request = read_request(self.root)
        assert request is not None
        screen = replace(self.screen_plan, target=None, cards=self.cards.cards[:cards], configs="tune", timeout=20.0)
        settled: dict[str, Any] = {
            "root": self.root, "request": request, "screen": screen, "timing": Timing("graph", "cold"), "named": named,
            "rounds": 3, "delta": 0.01, "budget": None, "seed": 7, "seed_given": True, "alternate": "turns",
            "ahead": True, "resume": False,
        }  # fmt: skip
        return MeasurePlan(**{**settled, **changed})

    def measure(self, *named: str, **changed: Any) -> MeasureResult:
        return asyncio.run(asyncio.wait_for(self._measured(self.plan(*named, **changed)), LIMIT))

    async def _measured(self, plan: MeasurePlan) -> MeasureResult:
        self.told = io.StringIO()
        with ProgressReporter(0, Console(file=self.told, width=500)) as progress:
            return await workflow.measure(plan, progress)

    def lines(self, kind: str) -> list[dict[str, Any]]:
        content = (self.root / "measure.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, content) if line["record"] == kind]

    def table(self) -> dict[str, dict[str, str]]:
        with (self.root / "measure.tsv").open(newline="") as stream:
            lines = list(csv.DictReader(stream, delimiter="\t"))
        assert len({line["detail"] for line in lines}) == len(lines)
        return {line["detail"]: line for line in lines}


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_with({"one": ONE, "two": TWO}, tmp_path, monkeypatch)


def machine_with(
    rows: Mapping[str, tuple[SimulatedRow, ...]], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Machine:
    monkeypatch.setattr(pool, "POLL", 0.01)
    (folder / "triton").mkdir()
    (folder / "triton" / "knobs.py").write_text("SWITCH")
    world = World(folder / "triton", rows)
    for module in (workflow, screen_workflow):
        monkeypatch.setattr(module, "SideServers", world.open)
    made = Machine(folder, world, simulated_cards(folder / "machine"))
    made.screen()
    return made


def only(operator: str, number: int, side: Side, what: Happening, attempts: int = 1) -> Any:
    """It happens to that side of that round, so many times."""
    return lambda name, when, attempt, where: (
        what if (name, when, where) == (operator, number, side) and attempt < attempts else Happening()
    )


def test_changed_rows_get_verdicts_and_placebos_calibrate_them(machine: Machine) -> None:
    result = machine.measure(rounds=6)
    rows = machine.table()
    assert {detail: rows[detail]["verdict"] for detail in ("slow", "fast", "still", "other", "same0")} == {
        "slow": "SLOWER", "fast": "FASTER", "still": "NO_CHANGE", "other": "NO_CHANGE", "same0": "IDENTICAL",
    }  # fmt: skip
    slow = rows["slow"]
    assert (slow["operator"], slow["dtype"], slow["kind"], slow["rounds"]) == ("one", "float32", "changed", "6")
    assert float(slow["speedup"]) == pytest.approx(1 / 1.05, rel=0.004)
    assert (slow["timing"], slow["clock_before"], slow["clock_after"], slow["dropped"]) == (
        "graph cold",
        "1980",
        "1980",
        "0",
    )
    assert rows["same0"]["kind"] == "placebo"
    assert result.failed == ()
    assert exit_code(result, ["SLOWER"]) == 10
    assert exit_code(result, ["UNTRUSTED"]) == 0


def test_a_round_is_a_pair_of_processes_that_take_turns_abba(machine: Machine) -> None:
    machine.measure()
    ran = Counter((operator, number, side) for _, operator, number, side in machine.world.ran)
    assert set(ran.values()) == {1}
    assert len(ran) == 2 * 3 * 2
    firsts = set()
    for number in (1, 2, 3):
        for row in ONE:
            place = ("one", row.detail, number)
            order = [side for *where, side in machine.world.turns if tuple(where) == place]
            assert order in (["before", "after", "after", "before"], ["after", "before", "before", "after"])
            firsts.add(order[0])
            told = {
                line["first"]
                for line in machine.lines("round")
                if (line["detail"], line["round"]) == (row.detail, number)
            }
            assert told == {order[0]}
    assert firsts == {"before", "after"}


def test_cases_come_in_another_order_in_each_round_and_the_seed_settles_it(machine: Machine) -> None:
    machine.measure(rounds=12)
    order: dict[int, list[str]] = {number: [] for number in range(1, 13)}
    for _, operator, number, _ in machine.world.ran:
        order[number].append(operator)
    assert all(Counter(names) == Counter({"one": 2, "two": 2}) for names in order.values())
    firsts = [names[0] for names in order.values()]
    assert set(firsts) == {"one", "two"}
    assert [number for number, names in order.items() if names[0] == names[1]] == list(order)


def test_a_line_has_everything_that_it_was_measured_by(machine: Machine) -> None:
    machine.measure()
    header, *_ = machine.lines("header")
    assert (header["seed"], header["rounds"], header["alternate"], header["switch"]) == (7, 3, "turns", "SWITCH=a..b")
    line = next(line for line in machine.lines("round") if line["detail"] == "slow" and line["side"] == "after")
    assert line["card"] == {"name": "Simulated H1", "uuid": "SIM-a0000", "driver": "1"}
    assert (line["method"], line["l2"], line["samples"], line["warmup_ms"]) == ("graph", "cold", 100, 10.0)
    assert line["before"]["clock_mhz"] == 1980
    assert line["triton"] == {"version": "3.6.0", "library_sha256": "1" * 64}
    assert (line["switch_value"], line["seed"]) == ("b", 7)
    (kernel,) = line["kernels"]
    assert (kernel["kernel"], kernel["configuration"]) == ("kernel0", "BLOCK: 64")
    assert {"ttgir", "mubin"} <= kernel.keys()
    assert len(line["turns"]) == 2
    assert line["others"] == [{"pid": 100, "name": "other", "used_mib": 1}]


def test_what_each_operator_cost_is_told_and_recorded(machine: Machine) -> None:
    machine.world.happens = only("one", 2, "before", Happening(dies_at=0))
    result = machine.measure()
    lines = [*machine.lines("pair"), *machine.lines("dropped")]
    assert len(lines) == 2 * 3 + 1
    spent = {name: sum(line["seconds"] for line in lines if line["entry"] == name) for name in ("one", "two")}
    told = {line["entry"]: line for line in machine.lines("operator")}
    assert {name: line["seconds"] for name, line in told.items()} == pytest.approx(spent, abs=0.001)
    assert {name: line["rows"] for name, line in told.items()} == {"one": len(ONE), "two": len(TWO)}
    (whole,) = machine.lines("whole")
    assert whole["seconds"] == pytest.approx(sum(spent.values()), abs=0.001)
    assert any(note.startswith("measuring took") and "one " in note and "two " in note for note in result.notes)


def test_judge_reads_what_was_measured(machine: Machine) -> None:
    machine.measure()
    found = read_rounds(machine.root / "measure.jsonl")
    assert found.bad == ()
    assert len(found.medians) == (len(ONE) + len(TWO)) * 3 * 2
    assert {median.round for median in found.medians} == {1, 2, 3}


def test_pins_are_replayed_and_each_side_has_the_code_that_it_compiled(machine: Machine) -> None:
    for side in ("before", "after"):
        cache = machine.root / f"one_{side}" / "cache" / "triton" / "entry"
        cache.mkdir(parents=True)
        (cache / "kernel.mubin").write_text(side)
    machine.world.given.clear()
    machine.measure("one")
    for given in machine.world.given:
        assert given["pins"]["mode"] == "replay"
        cache = Path(given["caches"]["TRITON_CACHE_DIR"])
        assert (cache / "entry" / "kernel.mubin").read_text() == given["side"]
    assert len({given["caches"]["TRITON_CACHE_DIR"] for given in machine.world.given}) == 2
    assert len({given["caches"]["FLAGGEMS_CACHE_DIR"] for given in machine.world.given}) == 6


def test_numerics_that_differ_stand_beside_the_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimulatedRow("wrong", factor=0.9, numerics=b"\0\0\0@")
    machine = machine_with({"one": (wrong, *PLACEBOS)}, tmp_path, monkeypatch)
    machine.measure()
    assert machine.table()["wrong"]["verdict"] == "FASTER (numerics differ)"
    assert machine.table()["same0"]["verdict"] == "IDENTICAL"


def test_few_placebos_are_borrowed_from_an_operator_without_a_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {
        "one": (SimulatedRow("slow", factor=1.05), *PLACEBOS[:2]),
        "lender": tuple(SimulatedRow(f"lent{number}", changed=False) for number in range(6)),
    }
    machine = machine_with(rows, tmp_path, monkeypatch)
    machine.measure()
    kinds = Counter((line["operator"], line["kind"]) for line in machine.table().values())
    assert kinds == {("one", "changed"): 1, ("one", "placebo"): 2, ("lender", "placebo"): 3}
    assert "borrowed from lender" in machine.told.getvalue()


def test_operators_that_are_named_are_measured_whatever_the_screen_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_with({"one": ONE, "alike": PLACEBOS}, tmp_path, monkeypatch)
    machine.measure("alike")
    assert {line["operator"] for line in machine.lines("round")} == {"alike"}
    with pytest.raises(UsageError, match="no screened operator nosuch"):
        machine.measure("nosuch", resume=True)


def test_a_disturbed_pair_is_dropped_whole_and_repeated(machine: Machine) -> None:
    hot = {**STEADY, "throttle": ["hardware thermal slowdown"]}
    machine.world.happens = only("one", 2, "after", Happening(reading=hot))
    machine.measure()
    (dropped,) = machine.lines("dropped")
    assert (dropped["entry"], dropped["round"]) == ("one", 2)
    assert "hardware thermal slowdown" in dropped["why"]
    assert machine.table()["slow"]["rounds"] == "3"
    assert machine.table()["slow"]["dropped"] == "1"
    assert machine.table()["other"]["dropped"] == "0"


def test_a_foreign_process_that_comes_is_noticed_and_one_that_stays_is_not(machine: Machine) -> None:
    machine.world.happens = lambda *_: Happening(others=1)
    machine.measure("two")
    assert machine.lines("dropped") == []
    (machine.root / "measure.jsonl").unlink()
    machine.world.happens = only("one", 2, "before", Happening(others=1))
    machine.measure()
    (dropped,) = machine.lines("dropped")
    assert "another process came to the card (2 beside the timed one, 1 as a rule)" in dropped["why"]
    assert (dropped["entry"], dropped["round"]) == ("one", 2)


def test_disturbances_without_end_give_the_case_up_and_keep_the_rest(machine: Machine) -> None:
    cold = {**STEADY, "clock_mhz": 1200}
    machine.world.happens = only("two", 1, "before", Happening(reading=cold), attempts=99)
    result = machine.measure()
    assert len(machine.lines("dropped")) == 3
    assert any("two" in why and "disturbed" in why for why in result.failed)
    assert machine.table()["slow"]["rounds"] == "3"
    assert exit_code(result, []) == 1


def test_a_peer_that_dies_costs_the_pair_and_not_the_round(machine: Machine) -> None:
    machine.world.happens = only("one", 1, "before", Happening(dies_at=2))
    machine.measure()
    (dropped,) = machine.lines("dropped")
    assert "before: " in dropped["why"]
    assert "SIGKILL" in dropped["why"]
    assert machine.table()["slow"]["rounds"] == "3"


def test_a_side_that_hangs_is_ended_and_the_other_does_not_wait_for_it(machine: Machine) -> None:
    machine.world.happens = only("two", 1, "after", Happening(hangs=True))
    plan = machine.plan("two")
    machine.measure("two", screen=replace(plan.screen, timeout=0.3))
    (dropped,) = machine.lines("dropped")
    assert "after: " in dropped["why"]
    assert machine.table()["other"]["rounds"] == "3"


def test_rows_that_do_not_match_cost_the_pair_and_are_named(machine: Machine) -> None:
    machine.world.happens = only("one", 1, "after", Happening(lacks=1))
    machine.measure()
    (dropped,) = machine.lines("dropped")
    assert "before at one float32 fast, after at one float32 still" in dropped["why"]


def test_a_row_that_can_not_be_timed_is_named_and_costs_itself_alone(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: Happening(
        refuses=1 if operator == "one" and side == "after" and number != 2 else None
    )
    result = machine.measure()
    assert machine.lines("dropped") == []
    assert machine.table()["fast"]["rounds"] == "1"
    assert machine.table()["slow"]["rounds"] == "3"
    assert "1 row not timed in every round: one float32 fast in 2 rounds (after: simulated)" in result.notes
    assert exit_code(result, []) == 0


def test_a_case_that_fails_twice_is_given_up(machine: Machine) -> None:
    machine.world.happens = only("one", 1, "before", Happening(dies_at=0), attempts=99)
    result = machine.measure()
    assert len(machine.lines("dropped")) == 2
    assert any(why.startswith("one ") for why in result.failed)
    assert machine.table()["other"]["rounds"] == "3"
    assert "slow" not in machine.table()


def test_a_lost_card_ends_it_with_every_finished_round_kept(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: Happening(dies_at=0 if number > 1 else None)
    machine.world.lost_after_round = 1
    with pytest.raises(EnvironmentUnfit, match=r"does not answer any more.*Every finished round is kept.*--resume"):
        machine.measure()
    assert {(line["entry"], line["round"]) for line in machine.lines("pair")} == {("one", 1), ("two", 1)}
    assert len(machine.lines("dropped")) == 1
    machine.world.happens, machine.world.lost_after_round = lambda *_: Happening(), None
    machine.measure(resume=True)
    assert {row["rounds"] for row in machine.table().values()} == {"3"}


def test_a_graph_that_costs_a_process_is_avoided_on_both_sides_from_then_on(machine: Machine) -> None:
    machine.world.happens = lambda operator, *_: Happening(abandons_at=1 if operator == "one" else None)
    machine.measure()
    assert len(machine.lines("dropped")) == 1
    methods: dict[str, set[str]] = {line["detail"]: set() for line in machine.lines("round")}
    for line in machine.lines("round"):
        methods[line["detail"]].add(line["method"])
    assert methods["fast"] == {"queued"}
    assert methods["slow"] == {"graph"}
    assert machine.table()["fast"]["timing"] == "queued cold"


def test_other_code_than_was_screened_stops_its_operator_and_names_the_kernel(machine: Machine) -> None:
    machine.world.happens = lambda operator, number, attempt, side: Happening(
        other_code=operator == "one" and side == "after"
    )
    result = machine.measure()
    (stopped,) = machine.lines("stopped")
    assert stopped["entry"] == "one"
    assert "after: one float32 slow: kernel0 is not the code that was screened" in stopped["why"]
    assert sum(operator == "one" for _, operator, _, _ in machine.world.ran) == 2
    assert set(machine.table()) == {"other"}
    assert exit_code(result, []) == 1


def test_going_on_after_a_kill_keeps_what_is_finished_and_does_the_rest(machine: Machine) -> None:
    async def killed() -> None:
        task = asyncio.create_task(machine._measured(machine.plan()))
        record = machine.root / "measure.jsonl"
        # Counted and not parsed: its last line may be half written at this moment.
        while not record.exists() or record.read_bytes().count(b'"record":"pair"') < 3:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(killed(), LIMIT))
    finished = {(line["entry"], line["round"]) for line in machine.lines("pair")}
    with (machine.root / "measure.jsonl").open("a") as stream:  # as a kill in the middle of a write leaves it
        stream.write(json.dumps({"record": "round", "entry": "one"}) + '\n{"record": "rou')
    with pytest.raises(UsageError, match="--resume"):
        machine.measure()
    machine.world.ran.clear()
    machine.measure(resume=True)
    again = {(operator, number) for _, operator, number, _ in machine.world.ran}
    assert again.isdisjoint(finished)
    assert len(again | finished) == 2 * 3
    assert {row["rounds"] for row in machine.table().values()} == {"3"}


def test_going_on_with_other_settings_is_refused(machine: Machine) -> None:
    machine.measure("two")
    with pytest.raises(UsageError, match="rounds was 3, now 6"):
        machine.measure("two", rounds=6, resume=True)
    with pytest.raises(UsageError, match="seed was 7, now 8"):
        machine.measure("two", seed=8, resume=True)
    machine.measure("two", seed=8, seed_given=False, resume=True)


def test_the_budget_ends_it_and_what_is_measured_is_judged(machine: Machine) -> None:
    result = machine.measure(budget=1e-9)
    assert machine.world.ran == []
    assert result.looked is None
    assert any("budget" in note for note in result.notes)
    said = [line for line in machine.told.getvalue().splitlines() if "not begun" in line]
    assert said == ["6 pairs not begun: the budget is spent"], "once, and not once for every pair"
    machine.measure(resume=True)
    assert {row["rounds"] for row in machine.table().values()} == {"3"}


def test_processes_one_after_the_other_alternate_over_the_rounds(machine: Machine) -> None:
    machine.measure("one", rounds=4, alternate="processes")
    orders = [[side for _, _, when, side in machine.world.ran if when == number] for number in (1, 2, 3, 4)]
    assert orders[0] == orders[1][::-1]
    assert orders[2] == orders[3][::-1]
    assert all("turns" not in given for given in machine.world.given[-8:])
    assert machine.table()["slow"]["verdict"] == "SLOWER"
    for line in machine.lines("round"):
        assert line["first"] == orders[line["round"] - 1][0]


@pytest.mark.parametrize("alternate", ["turns", "processes"])
def test_mirrored_with_the_same_seed_has_the_other_side_first_at_every_row(machine: Machine, alternate: str) -> None:
    orders = []
    for mirrored in (False, True):
        machine.measure(rounds=4, alternate=alternate, mirrored=mirrored)
        rounds = machine.lines("round")
        orders.append({(line["node"], line["detail"], line["round"]): line["first"] for line in rounds})
        assert {line["mirrored"] for line in (*rounds, *machine.lines("header"))} == {mirrored}
        (machine.root / "measure.jsonl").unlink()
    plain, turned = orders
    assert turned == {place: "after" if side == "before" else "before" for place, side in plain.items()}
    assert set(plain.values()) == {"before", "after"}


def test_what_was_begun_in_one_order_does_not_go_on_in_the_other(machine: Machine) -> None:
    machine.measure(budget=1e-9)
    with pytest.raises(UsageError, match="mirrored was False, now True"):
        machine.measure(resume=True, mirrored=True)
    record = machine.root / "measure.jsonl"
    record.write_text(record.read_text().replace('"mirrored":false,', ""))
    machine.measure(resume=True)
    assert {row["rounds"] for row in machine.table().values()} == {"3"}


def test_a_pair_never_spans_cards_and_all_cards_work(machine: Machine) -> None:
    machine.measure(cards=2, rounds=6)
    cards: dict[tuple[str, int], set[str]] = {}
    for card, operator, number, _ in machine.world.ran:
        cards.setdefault((operator, number), set()).add(card)
    assert all(len(found) == 1 for found in cards.values())
    assert {card for card, *_ in machine.world.ran} == {"SIM-a0000", "SIM-b1000"}


def test_another_compiler_or_another_card_is_refused(machine: Machine, tmp_path: Path) -> None:
    machine.world.library = "2" * 64
    with pytest.raises(UsageError, match="another before Triton"):
        machine.measure()
    plan = machine.plan()
    other = tuple(replace(card, name="Simulated H9") for card in plan.screen.cards)
    with pytest.raises(EnvironmentUnfit, match="screened on Simulated H1"):
        machine.measure(screen=replace(plan.screen, cards=other))
    assert not (machine.root / "measure.jsonl").exists()


def test_a_screen_for_a_target_is_repeated_on_the_card_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_with({"one": ONE, "two": TWO, "three": PLACEBOS}, tmp_path, monkeypatch)
    machine.root = tmp_path / "offline"
    machine.screen_plan = replace(
        machine.screen_plan, root=machine.root, target="cuda:90", cards=(), configs="first", jobs=1
    )
    machine.screen()
    machine.measure()
    again = [(operator, side) for _, operator, number, side in machine.world.ran if number == 0]
    assert set(again) == {(operator, side) for operator in ("one", "two") for side in ("before", "after")}
    assert (machine.root / "on_card" / "screen.tsv").exists()
    assert machine.table()["slow"]["verdict"] == "SLOWER"
    machine.world.target = "cuda:80"
    (machine.root / "measure.jsonl").unlink()
    with pytest.raises(EnvironmentUnfit, match="compiles for cuda:80"):
        machine.measure()


def test_what_the_card_finds_otherwise_is_named_and_not_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_with({"one": ONE, "two": TWO, "three": TWO}, tmp_path, monkeypatch)
    machine.root = tmp_path / "offline"
    machine.screen_plan = replace(
        machine.screen_plan, root=machine.root, target="cuda:90", cards=(), configs="first", jobs=1
    )
    machine.screen()
    machine.world.rows = {"one": ONE, "two": PLACEBOS, "three": TWO}
    machine.world.happens = only("three", 0, "after", Happening(dies_at=0), attempts=99)
    result = machine.measure()
    assert {line["operator"] for line in machine.lines("round")} == {"one"}
    assert "two: NO_IR_DIFF on the card, so it was not measured" in result.notes
    assert result.failed == ("three: BROKEN on the card",)
    assert exit_code(result, []) == 1
