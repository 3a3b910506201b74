"""What the doctor finds on cards. Cards and sides are simulated; the locks are real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.simulated import MASK, SimulatedCards, other_holder, simulated_cards
from tests.workflow.simulated import SimulatedServers, versions
from tests.workflow.test_doctor_timer import answer
from zl_bench.backends.vendors import BACKENDS, backend_named
from zl_bench.fleet.locks import CardLock, Holder, lock_folder
from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import parse_switch
from zl_bench.workflow import doctor_cards
from zl_bench.workflow.doctor import Finding
from zl_bench.workflow.doctor_cards import CardQuestion, diagnose_cards, methods_for

CARD = {"name": "Simulated H1", "uuid": "SIM-a0000", "driver": "1.2", "processes": []}
Found = dict[str, Finding]


@pytest.fixture
def simulated(tmp_path: Path) -> SimulatedCards:
    return simulated_cards(tmp_path / "machine")


class SimulatedSides:
    """Makes the sides that are asked for, and keeps them; while one answers, its card must be locked."""

    def __init__(self, simulated: SimulatedCards, triton: Path):
        self.made: list[SimulatedServers] = []
        self.locked: list[list[bool]] = []
        self._simulated = simulated
        self._triton = triton
        self.options: dict[str, Any] = {"timer": answer(card=CARD)}

    def open(self, plans: Mapping[Side, SidePlan]) -> SimulatedServers:
        self.locked.append([not is_free(self._simulated, number) for number in range(len(self._simulated.cards))])
        found = {side: versions(self._triton) for side in plans}
        made = SimulatedServers(plans, **{"found": found, **self.options})
        self.made.append(made)
        return made

    @property
    def plan(self) -> SidePlan:
        return self.made[-1].plans["before"]


def is_free(simulated: SimulatedCards, number: int) -> bool:
    lock = CardLock(simulated.cards[number], lock_folder(simulated.environment))
    taken = lock.take(Holder.of_this_process(Path()))
    lock.release()
    return taken


@pytest.fixture
def sides(simulated: SimulatedCards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedSides:
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")
    sides = SimulatedSides(simulated, triton)
    monkeypatch.setattr(doctor_cards, "SideServers", sides.open)
    return sides


@pytest.fixture
def look(simulated: SimulatedCards, sides: SimulatedSides) -> Callable[..., Found]:
    """Look at the first card, or at so many; gives the findings by subject."""

    def run(switch: str | None = None, cards: int = 1, **environment: str) -> Found:
        question = CardQuestion(
            Path("/usr/bin/python"),
            simulated.backend,
            simulated.cards[:cards],
            parse_switch(switch) if switch is not None else None,
            {**simulated.environment, **environment},
        )
        findings = asyncio.run(diagnose_cards(question))
        subjects = [finding.subject for finding in findings]
        assert len(set(subjects)) == len(subjects)
        return {finding.subject: finding for finding in findings}

    return run


def test_a_fit_card(look: Callable[..., Found], simulated: SimulatedCards, sides: SimulatedSides) -> None:
    found = look("SWITCH")
    assert list(found)[:11] == [
        "zl-bench",
        "disk",
        "cards",
        "card 0 processes",
        "card 0 lock",
        "interpreter",
        "triton",
        "torch",
        "card 0 target",
        "switch",
        "card 0",
    ]
    assert all(finding.good and not finding.remedy for finding in found.values())
    assert found["cards"].text == (
        "2 cards of simulated: card 0 (Simulated H1, SIM-a0000), card 1 (Simulated H1, SIM-b1000)"
    )
    assert found["card 0"].text == "Simulated H1, SIM-a0000, driver 1.2"
    assert found["card 0 target"].text.startswith("cuda:90 compiles")
    assert "card 0 clock" in found
    assert found["card 0 timing by graph, L2 warm"].good
    assert is_free(simulated, 0)


def test_the_sides_see_that_card_alone_and_hold_its_lock(
    look: Callable[..., Found], simulated: SimulatedCards, sides: SimulatedSides
) -> None:
    look(cards=2, SIMULATED_VISIBLE_DEVICES="1,0")
    first, second = (made.plans["before"] for made in sides.made)
    assert (first.environment[MASK], second.environment[MASK]) == ("SIM-a0000", "SIM-b1000")
    assert sides.locked == [[True, False], [False, True]]
    assert (len(first.held), len(second.held)) == (1, 1)
    assert first.target is None
    assert first.environment["GEMS_VENDOR"] == "simulated"
    assert not first.log.parent.exists()


def test_the_compilers_and_the_switch_are_looked_at_once(look: Callable[..., Found]) -> None:
    found = look("pass:pipeline", cards=2)
    assert found["switch"].good
    assert [subject for subject in found if subject.endswith("target")] == ["card 0 target", "card 1 target"]
    assert "card 1 timing methods" in found


def test_a_dead_switch_has_a_remedy(look: Callable[..., Found]) -> None:
    found = look("INVENTED")
    assert not found["switch"].good
    assert "--force" in found["switch"].remedy


def test_two_builds_are_both_started_on_the_card(
    look: Callable[..., Found], sides: SimulatedSides, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    look(f"build:{tmp_path}/a..{tmp_path}/b")
    plans = sides.made[0].plans
    assert [plan.interpreter.name for plan in plans.values()] == ["a", "b"]
    assert {plan.environment[MASK] for plan in plans.values()} == {"SIM-a0000"}


def test_a_card_that_others_use_is_left_alone(
    look: Callable[..., Found], simulated: SimulatedCards, sides: SimulatedSides
) -> None:
    with other_holder(simulated.cards[0], lock_folder(simulated.environment)) as process:
        found = look("SWITCH")
    assert not found["card 0 lock"].good
    assert f"held by process {process.pid} of" in found["card 0 lock"].text
    assert "/their/root" in found["card 0 lock"].text
    assert found["triton"].good
    assert found["switch"].good
    assert not any(subject.startswith("card 0 t") for subject in found)
    assert sides.made[0].asked_of_timer == []
    assert sides.plan.held == ()


def test_a_pass_is_looked_for_on_the_next_card_that_is_free(
    look: Callable[..., Found], simulated: SimulatedCards
) -> None:
    with other_holder(simulated.cards[0], lock_folder(simulated.environment)):
        found = look("pass:pipeline", cards=2)
        alone = look("pass:pipeline", cards=1)
    assert found["switch"].good
    assert "card 1 timing methods" in found
    assert "was not looked for" in alone["switch"].text
    assert not alone["switch"].good


def test_other_processes_are_told(look: Callable[..., Found], simulated: SimulatedCards) -> None:
    simulated.used_by((0, 4711, "train.py"), (1, 5, "other"))
    found = look()
    assert found["card 0 processes"].good
    assert found["card 0 processes"].text == (
        "others have it open, which may disturb what is timed: 4711 (train.py, 512 MiB)"
    )
    simulated.used_by()
    assert look()["card 0 processes"].text == "nobody has it open"


def test_who_has_a_card_open_may_not_be_known(
    simulated: SimulatedCards, look: Callable[..., Found], tmp_path: Path
) -> None:
    (simulated.folder / "processes.csv").unlink()
    assert "can not be known" in look()["card 0 processes"].text


def test_locks_that_can_not_be_kept(look: Callable[..., Found], tmp_path: Path, sides: SimulatedSides) -> None:
    (tmp_path / "file").write_text("")
    found = look(ZL_BENCH_LOCKS=str(tmp_path / "file"))
    assert not found["card 0 lock"].good
    assert "ZL_BENCH_LOCKS" in found["card 0 lock"].text
    assert sides.made == []


def test_sides_that_do_not_start_end_the_examination(
    look: Callable[..., Found], sides: SimulatedSides, simulated: SimulatedCards
) -> None:
    sides.options["unfit"] = "The before side can not start: no triton; see /tmp/x.log and `zl-bench doctor`."
    found = look("SWITCH", cards=2)
    assert found["interpreter"] == Finding(
        "interpreter",
        False,
        "The before side can not start: no triton",
        f"install them into /usr/bin/python: {doctor_cards.FOR_A_CARD}",
    )
    assert list(found)[-1] == "interpreter"
    assert is_free(simulated, 0)


def test_a_card_that_does_not_say_what_it_compiles_for(look: Callable[..., Found], sides: SimulatedSides) -> None:
    sides.options["card_target"] = None
    found = look()
    assert not found["card 0 target"].good
    assert found["card 0 target"].remedy
    assert ".log" not in found["card 0 target"].text
    assert sides.made[0].asked_of_timer == []


def test_a_device_that_importing_has_opened_is_told(look: Callable[..., Found], sides: SimulatedSides) -> None:
    opened = {"before": {**versions(Path("/nowhere")), "opened": ["/dev/simulated0"]}}
    sides.options["found"] = opened
    assert "/dev/simulated0" in look()["card 0 imports"].text


def test_a_self_test_without_an_answer(look: Callable[..., Found], sides: SimulatedSides) -> None:
    sides.options["timer"] = ProcessOutcome("timeout", detail="more than 300 s")
    found = look()
    assert not found["card 0 timer"].good
    assert "timeout more than 300 s" in found["card 0 timer"].text


def test_a_torch_that_finds_no_device(look: Callable[..., Found], sides: SimulatedSides) -> None:
    sides.options["timer"] = answer(reason="no cuda device to use", card=None, clock=None)
    found = look()
    assert found["card 0 timer"].text == "no cuda device to use"
    assert "card 0" not in found


def test_the_vendor_s_device_is_timed_by_what_it_bears(look: Callable[..., Found], sides: SimulatedSides) -> None:
    look()
    assert sides.made[0].asked_of_timer == [("cuda", ("direct", "queued", "graph"))]


def test_no_graph_is_replayed_where_that_is_known_to_wedge_a_card() -> None:
    assert methods_for(backend_named("nvidia")) == ("direct", "queued", "graph")
    assert methods_for(backend_named("mthreads")) == ("direct", "queued")
    assert methods_for(backend_named("arm")) == ("direct",)
    assert all("graph" not in methods_for(one) for one in BACKENDS if "graphs" in one.timing_lacks)
