"""One operator's pair: the order of its runs, their inputs, and the pins that go from one to the other."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.workflow.simulated import EXITED, Given, SimulatedServers, changed, equal, events, plan_for
from zl_bench.model import JudgedOperator, Pin, ProcessOutcome, Side, Status, Verdict
from zl_bench.store.runs import read_outcome
from zl_bench.suites.base import Entry
from zl_bench.workflow.pair import PairSettings, screen_operator
from zl_bench.workflow.screen import side_plans

PIN: dict[str, Any] = {"tuner": "k", "key": "(1,)", "configuration": "B: 1", "position": 1, "candidates": 4}
ONE = Entry("one", None, ("test_one.py::test_one",))


def settings(root: Path, switch: str = "SWITCH=a..b", self_check: bool = False) -> PairSettings:
    plan = plan_for(root, switch)
    return PairSettings(root, plan.suite, plan.switch, "cuda:90", "all", "first", "ttgir", 7.0, self_check)


def screen(
    given: PairSettings, servers: SimulatedServers, entry: Entry = ONE, pins: tuple[Pin, ...] | None = None
) -> JudgedOperator:
    return asyncio.run(screen_operator(entry, given, servers, pins))  # type: ignore[arg-type]


def servers_for(root: Path, **simulated: Any) -> SimulatedServers:
    return SimulatedServers(side_plans(plan_for(root)), **simulated)


def with_pins(given: Given) -> list[dict[str, object]]:
    how = "replayed" if given["pins"]["mode"] == "replay" else "first"
    return events(given, equal_text(), [{**PIN, "how": how}])


def equal_text() -> str:
    return 'module attributes {"ttg.num-warps" = 4 : i32} {\n  tt.func public @k() {\n    tt.return\n  }\n}\n'


def test_before_chooses_and_after_replays(tmp_path: Path) -> None:
    servers = servers_for(tmp_path, record=with_pins)
    judged = screen(settings(tmp_path), servers)
    assert [(run["side"], run["pins"]["mode"]) for run in servers.runs] == [("before", "first"), ("after", "replay")]
    assert servers.runs[0]["pins"]["records"] == []
    assert servers.runs[1]["pins"]["records"] == [{**PIN, "how": "first", "origin": ""}]
    assert judged.verdict.verdict is Verdict.NO_IR_DIFF
    assert judged.verdict.pins == "first 1/4"


def test_a_tunerless_after_side_replays_too(tmp_path: Path) -> None:
    """It must never tune, even if before had no tuner."""
    servers = servers_for(tmp_path)
    screen(settings(tmp_path), servers)
    assert servers.runs[1]["pins"] == {"mode": "replay", "records": []}


def test_given_pins_are_replayed_on_both_sides(tmp_path: Path) -> None:
    servers = servers_for(tmp_path, record=with_pins)
    screen(settings(tmp_path), servers, pins=(Pin("k", "(1,)", "B: 1", 1, 4, "tuned"),))
    assert [run["pins"]["mode"] for run in servers.runs] == ["replay", "replay"]
    assert servers.runs[0]["pins"]["records"] == [{**PIN, "how": "tuned", "origin": ""}]


def test_a_difference_is_a_change(tmp_path: Path) -> None:
    judged = screen(settings(tmp_path), servers_for(tmp_path, record=changed))
    assert (judged.verdict.verdict, judged.verdict.first_stage) == (Verdict.IR_CHANGED, "ttgir")


def test_runs_lie_where_the_layout_says_with_the_side_s_environment(tmp_path: Path) -> None:
    servers = servers_for(tmp_path)
    screen(settings(tmp_path), servers, replace(ONE, dtype="float16"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.float16_after", "one.float16_before"]
    for side, value in (("before", "a"), ("after", "b")):
        written = json.loads((tmp_path / f"one.float16_{side}" / "env.json").read_text())
        assert written["environment"]["SWITCH"] == value
    assert all(run["dtype"] == "float16" for run in servers.runs)


def test_the_runs_of_several_nodes_go_pair_by_pair_into_folders_of_their_own(tmp_path: Path) -> None:
    servers = servers_for(tmp_path)
    judged = screen(settings(tmp_path), servers, Entry("one", None, ("a.py::test_one", "b.py::test_one")))
    assert [(run["node"], run["side"]) for run in servers.runs] == [
        ("a.py::test_one", "before"),
        ("a.py::test_one", "after"),
        ("b.py::test_one", "before"),
        ("b.py::test_one", "after"),
    ]
    assert len({run["out"] for run in servers.runs}) == 4
    assert judged.verdict.rows == 2
    assert [node.node for node in judged.nodes] == ["a.py::test_one", "b.py::test_one"]


def test_a_pass_is_left_out_after(tmp_path: Path) -> None:
    servers = servers_for(tmp_path)
    screen(settings(tmp_path, "pass:pipeline@2"), servers)
    assert [run["drop_pass"] for run in servers.runs] == [None, {"name": "pipeline", "occurrence": 2}]


def test_a_self_check_repeats_before_with_its_own_pins(tmp_path: Path) -> None:
    servers = servers_for(tmp_path, record=with_pins)
    screen(settings(tmp_path, self_check=True), servers)
    runs = [(Path(run["out"]).name, run["side"], run["pins"]["mode"]) for run in servers.runs]
    assert runs == [
        ("one_before", "before", "first"),
        ("one_after", "after", "replay"),
        ("one_again", "before", "replay"),
    ]


def test_a_self_check_finds_what_differs_from_itself(tmp_path: Path) -> None:
    def restless(given: Given) -> list[dict[str, object]]:
        return changed({**given, "side": "before" if given["out"].endswith("_before") else "after"})

    judged = screen(settings(tmp_path, self_check=True), servers_for(tmp_path, record=restless))
    assert judged.verdict.unstable_kernels == 1
    assert judged.verdict.verdict is Verdict.NO_IR_DIFF


def test_the_time_limit_is_passed_on_and_the_outcome_kept(tmp_path: Path) -> None:
    late = ProcessOutcome("timeout", detail="more than 7 s")
    servers = servers_for(tmp_path, outcome=lambda _: late, record=lambda given: equal(given)[:-2])
    judged = screen(settings(tmp_path), servers)
    assert {run["timeout"] for run in servers.runs} == {7.0}
    assert read_outcome(tmp_path / "one_before") == late
    assert judged.verdict.failed_runs == 2
    assert judged.verdict.status is Status.FAILED


def test_a_side_without_rows_is_no_rows(tmp_path: Path) -> None:
    judged = screen(settings(tmp_path), servers_for(tmp_path, record=lambda _: []))
    assert judged.verdict.verdict is Verdict.NO_ROWS
    assert judged.verdict.reason


class FollowingServers(SimulatedServers):
    """Simulated sides of which an after side that follows never ends by itself, unless the before side's run is whole."""

    async def run(self, side: Side, input_file: Path, timeout: float) -> ProcessOutcome:
        outcome = await super().run(side, input_file, timeout)
        if side == "after" and self.runs[-1]["pins"].get("follow"):
            await asyncio.sleep(0 if self.whole else 600)
        return outcome

    whole = True


def at_once(root: Path, servers: SimulatedServers) -> JudgedOperator:
    return screen(replace(settings(root), at_once=True), servers)


def modes(servers: SimulatedServers) -> list[tuple[str, bool]]:
    return [(run["side"], bool(run["pins"].get("follow"))) for run in servers.runs]


def test_both_sides_at_once(tmp_path: Path) -> None:
    servers = FollowingServers(side_plans(plan_for(tmp_path)))
    assert at_once(tmp_path, servers).verdict.status is Status.COMPLETE
    assert sorted(modes(servers)) == [("after", True), ("before", False)]


def test_an_after_side_does_not_wait_for_one_that_has_ended_early(tmp_path: Path) -> None:
    killed = ProcessOutcome("signal", 9)
    servers = FollowingServers(
        side_plans(plan_for(tmp_path)), outcome=lambda given: killed if given["side"] == "before" else EXITED
    )
    servers.whole = False
    at_once(tmp_path, servers)
    assert modes(servers)[-1] == ("after", False)


def test_waiting_is_not_on_the_account_of_the_after_side(tmp_path: Path) -> None:
    late = ProcessOutcome("timeout", detail="more than 7 s")
    servers = FollowingServers(
        side_plans(plan_for(tmp_path)), outcome=lambda given: late if given["pins"].get("follow") else EXITED
    )
    assert at_once(tmp_path, servers).verdict.status is Status.COMPLETE
    assert modes(servers)[-1] == ("after", False)
