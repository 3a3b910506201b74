"""A screen on cards: which worker, which card, which sides. Cards and sides are simulated; the locks are real."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.fleet.simulated import MASK, SimulatedCards, other_holder, simulated_cards
from tests.workflow.simulated import changed
from tests.workflow.simulated_sides import Floor, card_plan, given_of
from zl_bench.errors import DeadAxis, EnvironmentUnfit, UsageError
from zl_bench.fleet import pool
from zl_bench.fleet.locks import CardLock, Holder, lock_folder
from zl_bench.fleet.pool import HeldCard
from zl_bench.model import OperatorVerdict, Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.planner import Timing
from zl_bench.store.request import read_request
from zl_bench.workflow import screen as workflow
from zl_bench.workflow.screen import ScreenPlan, ScreenResult, side_plans

TEN = tuple(f"op{number}" for number in range(10))
LIMIT = 30.0
Screen = Callable[..., tuple[ScreenResult, str]]


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedCards:
    monkeypatch.setattr(pool, "POLL", 0.01)
    return simulated_cards(tmp_path / "machine")


@pytest.fixture
def floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Floor:
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")
    floor = Floor(triton)
    monkeypatch.setattr(workflow, "SideServers", floor.open)
    return floor


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


async def screened(plan: ScreenPlan) -> tuple[ScreenResult, str]:
    """Screen the plan; gives the result and what was told."""
    console = Console(file=io.StringIO(), width=1000)
    plan.root.mkdir(exist_ok=True)
    with ProgressReporter(len(plan.entries), console) as progress:
        result = await workflow.screen(plan, progress)
    return result, console.file.getvalue()  # type: ignore[attr-defined]


def screen(plan: ScreenPlan) -> tuple[ScreenResult, str]:
    return asyncio.run(asyncio.wait_for(screened(plan), LIMIT))


def locks_of(simulated: SimulatedCards) -> Path:
    return lock_folder(simulated.environment)


def all_free(simulated: SimulatedCards) -> bool:
    locks = [CardLock(card, locks_of(simulated)) for card in simulated.cards]
    taken = [lock.take(Holder.of_this_process(Path())) for lock in locks]
    for lock in locks:
        lock.release()
    return all(taken)


def test_operators_go_to_all_cards_and_a_pair_stays_on_one(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    result, _ = screen(card_plan(root, simulated, operators=TEN))
    assert {verdict.operator for verdict in result.verdicts} == set(TEN)
    assert len(floor.ran) == 20
    assert all(len(floor.cards_of(operator)) == 1 for operator in TEN)
    assert {card for card, _, _ in floor.ran} == {"SIM-a0000", "SIM-b1000"}
    assert [servers.card for servers in floor.servers] == ["SIM-a0000", "SIM-b1000"]
    assert all_free(simulated)


def test_before_comes_first_on_its_card_and_nothing_comes_between(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    screen(card_plan(root, simulated, operators=TEN))
    for card in ("SIM-a0000", "SIM-b1000"):
        ran = [(operator, side) for where, operator, side in floor.ran if where == card]
        for before, after in zip(ran[::2], ran[1::2], strict=True):
            assert (before[0], before[1], after[1]) == (after[0], "before", "after")


def test_a_worker_that_is_free_takes_the_next_operator(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    floor.slow = {"op0": 0.5}
    screen(card_plan(root, simulated, operators=TEN))
    assert sum(card == "SIM-a0000" for card, _, _ in floor.ran) == 2
    assert sum(card == "SIM-b1000" for card, _, _ in floor.ran) == 18


def test_before_tunes_and_after_replays_and_outputs_are_sampled(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    screen(card_plan(root, simulated))
    for given in given_of(floor):
        assert given["pins"]["mode"] == ("tune" if given["side"] == "before" else "replay")
        assert given["target"] is None
        assert given["numerics"] is True
        assert "timing" not in given
        assert given["stages"] == "all"


def test_rows_are_timed_where_that_is_asked_for(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    screen(card_plan(root, simulated, timing=Timing("graph", "warm")))
    for given in given_of(floor):
        assert given["timing"] == {"method": "graph", "l2": "warm", "baseline": False}
    request = read_request(root)
    assert request is not None
    assert (request.timing, request.l2, request.configs, request.target) == ("graph", "warm", "tune", None)


def test_each_card_has_sides_logs_and_caches_of_its_own(simulated: SimulatedCards, root: Path) -> None:
    plan = card_plan(root, simulated)
    plans = side_plans(plan, HeldCard(simulated.cards[1], 77))
    assert [side.environment[MASK] for side in plans.values()] == ["SIM-b1000"] * 2
    assert [side.log.name for side in plans.values()] == ["side_before.card1.log", "side_after.card1.log"]
    caches = [side.caches.name for side in plans.values() if side.caches]
    assert caches == ["side_before.card1.cache", "side_after.card1.cache"]
    assert [side.held for side in plans.values()] == [(77,), (77,)]
    assert {side.target for side in plans.values()} == {None}
    before, after = dict(plans["before"].environment), dict(plans["after"].environment)
    assert (before.pop("SWITCH"), after.pop("SWITCH")) == ("a", "b")
    assert before == after


def test_a_suite_s_modules_are_not_imported_where_they_could_touch_the_card(
    simulated: SimulatedCards, root: Path
) -> None:
    plan = card_plan(root, simulated)
    assert plan.suite.modules
    assert all(side.modules == () for side in side_plans(plan, HeldCard(simulated.cards[0], 7)).values())


def test_masks_that_count_within_the_card_s_are_taken_away(tmp_path: Path, root: Path) -> None:
    nested = simulated_cards(tmp_path / "nested", mask_variables=(MASK, "INNER"), inner_masks=("INNER",))
    plan = card_plan(root, nested, inherited={MASK: "0,1", "INNER": "1"})
    environment = side_plans(plan, HeldCard(nested.cards[1], 7))["before"].environment
    assert environment[MASK] == "SIM-b1000"
    assert "INNER" not in environment


def test_the_request_has_the_cards_and_others_of_the_same_kind_may_go_on(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    plan = card_plan(root, simulated, operators=("one",), cards=simulated.cards[:1])
    screen(plan)
    resumed = card_plan(root, simulated, operators=("one", "two"), cards=simulated.cards[1:], resume=True)
    result, told = screen(resumed)
    assert len(result.verdicts) == 2
    assert "1 finished operator skipped" in told
    request = read_request(root)
    assert request is not None
    assert [(card["index"], card["uuid"], card["name"]) for card in request.cards] == [
        ("0", "SIM-a0000", "Simulated H1"),
        ("1", "SIM-b1000", "Simulated H1"),
    ]
    assert request.extra["card"] == "Simulated H1"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (None, "timing was graph, now not given"),
        (Timing("queued", "cold"), "timing was graph, now queued"),
        (Timing("graph", "warm"), "l2 was cold, now warm"),
    ],
)
def test_resume_is_for_the_same_timing_only(
    simulated: SimulatedCards, floor: Floor, root: Path, asked: Timing | None, words: str
) -> None:
    screen(card_plan(root, simulated, operators=("one",), timing=Timing("graph", "cold")))
    with pytest.raises(UsageError, match=words):
        screen(card_plan(root, simulated, timing=asked, resume=True))


def test_resume_on_another_kind_of_card_is_another_question(
    simulated: SimulatedCards, floor: Floor, root: Path, tmp_path: Path
) -> None:
    screen(card_plan(root, simulated, operators=("one",)))
    other = simulated_cards(tmp_path / "other", names=("Simulated H2",))
    with pytest.raises(UsageError, match="card was Simulated H1, now Simulated H2"):
        screen(card_plan(root, other, resume=True))


def test_a_busy_card_is_waited_for(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    async def body() -> None:
        with other_holder(simulated.cards[0], locks_of(simulated)) as other:
            task = asyncio.create_task(screened(card_plan(root, simulated, cards=simulated.cards[:1])))
            await asyncio.sleep(0.3)
            assert floor.servers == []
            other.kill()
            result, told = await task
        assert len(result.verdicts) == 2
        assert f"is used by process {other.pid} of " in told
        assert "waiting for it" in told

    asyncio.run(asyncio.wait_for(body(), LIMIT))


def test_not_to_wait_is_exit_3_with_the_holder_and_starts_nothing(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    with other_holder(simulated.cards[0], locks_of(simulated)) as other, pytest.raises(EnvironmentUnfit) as error:
        screen(card_plan(root, simulated, cards=simulated.cards[:1], wait=0.0))
    assert error.value.exit_code == 3
    assert f"process {other.pid} " in str(error.value)
    assert floor.servers == []
    assert not (root / "screen.json").exists()


@pytest.mark.parametrize("wait", [None, 0.0])
def test_with_one_free_card_the_screen_goes_on_on_that(
    simulated: SimulatedCards, floor: Floor, root: Path, wait: float | None
) -> None:
    """And it ends when its operators are done, though it never got the other card."""
    with other_holder(simulated.cards[0], locks_of(simulated)):
        result, told = screen(card_plan(root, simulated, operators=TEN, wait=wait))
    assert len(result.verdicts) == 10
    assert {card for card, _, _ in floor.ran} == {"SIM-b1000"}
    assert ("going on without it" if wait == 0.0 else "waiting for it") in told


def test_two_screens_share_two_cards(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    """Both get through; the sides themselves check that no card is used twice at a time."""
    floor.slow = dict.fromkeys(TEN, 0.01)

    async def both() -> tuple[ScreenResult, ...]:
        plans = [card_plan(tmp_path / name, simulated, operators=TEN) for name in ("a", "b")]
        return tuple(result for result, _ in await asyncio.gather(*map(screened, plans)))

    for result in asyncio.run(asyncio.wait_for(both(), LIMIT)):
        assert {verdict.operator for verdict in result.verdicts} == set(TEN)
    assert len(floor.ran) == 40
    assert all_free(simulated)


def test_more_cards_than_operators_are_not_taken(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    with other_holder(simulated.cards[1], locks_of(simulated)):
        _, told = screen(card_plan(root, simulated, operators=("one",)))
    assert len(floor.servers) == 1
    assert "used by" not in told


def test_an_error_of_one_worker_ends_the_others_and_frees_every_card(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    def refuse(given: Any) -> list[dict[str, object]]:
        if given["operator"] == "op1":
            raise EnvironmentUnfit("disk full")
        return changed(given)

    floor.simulated, floor.slow = {"record": refuse}, {"op0": 5.0}
    with pytest.raises(EnvironmentUnfit, match="disk full"):
        screen(card_plan(root, simulated, operators=TEN))
    assert not any(servers.open for servers in floor.servers)
    assert all_free(simulated)


def test_an_interrupted_screen_frees_every_card(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    floor.slow = dict.fromkeys(TEN, 10.0)

    async def body() -> None:
        task = asyncio.create_task(screened(card_plan(root, simulated, operators=TEN)))
        while len(floor.ran) < 2:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(asyncio.wait_for(body(), LIMIT))
    assert not any(servers.open for servers in floor.servers)
    assert all_free(simulated)


def test_a_dead_axis_frees_the_card(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    with pytest.raises(DeadAxis):
        screen(card_plan(root, simulated, "INVENTED"))
    assert floor.ran == []
    assert all_free(simulated)


def test_who_else_uses_a_card_is_told_and_written_down(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    simulated.used_by((0, 4711, "a_server"))
    _, told = screen(card_plan(root, simulated, operators=TEN))
    assert "card 0 (Simulated H1, SIM-a0000) is open in other processes as well" in told
    assert "4711 (a_server, 512 MiB)" in told
    uses = {use["index"]: use for use in map(json.loads, (root / "cards.jsonl").read_text().splitlines())}
    assert uses[0]["others"] == [{"pid": 4711, "name": "a_server", "used_mib": 512}]
    assert (uses[1]["uuid"], uses[1]["name"], uses[1]["others"]) == ("SIM-b1000", "Simulated H1", [])


def test_a_vendor_that_does_not_tell_who_uses_its_cards(tmp_path: Path, floor: Floor, root: Path) -> None:
    silent = simulated_cards(tmp_path / "machine", processes_command=(), read_processes=None)
    screen(card_plan(root, silent, operators=("one",)))
    (use,) = map(json.loads, (root / "cards.jsonl").read_text().splitlines())
    assert use["others"] is None


def test_a_pass_is_looked_for_in_the_card_s_own_pipeline(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    floor.simulated = {"card_target": "cuda:100"}
    with pytest.raises(DeadAxis, match="pipeline for cuda:100 never adds invented"):
        screen(card_plan(root, simulated, "pass:invented"))
    result, _ = screen(card_plan(root, simulated, "pass:pipeline"))
    assert "cuda:100" in result.liveness.finding


def test_a_card_whose_compiler_can_not_say_what_it_compiles_for(
    simulated: SimulatedCards, floor: Floor, root: Path
) -> None:
    floor.simulated = {"card_target": None}
    with pytest.raises(EnvironmentUnfit, match=r"What the card compiles for could not be found out .* see .*\.log"):
        screen(card_plan(root, simulated, "pass:pipeline"))


def test_a_device_that_importing_has_opened_is_told(
    simulated: SimulatedCards, floor: Floor, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = floor.open

    def opening(plans: Any) -> Any:
        made = opened(plans)
        made.found = {side: {**found, "opened": ["/dev/simulated0"]} for side, found in made.found.items()}
        return made

    monkeypatch.setattr(workflow, "SideServers", opening)
    _, told = screen(card_plan(root, simulated, operators=("one",)))
    assert "importing has opened /dev/simulated0" in told


def test_verdicts_come_about_as_without_a_card(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    floor.simulated = {"record": changed}
    result, _ = screen(card_plan(root, simulated, operators=("one",)))
    verdict: OperatorVerdict
    (verdict,) = result.verdicts
    assert verdict.verdict is Verdict.IR_CHANGED


def test_a_root_with_runs_of_one_side_is_no_screen_s(simulated: SimulatedCards, floor: Floor, root: Path) -> None:
    root.mkdir()
    (root / "run_after.json").write_text("{}")
    with pytest.raises(UsageError, match="has runs of one side"):
        screen(card_plan(root, simulated))
