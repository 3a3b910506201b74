"""Runs of one side on simulated cards."""

from __future__ import annotations

import asyncio
import io
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from tests.fleet.simulated import SimulatedCards, simulated_cards
from tests.workflow.simulated import EXITED, Given, equal
from tests.workflow.simulated_sides import Floor, card_plan, given_of
from zl_bench.errors import DeadAxis, UsageError
from zl_bench.model import Latency, ProcessOutcome
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.planner import Timing
from zl_bench.running.switch import parse_switch
from zl_bench.store.request import read_request
from zl_bench.suites.base import Entry
from zl_bench.workflow import run as workflow
from zl_bench.workflow.run import OperatorRuns, RunsPlan, described, exit_code

TIMING = Timing("queued", "cold", baseline=True)
SHARED = "root target cards wait backend suite entries interpreter inherited env timeout memory first_dtype shapes resume force"


@pytest.fixture
def simulated(tmp_path: Path) -> SimulatedCards:
    return simulated_cards(tmp_path / "machine")


@pytest.fixture
def floor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Floor:
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")
    floor = Floor(triton)
    monkeypatch.setattr(workflow, "SideServers", floor.open)
    return floor


def plan_of(root: Path, simulated: SimulatedCards, switch: str | None = None, **changed: Any) -> RunsPlan:
    own = {name: changed.pop(name) for name in ("side", "timing") if name in changed}
    settled = card_plan(root, simulated, **changed)
    shared = {name: getattr(settled, name) for name in SHARED.split()}
    parsed = parse_switch(switch) if switch is not None else None
    return RunsPlan(**{**shared, "side": "before", "switch": parsed, "timing": TIMING, **own})


def run(plan: RunsPlan) -> tuple[tuple[OperatorRuns, ...], str]:
    console = Console(file=io.StringIO(), width=1000)
    plan.root.mkdir(exist_ok=True)
    with ProgressReporter(len(plan.entries), console) as progress:
        done = asyncio.run(workflow.run_operators(plan, progress))
    return done, console.file.getvalue()  # type: ignore[attr-defined]


def test_one_build_as_it_is(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done, told = run(plan_of(root, simulated))
    assert [operator.entry.text for operator in done] == ["one", "two"]
    assert exit_code(done) == 0
    assert sorted(path.name for path in root.glob("*_*/")) == ["one_before", "two_before"]
    assert all(set(servers.plans) == {"before"} for servers in floor.servers)
    for given in given_of(floor):
        assert given["timing"] == {"method": "queued", "l2": "cold", "baseline": True}
        assert given["pins"] == {"mode": "tune", "records": []}
        assert given["drop_pass"] is None
        assert "numerics" in given
    written = json.loads((root / "one_before" / "env.json").read_text())
    assert "SWITCH" not in written["environment"]
    assert "[2/2]" in told


def test_operators_go_to_every_card(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    run(plan_of(tmp_path / "root", simulated, operators=tuple("abcdefgh")))
    assert {card for card, _, _ in floor.ran} == {"SIM-a0000", "SIM-b1000"}


def test_one_side_of_a_switch(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(plan_of(root, simulated, "SWITCH=a..b", side="after"))
    written = json.loads((root / "one_after" / "env.json").read_text())
    assert (written["side"], written["environment"]["SWITCH"]) == ("after", "b")
    assert {given["side"] for given in given_of(floor)} == {"after"}


def test_the_sides_of_a_switch_may_share_a_root(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    root = tmp_path / "root"
    for side in ("before", "after"):
        run(plan_of(root, simulated, "SWITCH", side=side))
        request = read_request(root, f"run_{side}.json")
        assert request is not None
        assert (request.switch, request.side, request.timing, request.configs) == ("SWITCH", side, "queued", "tune")
    assert sorted(path.name for path in root.glob("one_*")) == ["one_after", "one_before"]


def test_a_pass_is_left_out_after_only(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    run(plan_of(tmp_path / "a", simulated, "pass:pipeline", side="before"))
    run(plan_of(tmp_path / "b", simulated, "pass:pipeline", side="after"))
    assert [given["drop_pass"] for given in given_of(floor)] == [None] * 2 + [
        {"name": "pipeline", "occurrence": None}
    ] * 2


def test_a_dead_switch_runs_nothing(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    with pytest.raises(DeadAxis, match="INVENTED is dead"):
        run(plan_of(tmp_path / "root", simulated, "INVENTED", side="after"))
    assert floor.ran == []
    _, told = run(plan_of(tmp_path / "forced", simulated, "INVENTED", side="after", force=True))
    assert "going on because of --force" in told


def test_one_build_of_two_needs_no_other_to_be_alive(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    run(plan_of(tmp_path / "root", simulated, f"build:{tmp_path}/a..{tmp_path}/b", side="after"))
    assert floor.servers[0].plans["after"].interpreter == tmp_path / "b"


def test_the_suite_is_told_to_run_its_baseline(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "root", simulated)
    plan = replace(plan, suite=replace(plan.suite, pytest_args=("-a",), baseline_args=("--metrics", "latency_base")))
    run(plan)
    assert given_of(floor)[0]["pytest_args"] == ["-a", "--metrics", "latency_base"]


def crash(given: Given) -> ProcessOutcome:
    return ProcessOutcome("signal", 6) if given["operator"] == "one" else EXITED


def half(given: Given) -> list[dict[str, object]]:
    return equal(given)[:-2] if given["operator"] == "one" else equal(given)


def test_resume_skips_what_is_finished_and_runs_again_what_failed(
    simulated: SimulatedCards, floor: Floor, tmp_path: Path
) -> None:
    root = tmp_path / "root"
    floor.simulated = {"record": half, "outcome": crash}
    done, told = run(plan_of(root, simulated))
    assert exit_code(done) == 1
    assert "SIGABRT" in told
    floor.simulated, floor.ran[:] = {}, []
    done, told = run(plan_of(root, simulated, operators=("one", "two", "three"), resume=True))
    assert {operator for _, operator, _ in floor.ran} == {"one", "three"}
    assert exit_code(done) == 0
    assert len(done) == 3
    assert "1 finished operator skipped" in told


def test_without_resume_a_root_is_not_run_into_again(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    root = tmp_path / "root"
    run(plan_of(root, simulated))
    with pytest.raises(UsageError, match=r"already has runs of the before side.*--resume"):
        run(plan_of(root, simulated, operators=("three",)))
    with pytest.raises(UsageError, match="l2 was cold, now warm"):
        run(plan_of(root, simulated, timing=replace(TIMING, l2="warm"), resume=True))


def test_a_screen_s_root_is_not_run_into(simulated: SimulatedCards, floor: Floor, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "screen.json").write_text("{}")
    with pytest.raises(UsageError, match="is the root of a screen"):
        run(plan_of(root, simulated))


def latency(median: float, method: str = "graph", invalid: str = "") -> Latency:
    return Latency(method, "cold", median, median, median, median, 10, invalid=invalid)  # type: ignore[arg-type]


def test_a_run_that_measured_nothing_has_failed_and_says_why() -> None:
    for found, failed in (
        ([latency(0.5), latency(0.5, invalid="zero")], False),
        ([latency(0.5, invalid="zero")], True),
    ):
        run_ = SimpleNamespace(rows=[SimpleNamespace(latency=one) for one in found], failed_rows=[], absence=None)
        assert OperatorRuns(Entry("one", None, ("n",)), (run_,)).failed is failed  # type: ignore[arg-type]


def told_of(*latencies: Latency | None, failed: int = 0, reason: str = "", clean: bool = False) -> str:
    rows = [SimpleNamespace(latency=one) for one in latencies]
    absence = SimpleNamespace(reason=reason, clean=clean) if reason else None
    one = SimpleNamespace(rows=rows, failed_rows=[None] * failed, absence=absence)
    return described(OperatorRuns(Entry("one", "float16", ("n",)), (one,)))  # type: ignore[arg-type]


def test_the_line_about_an_operator() -> None:
    assert told_of(latency(0.5), latency(0.25), latency(2.0)) == "one:float16 3 rows, median 0.5 ms"
    assert told_of(latency(0.001234567)) == "one:float16 1 row, median 0.001235 ms"
    assert told_of(latency(1.0), latency(1.0, "direct"), None, failed=2) == (
        "one:float16 3 rows, 2 failed, 1 without a latency, median 1 ms, 1 not timed by graph"
    )
    assert told_of(latency(float("nan"), invalid="zero")) == "one:float16 1 row, 1 without a latency: zero"
    assert told_of(reason="skipped: no such card", clean=True) == "one:float16 0 rows: skipped: no such card"
