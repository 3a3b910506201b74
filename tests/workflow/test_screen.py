"""The screen as a whole, on simulated sides."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.workflow.simulated import EXITED, Given, SimulatedServers, changed, equal, plan_for, verdict_of, versions
from zl_bench.analysis.axis import AxisState
from zl_bench.errors import DeadAxis, EnvironmentUnfit, ExitCode, UsageError
from zl_bench.model import OperatorVerdict, ProcessOutcome, Side, Status, Verdict
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.side_server import SidePlan
from zl_bench.store.request import read_request
from zl_bench.suites.base import Entry
from zl_bench.workflow import screen as workflow
from zl_bench.workflow.screen import ScreenPlan, ScreenResult, exit_code, side_plans


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Screen a plan on simulated sides; gives the result, the servers and what was told."""
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")

    def run(plan: ScreenPlan, **simulated: Any) -> tuple[ScreenResult, SimulatedServers, str]:
        made: list[SimulatedServers] = []
        simulated.setdefault("found", {"before": versions(triton), "after": versions(triton)})

        def make(plans: Mapping[Side, SidePlan]) -> SimulatedServers:
            made.append(SimulatedServers(plans, **simulated))
            return made[0]

        monkeypatch.setattr(workflow, "SideServers", make)
        console = Console(file=io.StringIO(), width=500)
        plan.root.mkdir(exist_ok=True)
        with ProgressReporter(len(plan.entries), console) as progress:
            result = asyncio.run(workflow.screen(plan, progress))
        return result, made[0], console.file.getvalue()  # type: ignore[attr-defined]

    return run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def lines(root: Path) -> list[list[str]]:
    return [line.split("\t") for line in (root / "screen.tsv").read_text().splitlines()]


def verdicts(result: ScreenResult) -> dict[str, Verdict]:
    return {verdict.operator: verdict.verdict for verdict in result.verdicts}


def crash(given: Given) -> ProcessOutcome:
    return ProcessOutcome("signal", 6, "SIGABRT") if given["operator"] == "one" else EXITED


def half(given: Given) -> list[dict[str, object]]:
    return equal(given)[:-2] if given["operator"] == "one" else equal(given)


@pytest.mark.parametrize(
    ("judged", "fail_on", "expected"),
    [
        ([], [], 0),
        ([verdict_of("a"), verdict_of("b", verdict=Verdict.IR_CHANGED)], [], 0),
        ([verdict_of("a", verdict=Verdict.NO_ROWS)], [], 0),
        ([verdict_of("a", verdict=Verdict.NO_KERNEL)], [], 0),
        ([verdict_of("a", verdict=Verdict.BROKEN)], [], 1),
        ([verdict_of("a", failed_runs=1)], [], 1),
        ([verdict_of("a", verdict=Verdict.IR_CHANGED)], [Verdict.IR_CHANGED], 10),
        ([verdict_of("a", verdict=Verdict.IR_CHANGED)], [Verdict.BROKEN], 0),
        ([verdict_of("a", verdict=Verdict.BROKEN)], [Verdict.BROKEN], 10),
        ([verdict_of("a", failed_runs=1), verdict_of("b", verdict=Verdict.IR_CHANGED)], [Verdict.IR_CHANGED], 10),
        ([verdict_of("a")], [Verdict.BROKEN, Verdict.NO_IR_DIFF], 10),
    ],
)
def test_exit_codes(judged: list[OperatorVerdict], fail_on: list[Verdict], expected: int) -> None:
    """10 comes before 1."""
    assert exit_code(judged, fail_on) == expected
    assert isinstance(exit_code(judged, fail_on), ExitCode)


def test_the_sides_of_a_variable(root: Path) -> None:
    plan = plan_for(root, "SWITCH=a..b", env={"E": "1"}, env_before={"B": "1"}, env_after={"A": "1"})
    plans = side_plans(plan)
    before, after = dict(plans["before"].environment), dict(plans["after"].environment)
    assert (before.pop("SWITCH"), after.pop("SWITCH")) == ("a", "b")
    assert (before.pop("B"), after.pop("A")) == ("1", "1")
    assert before == after
    assert before["E"] == "1"
    assert before["CUDA_VISIBLE_DEVICES"] == ""
    assert before["HOME"] == "/root"
    assert [plan.interpreter for plan in plans.values()] == [Path("/usr/bin/python")] * 2
    assert [plan.log for plan in plans.values()] == [root / "side_before.log", root / "side_after.log"]
    assert {(plan.target, plan.modules) for plan in plans.values()} == {("cuda:90", ("some_module",))}
    assert [(key, plan.side) for key, plan in plans.items()] == [("before", "before"), ("after", "after")]


def test_every_run_has_its_limit_and_every_server_its_own_caches(root: Path) -> None:
    plans = side_plans(plan_for(root, memory=5))
    assert [plan.memory for plan in plans.values()] == [5, 5]
    assert [plan.caches for plan in plans.values()] == [root / "side_before.cache", root / "side_after.cache"]


def test_a_knob_of_the_user_s_shell_is_left_out_and_told(screen, root: Path) -> None:
    inherited = {
        "HOME": "/root",
        "TRITON_DEBUG": "1",
        "TRITON_INTERPRET": "1",
        "FLAGTREE_RLC_POLICY": "7",
        "SWITCH": "x",
    }
    plan = plan_for(root, inherited=inherited, env={"FLAGTREE_RLC_POLICY": "8"})
    _, _, told = screen(plan)
    assert "not inherited: TRITON_DEBUG, TRITON_INTERPRET;" in told
    environment = side_plans(plan)["before"].environment
    assert "TRITON_DEBUG" not in environment
    assert environment["FLAGTREE_RLC_POLICY"] == "8"
    assert environment["GEMS_VENDOR"] == "nvidia"


def test_one_side_s_own_variables_are_stronger_than_both_sides(root: Path) -> None:
    plans = side_plans(plan_for(root, env={"E": "both"}, env_after={"E": "after"}))
    assert (plans["before"].environment["E"], plans["after"].environment["E"]) == ("both", "after")


def test_the_sides_of_a_build_have_their_interpreters(root: Path, tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    plans = side_plans(plan_for(root, f"build:{paths[0]}..{paths[1]}"))
    assert [plan.interpreter for plan in plans.values()] == paths
    assert plans["before"].environment == plans["after"].environment


def test_a_screen_writes_its_table_and_its_request(screen, root: Path) -> None:
    result, servers, told = screen(plan_for(root), record=changed)
    assert verdicts(result) == {"one": Verdict.IR_CHANGED, "two": Verdict.IR_CHANGED}
    assert result.axis is AxisState.LIVE
    assert result.liveness.known
    assert [line[:3] for line in lines(root)[1:]] == [["one", "-", "IR_CHANGED"], ["two", "-", "IR_CHANGED"]]
    assert len(servers.runs) == 4
    assert "[2/2]" in told
    request = read_request(root)
    assert request is not None
    assert (request.switch, request.operators) == ("SWITCH=a..b", ("one", "two"))
    assert request.extra["before Triton"] == "1" * 64
    assert request.extra["suite folder"] == "/suite"


def test_secrets_given_for_the_runs_are_not_kept_in_the_request(screen, root: Path) -> None:
    plan = plan_for(root, env={"HF_TOKEN": "hunter2"}, env_after={"A": "1"})
    screen(plan)
    assert "hunter2" not in (root / "screen.json").read_text()
    with pytest.raises(UsageError, match="HF_TOKEN") as error:
        screen(replace(plan, resume=True, env={"HF_TOKEN": "other"}))
    assert "hunter2" not in str(error.value)
    screen(replace(plan, resume=True))


def test_nothing_changed_anywhere_is_not_shown_live(screen, root: Path) -> None:
    result, _, _ = screen(plan_for(root))
    assert result.axis is AxisState.NOT_SHOWN_LIVE


def test_a_null_control_is_neither_dead_nor_not_shown_live(screen, root: Path) -> None:
    result, _, _ = screen(plan_for(root, "INVENTED=a..a"))
    assert result.axis is AxisState.NULL_CONTROL


def test_a_dead_axis_ends_before_anything_is_compiled(screen, root: Path) -> None:
    with pytest.raises(DeadAxis, match=r"INVENTED is dead: .* No operator was compiled.* --force"):
        screen(plan_for(root, "INVENTED"))
    assert not list(root.glob("*_before"))
    assert not (root / "screen.tsv").exists()


def test_force_goes_on_and_says_so(screen, root: Path) -> None:
    result, _, told = screen(plan_for(root, "INVENTED", force=True))
    assert result.axis is AxisState.NOT_SHOWN_LIVE
    assert not result.liveness.known
    assert "going on because of --force" in told


def test_a_forced_switch_that_changes_something_is_live(screen, root: Path) -> None:
    result, _, _ = screen(plan_for(root, "INVENTED", force=True), record=changed)
    assert result.axis is AxisState.LIVE


def test_a_root_with_finished_operators_asks_for_resume(screen, root: Path) -> None:
    screen(plan_for(root))
    before = lines(root)
    with pytest.raises(UsageError, match=r"already has 2 finished operators \(one, two\).*--resume"):
        screen(plan_for(root))
    assert lines(root) == before


def test_resume_skips_what_is_finished_and_says_so(screen, root: Path) -> None:
    screen(plan_for(root, operators=("one",)))
    result, servers, told = screen(plan_for(root, resume=True, operators=("one", "two", "three")))
    assert {run["operator"] for run in servers.runs} == {"two", "three"}
    assert set(verdicts(result)) == {"one", "two", "three"}
    assert "--resume: 1 finished operator skipped: one" in told
    assert [line[0] for line in lines(root)[1:]] == ["one", "two", "three"]


def test_resume_runs_a_failed_operator_again(screen, root: Path) -> None:
    result, _, _ = screen(plan_for(root), outcome=crash, record=half)
    assert exit_code(result.verdicts, []) == 1
    result, servers, _ = screen(plan_for(root, resume=True))
    assert {run["operator"] for run in servers.runs} == {"one"}
    assert exit_code(result.verdicts, []) == 0
    assert len(lines(root)) == 3


def test_resume_of_other_operators_keeps_a_failed_one(screen, root: Path) -> None:
    screen(plan_for(root), outcome=crash, record=half)
    result, servers, _ = screen(plan_for(root, resume=True, operators=("two", "three")))
    assert {run["operator"] for run in servers.runs} == {"three"}
    assert {verdict.operator: verdict.status for verdict in result.verdicts}["one"] is Status.FAILED


def test_resume_in_a_fresh_root_screens_everything(screen, root: Path) -> None:
    result, _, told = screen(plan_for(root, resume=True))
    assert len(result.verdicts) == 2
    assert "skipped" not in told


def test_an_operator_and_its_dtype_are_two_entries(screen, root: Path) -> None:
    screen(plan_for(root, operators=("one",)))
    result, servers, _ = screen(plan_for(root, operators=("one:float16",), resume=True))
    assert len(servers.runs) == 2
    assert [(verdict.operator, verdict.dtype) for verdict in result.verdicts] == [("one", "-"), ("one", "float16")]


@pytest.mark.parametrize(
    "other",
    [
        {"target": "cuda:80"},
        {"stages": "ttgir"},
        {"configs": "all"},
        {"self_check": True},
        {"env": {"E": "1"}},
        {"env_after": {"E": "1"}},
        {"switch": plan_for(Path(), "OTHER=a..a").switch},
    ],
)
def test_resume_is_for_the_same_question_only(screen, root: Path, other: dict[str, Any]) -> None:
    screen(plan_for(root, operators=("one",)))
    with pytest.raises(UsageError, match="was screened with other settings"):
        screen(replace(plan_for(root, resume=True), **other))
    assert len(lines(root)) == 2


def test_resume_is_for_the_same_compiler_only(screen, root: Path, tmp_path: Path) -> None:
    screen(plan_for(root, operators=("one",)))
    other = versions(tmp_path / "triton", "2" * 64)
    with pytest.raises(UsageError, match=r"before Triton was 1+, now 2+"):
        screen(plan_for(root, resume=True), found={"before": other, "after": other})


def test_the_time_of_the_first_asking_is_kept(screen, root: Path) -> None:
    screen(plan_for(root, operators=("one",)))
    first = json.loads((root / "screen.json").read_text())
    (root / "screen.json").write_text(json.dumps({**first, "started": "2020-01-01T00:00:00+00:00"}))
    screen(plan_for(root, resume=True))
    request = read_request(root)
    assert request is not None
    assert request.started.startswith("2020")
    assert request.operators == ("one", "two")


def test_a_side_that_can_not_start_ends_the_screen(screen, root: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match="no triton"):
        screen(plan_for(root), unfit="no triton")


def test_an_error_of_one_operator_keeps_the_others(screen, root: Path) -> None:
    def refuse(given: Given) -> list[dict[str, object]]:
        if given["operator"] == "two":
            raise EnvironmentUnfit("disk full")
        return equal(given)

    with pytest.raises(EnvironmentUnfit, match="disk full"):
        screen(plan_for(root, operators=("one", "two", "three")), record=refuse)
    assert [line[0] for line in lines(root)[1:]] == ["one"]
    result, _, _ = screen(plan_for(root, operators=("one", "two", "three"), resume=True))
    assert len(result.verdicts) == 3


def test_an_error_of_the_system_is_no_group_of_errors(screen, root: Path) -> None:
    def refuse(_: Given) -> list[dict[str, object]]:
        raise OSError(24, "Too many open files")

    with pytest.raises(OSError, match="Too many open files"):
        screen(plan_for(root, jobs=2), record=refuse)


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_no_more_operators_at_a_time_than_jobs(jobs: int) -> None:
    running, most, done = 0, 0, []

    async def work(entry: Entry) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1
        done.append(entry.operator)

    entries = [Entry(str(number), None, ()) for number in range(10)]
    asyncio.run(workflow._in_parallel(entries, work, jobs))
    assert most == jobs
    assert len(done) == 10


def test_the_record_of_another_tool_s_line_is_refused_whole(screen, root: Path) -> None:
    screen(plan_for(root, operators=("one",)))
    with (root / "screen.jsonl").open("a") as stream:
        stream.write("{}\n")
    with pytest.raises(UsageError, match="line 2"):
        screen(plan_for(root, resume=True))


def test_a_line_cut_short_is_screened_again(screen, root: Path) -> None:
    screen(plan_for(root))
    text = (root / "screen.jsonl").read_text()
    (root / "screen.jsonl").write_text(text[:-20])
    result, servers, _ = screen(plan_for(root, resume=True))
    assert {run["operator"] for run in servers.runs} == {"two"}
    assert len(result.verdicts) == 2


def test_pins_of_an_earlier_root_are_replayed(screen, root: Path, tmp_path: Path) -> None:
    def tuned(given: Given) -> list[dict[str, object]]:
        pin = {"event": "pin", "tuner": "k", "key": "1", "configuration": "B: 2", "position": 2, "candidates": 4}
        return [*equal(given)[:-1], {**pin, "how": "tuned"}, equal(given)[-1]]

    screen(plan_for(root, operators=("one",)), record=tuned)
    _, servers, _ = screen(plan_for(tmp_path / "second", operators=("one", "two"), pins=root))
    pins = {(run["operator"], run["side"]): run["pins"] for run in servers.runs}
    assert pins["one", "before"]["mode"] == "replay"
    assert pins["one", "before"]["records"][0]["configuration"] == "B: 2"
    assert pins["two", "before"] == {"mode": "replay", "records": []}


def test_many_names_are_not_all_told() -> None:
    told = workflow._names([verdict_of(str(number)) for number in range(7)] + [verdict_of("x", "int8")])
    assert told == "0, 1, 2, 3, 4 …"
    assert workflow._names([verdict_of("x", "int8")]) == "x:int8"
