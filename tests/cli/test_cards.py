"""Options about cards, as `screen` and `run` take them. Cards are simulated, and what is started is a stand-in."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.fleet.simulated import MASK, SimulatedCards, simulated_cards
from zl_bench.analysis.axis import AxisState
from zl_bench.backends import vendors
from zl_bench.backends.vendors import BACKENDS
from zl_bench.cli import cards as card_options
from zl_bench.cli import main as edge
from zl_bench.cli import run as run_command
from zl_bench.cli import screen as screen_command
from zl_bench.cli.cards import choose_cards, choose_timing
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet import cards as fleet_cards
from zl_bench.running.planner import Timing
from zl_bench.workflow.liveness import Liveness
from zl_bench.workflow.run import OperatorRuns, RunsPlan
from zl_bench.workflow.screen import ScreenPlan, ScreenResult


@pytest.fixture
def simulated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedCards:
    """A machine with two cards of a vendor of its own; no command of another vendor is found there."""
    simulated = simulated_cards(tmp_path / "machine")
    table = (*BACKENDS, simulated.backend)
    for module in (vendors, card_options, fleet_cards):
        monkeypatch.setattr(module, "all_backends", lambda: table)
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", *vendors.FLAGGEMS_VENDOR):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    only = tmp_path / "bin"
    only.mkdir()
    (only / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", f"{simulated.folder}:{only}")
    return simulated


@dataclass
class Command:
    """Runs a command as a console would; `plans` are what it would have started."""

    name: str
    plans: list[Any] = field(default_factory=list)
    failed: bool = False
    out: str = ""
    err: str = ""

    def __call__(self, *arguments: object) -> int:
        with pytest.MonkeyPatch.context() as patch, CliRunner().isolation() as streams:
            patch.setattr(sys, "argv", ["zl-bench", self.name, *map(str, arguments)])
            with pytest.raises(SystemExit) as end:
                edge.main()
            self.out, self.err = streams[0].getvalue().decode(), streams[1].getvalue().decode()
        assert "Traceback" not in self.err
        return int(end.value.code or 0)

    async def screen(self, plan: ScreenPlan, _: object) -> ScreenResult:
        self.plans.append(plan)
        return ScreenResult((), (), AxisState.LIVE, Liveness(True, "known"))

    async def run_operators(self, plan: RunsPlan, progress: Any) -> tuple[OperatorRuns, ...]:
        self.plans.append(plan)
        progress.note("one 1 row")
        return tuple(Ended(entry, (), self.failed) for entry in plan.entries)


@dataclass(frozen=True)
class Ended(OperatorRuns):
    """An operator that ended well, or not."""

    failed: bool = False  # type: ignore[misc]


@contextlib.contextmanager
def nothing() -> Iterator[None]:
    yield


@pytest.fixture
def screen(simulated: SimulatedCards, monkeypatch: pytest.MonkeyPatch) -> Command:
    command = Command("screen")
    monkeypatch.setattr(screen_command, "run_screen", command.screen)
    monkeypatch.setattr(screen_command, "no_stray_processes", nothing)
    return command


@pytest.fixture
def run(simulated: SimulatedCards, monkeypatch: pytest.MonkeyPatch) -> Command:
    command = Command("run")
    monkeypatch.setattr(run_command, "run_operators", command.run_operators)
    monkeypatch.setattr(run_command, "no_stray_processes", nothing)
    return command


def indices(plan: Any) -> list[int]:
    return [card.index for card in plan.cards]


def test_the_first_vendor_with_a_card_is_taken(simulated: SimulatedCards) -> None:
    found = choose_cards(None, "all", simulated.environment)
    assert (found.backend, found.cards) == (simulated.backend, simulated.cards)


def test_a_vendor_may_be_named_by_flag_or_environment(simulated: SimulatedCards) -> None:
    assert choose_cards("simulated", None, simulated.environment).cards == simulated.cards[:1]
    named = {**simulated.environment, "GEMS_VENDOR": "simulated"}
    assert choose_cards(None, None, named).cards == simulated.cards[:1]
    with pytest.raises(EnvironmentUnfit, match=r"No card of nvidia was found \(nvidia-smi lists none\).*--target"):
        choose_cards("nvidia", None, named)
    with pytest.raises(EnvironmentUnfit, match=r"\(nvidia-smi lists none\)\. Another way\.$"):
        choose_cards("nvidia", None, named, "Another way.")
    with pytest.raises(EnvironmentUnfit, match="No card of arm was found"):
        choose_cards("arm", None, named)


def test_no_card_at_all_names_target(simulated: SimulatedCards) -> None:
    with pytest.raises(EnvironmentUnfit, match=r"looked with nvidia-smi, rocm-smi, .*--target cuda:90"):
        choose_cards(None, None, {"PATH": "/nowhere"})


def test_vendors_commands_are_asked_without_the_mask(tmp_path: Path, simulated: SimulatedCards) -> None:
    """One that respects it would list less than there is, and the mask would be applied twice."""
    script = simulated.folder / "simulated-smi"
    script.write_text(f'#!/bin/sh\n[ -z "${{{MASK}+set}}" ] || exit 1\ncat "{simulated.folder}/$1.csv"\n')
    found = choose_cards(None, "all", {**simulated.environment, MASK: "1"})
    assert found.cards == simulated.cards[1:]


@pytest.mark.parametrize(
    ("method", "l2", "default", "expected"),
    [
        (None, None, None, None),
        ("graph", None, None, Timing("graph", "cold")),
        ("queued", "warm", "graph", Timing("queued", "warm")),
        (None, None, "direct", Timing("direct", "cold")),
        (None, "warm", "graph", Timing("graph", "warm")),
    ],
)
def test_how_rows_are_timed(method: Any, l2: Any, default: Any, expected: Timing | None) -> None:
    assert choose_timing(method, l2, default, baseline=False) == expected


def test_an_l2_policy_is_of_a_timing() -> None:
    with pytest.raises(UsageError, match="add --timing"):
        choose_timing(None, "warm", None, baseline=False)


def test_a_screen_without_a_target_uses_the_first_card(screen: Command, simulated: SimulatedCards) -> None:
    assert screen("--switch", "X") == 0
    (plan,) = screen.plans
    assert (plan.target, plan.cards, plan.backend) == (None, simulated.cards[:1], simulated.backend)
    assert (plan.configs, plan.stages, plan.jobs, plan.timing, plan.wait) == ("tune", "all", 1, None, None)
    assert plan.root.name.startswith("ab_X_")


def test_a_screen_on_several_cards_has_an_operator_on_each(screen: Command, simulated: SimulatedCards) -> None:
    assert screen("--switch", "X", "--cards", "all", "--timing", "graph", "--l2", "warm", "--wait", "0") == 0
    (plan,) = screen.plans
    assert (indices(plan), plan.jobs, plan.wait) == ([0, 1], 2, 0.0)
    assert plan.timing == Timing("graph", "warm", baseline=False)
    assert screen("--switch", "X", "--cards", "1,0", "--jobs", "2") == 0
    assert indices(screen.plans[-1]) == [1, 0]


def test_the_inherited_mask_is_respected(screen: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MASK, "SIM-b")
    assert screen("--switch", "X", "--cards", "all") == 0
    assert screen("--switch", "X", "--cards", "0") == 0
    assert [indices(plan) for plan in screen.plans] == [[1], [1]]
    assert screen("--switch", "X", "--cards", "1") == 2
    monkeypatch.setenv(MASK, "")
    assert screen("--switch", "X") == 3
    assert f"{MASK}= hides every card" in screen.err


def test_the_segment_is_the_vendor_s_of_the_cards(screen: Command) -> None:
    assert screen("--switch", "FLAGTREE_{VENDOR}_RLC") == 0
    assert screen.plans[0].switch.name == "FLAGTREE_SIM_RLC"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "cuda:90", "--cards", "0"), "--cards is for cards"),
        (("--target", "cuda:90", "--wait", "0"), "--wait is for cards"),
        (("--target", "cuda:90", "--timing", "graph"), "--timing is for cards"),
        (("--target", "cuda:90", "--l2", "warm"), "--l2 is for cards"),
        (("--stages", "ttgir"), "a card needs machine code"),
        (("--configs", "first"), "On a card an autotuner tunes"),
        (("--configs", "all"), "On a card an autotuner tunes"),
        (("--l2", "cold"), "add --timing"),
        (("--cards", "all", "--jobs", "3"), "which is 2 here"),
        (("--jobs", "2"), "which is 1 here"),
        (("--cards", "2"), "there is no card 2. There are 0: card 0 (Simulated H1, SIM-a0000), 1: card 1"),
        (("--cards", "0,"), "with commas between them"),
        (("--timing", "best"), "--timing"),
        (("--l2", "tepid"), "--l2"),
        (("--wait", "-1"), "--wait"),
        (("--wait", "inf"), "leave it out to wait"),
        (("--env", f"{MASK}=1"), f"{MASK} is set by --cards"),
        (("--cards", "9" * 5000), "there is no card 99"),
        (("--root", "elsewhere/.."), "the working directory itself"),
        (("--env-after", f"{MASK}=1"), f"{MASK} is set by --cards"),
        (("--timeout", "nan"), "--timeout nan"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_folder(
    screen: Command, arguments: tuple[str, ...], words: str
) -> None:
    assert screen("--switch", "X", *arguments) == 2
    assert words in " ".join(screen.err.split())
    assert list(Path().iterdir()) == []
    assert screen.plans == []


def test_a_card_s_mask_is_no_switch(screen: Command) -> None:
    assert screen("--switch", f"{MASK}=0..1") == 2
    assert f"{MASK} is set by --cards, for one card after the other, and can not be the switch" in " ".join(
        screen.err.split()
    )


def test_a_run_of_one_build(run: Command, simulated: SimulatedCards) -> None:
    assert run("vector_add", "matmul:float16") == 0
    (plan,) = run.plans
    assert (plan.side, plan.switch, plan.target, plan.cards) == ("before", None, None, simulated.cards[:1])
    assert plan.timing == Timing("queued", "cold", baseline=True)
    assert [entry.text for entry in plan.entries] == ["vector_add", "matmul:float16"]
    assert plan.root.parent.name == "runs"
    assert plan.root.name.startswith("run_2")
    assert f"zl-bench summary {plan.root}" in run.out


def test_every_option_of_a_run_arrives(run: Command, simulated: SimulatedCards) -> None:
    code = run(
        "--side", "after", "--switch", "FLAGTREE_{VENDOR}_RLC=a..b", "--cards", "all", "--wait", "5", "--timing", "direct",
        "--l2", "warm", "--env", "A=1", "--root", "some/root", "--timeout", "1.5", "--memory", "3", "--force", "--all",
    )  # fmt: skip
    assert code == 0
    (plan,) = run.plans
    assert (plan.side, plan.switch.name, plan.switch.after) == ("after", "FLAGTREE_SIM_RLC", "b")
    assert (indices(plan), plan.wait, plan.timing) == ([0, 1], 5.0, Timing("direct", "warm", baseline=True))
    assert (plan.env, plan.timeout, plan.memory, plan.force) == ({"A": "1"}, 1.5, 3 << 30, True)
    assert plan.root == Path("some/root").absolute()
    assert {entry.operator for entry in plan.entries} == set(plan.suite.operators)


def test_a_side_s_root_is_named_after_its_axis(run: Command) -> None:
    assert run("--side", "before", "--switch", "pass:pipeline", "vector_add") == 0
    assert run("--side", "before", "--axis", "rlc", "vector_add") == 0
    assert [plan.root.name.rsplit("_", 1)[0] for plan in run.plans] == ["ab_pass-pipeline", "ab_rlc"]
    assert "axis rlc" in run.err


def test_a_failed_run_is_exit_1(run: Command) -> None:
    run.failed = True
    assert run("vector_add") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--target", "cuda:90"), "there is nothing to run"),
        (("--switch", "X"), "--side and --switch"),
        (("--side", "after"), "--side and --switch"),
        (("--side", "after", "--switch", "X", "--axis", "rlc"), "either --switch SWITCH or --axis NAME"),
        (("--side", "after", "--switch", "X=a..b", "--env", "X=c"), "X is the switch under test"),
        (("--env", f"{MASK}=1"), f"{MASK} is set by --cards"),
        (("--side", "after", "--switch", f"{MASK}=0..1"), f"{MASK} is set by --cards"),
        (("--resume",), "name it with --root"),
        (("--resume", "--root", "absent"), "no root of runs of the before side"),
        (("--timing", "none"), "--timing"),
        (("no_such_operator",), "has no operator"),
        (("--memory", "nan"), "nan"),
    ],
)
def test_a_run_that_makes_no_sense_is_refused_and_leaves_no_folder(
    run: Command, arguments: tuple[str, ...], words: str
) -> None:
    assert run(*arguments) == 2
    assert words in " ".join(run.err.split())
    assert list(Path().iterdir()) == []
    assert run.plans == []


def test_a_run_needs_a_card(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert run("vector_add") == 3
    assert "No card was found" in run.err
    assert "What is timed takes a card" in run.err
    assert "name what to compile for" not in run.err  # run has no --target
    assert list(Path().iterdir()) == []


def test_the_help_says_what_numbers_count(screen: Command) -> None:
    assert screen("--help") == 0
    said = " ".join(screen.out.split())
    assert "Numbers count from 0 what an inherited mask (CUDA_VISIBLE_DEVICES …) allows" in said
    assert "On cards it is the number of cards" in said
