"""A bisection by speed: which parts are asked about, what is timed, where it stops. Cards and sides are simulated."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.fleet.simulated import simulated_cards
from tests.workflow.simulated_measure import Happening, MeasuringSides, SimulatedRow, World
from tests.workflow.test_measure import LIMIT, PLACEBOS, Machine
from zl_bench.errors import EnvironmentUnfit, UsageError, ZlBenchError
from zl_bench.fleet import pool
from zl_bench.model import Kernel, KernelIdentity, ProcessOutcome, RowKey, Side, StageText
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import parse_switch
from zl_bench.store.bisect_log import Timed
from zl_bench.store.layout import bisect_step_folder
from zl_bench.store.replays import Replayed
from zl_bench.store.request import read_request
from zl_bench.workflow import bisect_speed as module
from zl_bench.workflow import measure as measure_workflow
from zl_bench.workflow import screen as screen_workflow
from zl_bench.workflow.bisect_speed import SpeedBisection, bisect_speed
from zl_bench.workflow.bisect_speed_lines import speed_lines, step_line
from zl_bench.workflow.parts import Mask, Parts
from zl_bench.workflow.subject import KernelSide, Subject

On = frozenset[str]
Effect = Callable[[On], tuple[SimulatedRow, ...]]
PASS = "pipeline"
NODE = "test_one.py::test_one"


@dataclass
class SimulatedParts(World):
    """A world in which the rows of `one` depend on what the after side has on: occurrences, and variables as NAME=VALUE."""

    effect: Effect = lambda on: ()

    def open(self, plans: Mapping[Side, SidePlan]) -> MeasuringSides:
        made = super().open(plans)
        made.__class__ = SidesWithParts
        return made


class SidesWithParts(MeasuringSides):
    """Sides whose after side is what its parts make of it."""

    async def run(
        self, side: Side, input_file: Path, timeout: float, entered: asyncio.Event | None = None
    ) -> ProcessOutcome:
        world = self.world
        assert isinstance(world, SimulatedParts)
        if side == "after":
            drop = json.loads(input_file.read_text(encoding="utf-8"))["drop_pass"]
            environment = self.plans["after"].environment
            on = {f"{name}={value}" for name, value in environment.items()}
            if drop is not None:
                given = drop["occurrence"]
                numbers = [1, 2, 3] if given is None else given if isinstance(given, list) else [given]
                on |= {f"{drop['name']}@{number}" for number in numbers}
            world.rows = {**world.rows, "one": world.effect(frozenset(on))}
        return await super().run(side, input_file, timeout, entered)


class Bench:
    """A machine with a root of the operator `one`, that was screened with a switch whose parts have an effect."""

    def __init__(self, folder: Path, effect: Effect, switch: str = f"pass:{PASS}", **env: Any):
        (folder / "triton").mkdir()
        (folder / "triton" / "knobs.py").write_text("SWITCH")
        rows = {"one": effect(frozenset()), "two": PLACEBOS}
        self.world = SimulatedParts(folder / "triton", rows, effect=effect)
        self.machine = Machine(folder, self.world, simulated_cards(folder / "machine"))
        self.env = env
        self.switch = parse_switch(switch)
        self.machine.screen_plan = replace(self.machine.screen_plan, switch=self.switch, force=True, **env)
        self.log = folder / "root" / "bisect" / "log.jsonl"
        self.told: list[str] = []
        self.names: list[Parts] = []

    @property
    def after(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.env.get("env_after", {})
        return found

    def subject(self) -> Subject:
        """As `choose_subject` would find it, with no more of its kernel than is looked at."""
        request = read_request(self.machine.root)
        assert request is not None
        identity = KernelIdentity("kernel0", "{}", "{}", "{}", 4, 1, 1)
        kernel = Kernel(identity, 0, (), target="cuda:90", options={})
        sides: dict[Side, KernelSide] = {}
        for side in ("before", "after"):
            own = {name: value for name, value in self.switch.variables(side).items() if value is not None}
            given = self.after if side == "after" else {}
            sides[side] = KernelSide(
                side, kernel, StageText("ttir", Path("/nowhere")), "ttir", {}, Path(sys.executable),
                {"HOME": "/root", **given, **own}, self.switch.dropped_pass(side),
            )  # fmt: skip
        backend = self.machine.cards.backend
        return Subject(self.machine.root, "one", 1, key("slow"), self.switch, request, backend, "cuda:90", sides, ())

    def bisect(self, row: RowKey | None = None, mask: Mask | None = None, **changed: Any) -> SpeedBisection:
        self.told.clear()
        self.names.clear()
        plan = replace(self.machine.plan("one"), screen=self.screen_plan(), **changed)
        return bisect_speed(self.subject(), row, plan, mask, self.log, self.machine.root, 9.0, self.run, self.tell)

    def screen_plan(self) -> Any:
        return replace(
            self.machine.screen_plan, target=None, cards=self.machine.cards.cards[:1], configs="tune", timeout=20.0
        )

    def run(self, work: Any) -> Timed:
        async def reported() -> Timed:
            with ProgressReporter(0, Console(file=io.StringIO(), width=500)) as progress:
                return await asyncio.wait_for(work(progress), LIMIT)

        return asyncio.run(reported())

    def tell(self, parts: Parts, timed: Timed, logged: bool) -> None:
        self.names.append(parts)
        self.told.append(step_line(parts, timed, logged))

    def step(self, *parts: str) -> Path:
        """The root of a step."""
        return bisect_step_folder(self.log, parts)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    monkeypatch.setattr(pool, "POLL", 0.01)
    three = SimpleNamespace(replayed=Replayed((), (), None, ("coalesce", PASS, PASS, "prefetch", PASS)))
    monkeypatch.setattr(module, "compile_again", lambda *_, **__: three)

    def make(effect: Effect, *arguments: str, screened: bool = True, **env: Any) -> Bench:
        made = Bench(tmp_path, effect, *arguments, **env)
        for workflow in (measure_workflow, screen_workflow):
            monkeypatch.setattr(workflow, "SideServers", made.world.open)
        if screened:
            made.machine.screen()
        return made

    return make


def key(detail: str) -> RowKey:
    return RowKey(NODE, "one", "float32", 0, detail)


def parts(*numbers: int) -> Parts:
    return tuple(f"{PASS}@{number}" for number in numbers)


def acting(acts: Callable[[On], bool], factor: float = 1.05) -> Effect:
    """Parts of which any changes the code, and those that act change the time."""
    return lambda on: (
        SimulatedRow("slow", changed=any(PASS in part for part in on), factor=factor if acts(on) else 1.0),
        *PLACEBOS,
    )


def test_the_occurrence_that_makes_it_slower_is_named(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on))
    found = made.bisect()
    assert found.found is not None
    assert (found.found.groups, found.found.rest) == ((parts(2),), parts(1, 3))
    assert made.names == [parts(1, 2, 3), parts(1), parts(1, 2), parts(2), parts(1, 3)]
    lines = list(speed_lines(found))
    assert lines[0].startswith(f"row one float32 slow: {', '.join(parts(1, 2, 3))}: SLOWER, speedup 0.95")
    assert lines[1].startswith(f"{PASS}@2 alone makes it slower: speedup 0.95")
    assert lines[2] == f"without it, {', '.join(parts(1, 3))} do not"
    assert lines[-1].startswith("5 sets of 3 parts tried, 5 of them timed")
    assert found.outcomes[parts(2)].speedup == pytest.approx(1 / 1.05, rel=0.004)
    assert found.outcomes[parts(1, 3)].verdict == "NO_CHANGE"


def test_a_step_is_a_root_of_its_own_with_those_parts_alone(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on))
    made.world.given.clear()
    made.bisect()
    requests = {some: read_request(made.step(*some)) for some in made.names}
    assert {some: request.switch for some, request in requests.items() if request is not None} == {
        parts(1, 2, 3): f"pass:{PASS}",
        parts(1): f"pass:{PASS}@1",
        parts(1, 2): f"pass:{PASS}@1,2",
        parts(2): f"pass:{PASS}@2",
        parts(1, 3): f"pass:{PASS}@1,3",
    }
    assert {given["pins"]["mode"] for given in made.world.given} == {"replay"}
    dropped = {json.dumps(given["drop_pass"]) for given in made.world.given if given["side"] == "before"}
    assert dropped == {"null"}
    assert (made.step(*parts(2)) / "measure.tsv").exists()
    assert not (made.machine.root / "measure.jsonl").exists()


def test_code_of_the_before_side_is_never_timed(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        two = f"{PASS}@2" in on
        return SimulatedRow("slow", changed=two, factor=1.05 if two else 1.0), SimulatedRow("other"), *PLACEBOS

    made = bench(effect)
    found = made.bisect(key("slow"))
    assert found.found is not None
    assert found.found.groups == (parts(2),)
    assert {some for some, timed in found.outcomes.items() if timed.verdict == "IDENTICAL"} == {parts(1), parts(1, 3)}
    for some in (parts(1), parts(1, 3)):
        assert not (made.step(*some) / "measure.jsonl").exists()
        assert not (made.step(*some) / "measure").exists()
    assert f"  {PASS}@1: IDENTICAL machine code, not timed" in made.told
    assert "3 of them timed" in list(speed_lines(found))[-1]


def test_parts_that_act_only_together_are_said_to(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: {f"{PASS}@1", f"{PASS}@3"} <= on, factor=0.9))
    found = made.bisect()
    lines = list(speed_lines(found))
    assert lines[1].startswith(f"{PASS}@1, {PASS}@3 make it faster only together, none of them alone: speedup 1.1")
    assert lines[2] == f"without these, {PASS}@2 does not"


def test_a_switch_without_a_difference_ends_in_those_words(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: False))
    found = made.bisect()
    assert made.names == [parts(1, 2, 3)]
    line, more, _ = speed_lines(found)
    assert line.startswith("no part makes a difference that these rounds can show: the whole switch is NO_CHANGE")
    assert ", mde " in line
    assert "none was tried alone" in more


@pytest.mark.parametrize("switch", [f"pass:{PASS}", "SWITCH=a..a"])
def test_a_switch_that_changes_no_code_ends_in_those_words_without_being_timed(
    bench: Callable[..., Bench], switch: str
) -> None:
    made = bench(lambda on: (SimulatedRow("slow", changed=False), *PLACEBOS), switch)
    made.world.ran.clear()
    line, *_ = speed_lines(made.bisect())
    assert line == (
        "no part makes a difference that these rounds can show: the machine code is the same on both sides, so nothing was "
        "timed"
    )
    assert {number for _, _, number, _ in made.world.ran} == {0}


def test_noise_that_forbids_an_answer_stops_the_search_and_says_so(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        made.world.noise = 0.08 if {f"{PASS}@1", f"{PASS}@2", f"{PASS}@3"} & on == {f"{PASS}@1"} else 0.001
        return acting(lambda on: f"{PASS}@2" in on, 1.2)(on)

    made: Any = SimpleNamespace(world=SimpleNamespace())
    made = bench(effect)
    found = made.bisect()
    assert found.found is None
    assert found.stopped is not None
    assert found.stopped.parts == parts(1)
    assert made.names == [parts(1, 2, 3), parts(1)]
    whole, why, known, advice, _ = speed_lines(found)
    assert "SLOWER" in whole
    assert why.startswith("noise forbids an answer")
    assert f"{PASS}@1 is INCONCLUSIVE" in why
    assert known == f"so far: {', '.join(parts(1, 2, 3))} make it slower, and nothing smaller is known to"
    assert "--rounds 12" in advice
    again = made.bisect()  # the log has it: the same rounds say the same
    assert again.stopped == found.stopped
    assert all("(from the log)" in line for line in made.told)


def test_a_whole_switch_in_noise_says_that_nothing_is_known(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: False))
    made.world.noise = 0.08
    found = made.bisect()
    why, known, *_ = speed_lines(found)
    assert why.startswith("noise forbids an answer")
    assert known == "so far: nothing is known, the whole switch included"


def test_the_row_that_was_asked_for_is_followed(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        one, two = (f"{PASS}@{number}" in on for number in (1, 2))
        return (
            SimulatedRow("slow", factor=1.2 if two else 1.0, changed=two),
            SimulatedRow("fast", factor=0.95 if one else 1.0, changed=one),
            *PLACEBOS,
        )

    made = bench(effect)
    found = made.bisect(key("fast"))
    assert found.found is not None
    assert found.found.groups == (parts(1),)
    assert {timed.row for timed in found.outcomes.values()} == {key("fast")}
    made.log = made.log.with_name("all.jsonl")
    every = made.bisect()
    assert every.found is not None
    assert every.found.groups == (parts(2),)  # of the row that changes most
    assert every.outcomes[parts(1, 2, 3)].row == key("slow")


def test_what_was_measured_is_not_measured_again(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on))
    lost = {"left": True}

    def happens(operator: str, number: int, attempt: int, side: Side) -> Happening:
        if number == 2 and made.names == [parts(1, 2, 3), parts(1)] and lost["left"]:
            raise EnvironmentUnfit("the card is gone")
        return Happening()

    made.world.happens = happens
    with pytest.raises(EnvironmentUnfit, match="the card is gone"):
        made.bisect()
    assert made.names == [parts(1, 2, 3), parts(1)]
    lost["left"] = False
    made.world.ran.clear()
    found = made.bisect()
    assert found.found is not None
    assert found.found.groups == (parts(2),)
    assert [line.endswith("(from the log)") for line in made.told] == [True, True, False, False, False]
    ran = [number for _, operator, number, side in made.world.ran if (operator, side) == ("one", "after")]
    # The step that was cut short has its screen and its first round; the two behind it have all to do.
    assert ran == [2, 3, 0, 1, 2, 3, 0, 1, 2, 3]


def test_another_question_is_not_answered_from_the_log(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: False))
    made.bisect()
    with pytest.raises(UsageError, match="another question"):
        made.bisect(rounds=4)


def test_a_spent_budget_keeps_what_there_is(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on))
    found = made.bisect(budget=1e-9)
    assert found.stopped is not None
    assert found.stopped.timed is None
    why, known, *_ = speed_lines(found)
    assert why.startswith("the budget was spent before")
    assert known == "so far: nothing is known, the whole switch included"
    assert not found.outcomes
    assert made.bisect().found is not None


def test_variables_and_their_values_are_parts(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        both = "SWITCH=b" in on or "OTHER=1" in on
        return SimulatedRow("slow", changed=both, factor=1.1 if "OTHER=1" in on else 1.0), *PLACEBOS

    made = bench(effect, "SWITCH=a..b", env_after={"OTHER": "1"})
    found = made.bisect()
    assert found.found is not None
    assert found.found.groups == (("OTHER=1",),)
    request = read_request(made.step("OTHER=1"))
    assert request is not None
    assert (request.switch, request.env, request.env_after) == ("OTHER=..1", {"SWITCH": "a"}, {})
    request = read_request(made.step("SWITCH=b"))
    assert request is not None
    assert (request.switch, request.env_after) == ("SWITCH=a..b", {})


def test_variables_beside_a_pass_are_parts(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        return SimulatedRow("slow", changed="OTHER=1" in on, factor=1.1 if "OTHER=1" in on else 1.0), *PLACEBOS

    made = bench(effect, f"pass:{PASS}", env_after={"OTHER": "1"})
    found = made.bisect()
    assert found.found is not None
    assert found.found.groups == (("OTHER=1",),)
    request = read_request(made.step("OTHER=1"))
    assert request is not None
    assert (request.switch, request.env_after) == ("OTHER=..1", {})


def test_bits_of_a_mask_are_parts_and_none_of_them_is_the_before_side(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        number = next((int(part.removeprefix("MASK=")) for part in on if part.startswith("MASK=")), 0)
        return SimulatedRow("slow", changed=number > 0, factor=1.1 if number & 4 else 1.0), *PLACEBOS

    made = bench(effect, "SWITCH=a..b")
    found = made.bisect(mask=Mask("MASK", "7"))
    assert found.found is not None
    assert found.found.groups == (("MASK bit 2 (4)",),)
    assert found.outcomes["MASK=0",].verdict == "IDENTICAL"
    request = read_request(made.step("MASK bit 2 (4)"))
    assert request is not None
    assert (request.switch, request.env_after) == ("SWITCH=a..b", {"MASK": "4"})


def test_a_change_that_no_bit_makes_is_refused(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        return SimulatedRow("slow", changed="SWITCH=b" in on, factor=1.1 if "SWITCH=b" in on else 1.0), *PLACEBOS

    made = bench(effect, "SWITCH=a..b")
    with pytest.raises(UsageError, match="With no bit of MASK on, the row is SLOWER already"):
        made.bisect(mask=Mask("MASK", "7"))


def test_a_screen_for_a_target_tunes_once_on_the_card(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on), screened=False)
    made.machine.screen(target="cuda:90", cards=())
    made.world.given.clear()
    found = made.bisect()
    assert found.found is not None
    modes = [
        given["pins"]["mode"]
        for given in made.world.given
        if (given["operator"], given["side"]) == ("one", "before") and not given.get("turns")
    ]
    assert modes == ["tune", "replay", "replay", "replay", "replay"]


def test_a_card_of_another_model_or_kind_is_refused(bench: Callable[..., Bench], tmp_path: Path) -> None:
    made = bench(acting(lambda on: False))
    made.machine.cards = simulated_cards(tmp_path / "others", ("Other H2",))
    with pytest.raises(EnvironmentUnfit, match="the card here is Other H2"):
        made.bisect()


def test_compilers_that_are_others_now_are_refused(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: False))
    made.world.library = "2" * 64
    with pytest.raises(UsageError, match="another before Triton and another after Triton"):
        made.bisect()


def test_a_step_that_can_not_be_measured_says_so_and_is_tried_again(bench: Callable[..., Bench]) -> None:
    made = bench(acting(lambda on: f"{PASS}@2" in on))
    made.world.happens = lambda operator, number, attempt, side: Happening(dies_at=0 if number == 1 else None)
    with pytest.raises(ZlBenchError, match="could not be measured") as error:
        made.bisect()
    assert error.value.exit_code == 1
    made.world.happens = lambda *_: Happening()
    assert made.bisect().found is not None


def test_a_part_that_takes_the_row_away_is_no_answer(bench: Callable[..., Bench]) -> None:
    def effect(on: On) -> tuple[SimulatedRow, ...]:
        rows = acting(lambda on: f"{PASS}@2" in on)(on)
        return rows[1:] if {part for part in on if PASS in part} == {f"{PASS}@1"} else rows

    made = bench(effect)
    with pytest.raises(UsageError, match="The goal broken finds what breaks it"):
        made.bisect()
