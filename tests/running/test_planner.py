"""A run's directory and inputs."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.inside.zl_probe import case
from zl_bench.model import Pin
from zl_bench.running.planner import Continuation, RunPlan, Timing, prepare, prepare_next

PIN = Pin("_matmul", "(64,)", "BLOCK: 32", 1, 4, "first")


def plan_for(directory: Path) -> RunPlan:
    return RunPlan(
        operator="matmul",
        dtype="float16",
        node="test_matmul.py::test_matmul",
        side="after",
        directory=directory,
        suite="builtin",
        rootdir=Path("/suite"),
        pytest_args=("-c", "/dev/null"),
        target="cuda:90",
        stages="all",
        dropped_pass={"name": "pipeline", "occurrence": 2},
        pin_mode="replay",
        pins=(PIN,),
    )


def test_the_probe_reads_what_was_planned(tmp_path: Path) -> None:
    run = tmp_path / "root" / "matmul.float16_after"
    given = case.load_input(str(prepare(plan_for(run), {"A": "1"})))
    assert given == {
        "wire": 1,
        "operator": "matmul",
        "dtype": "float16",
        "side": "after",
        "node": "test_matmul.py::test_matmul",
        "suite": "builtin",
        "rootdir": "/suite",
        "pytest_args": ["-c", "/dev/null"],
        "target": "cuda:90",
        "stages": "all",
        "drop_pass": {"name": "pipeline", "occurrence": 2},
        "pins": {
            "mode": "replay",
            "records": [asdict(PIN)],
        },
        "caches": {"TRITON_CACHE_DIR": f"{run}/cache/triton", "FLAGGEMS_CACHE_DIR": f"{run}/cache/flaggems"},
        "out": str(run),
    }


def test_every_run_has_caches_of_its_own(tmp_path: Path) -> None:
    caches = []
    for name in ("a_before", "a_after"):
        given = json.loads(prepare(plan_for(tmp_path / name), {}).read_text())
        caches += given["caches"].values()
    assert len(set(caches)) == 4


def test_the_environment_is_written_down_without_secrets(tmp_path: Path) -> None:
    prepare(plan_for(tmp_path / "run"), {"A": "1", "HF_TOKEN": "hunter2", "TRITON_CACHE_DIR": "/elsewhere"})
    text = (tmp_path / "run" / "env.json").read_text()
    assert "hunter2" not in text
    written = json.loads(text)
    assert written["side"] == "after"
    assert written["environment"]["A"] == "1"
    assert written["environment"]["TRITON_CACHE_DIR"] == f"{tmp_path}/run/cache/triton"


def test_what_an_earlier_attempt_left_is_gone(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "ir").mkdir(parents=True)
    (run / "input.json").write_text("{}")
    (run / "events.jsonl").write_text('{"event": "row"}\n')
    prepare(plan_for(run), {})
    assert sorted(path.name for path in run.iterdir()) == ["env.json", "input.json"]


def test_a_disk_that_refuses_is_the_environment_s_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentUnfit, match=r"matmul can not be prepared .* kept; .* --resume"):
        prepare(plan_for(tmp_path / "file" / "run"), {})


def test_a_file_in_the_way_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(UsageError, match="Nothing was removed"):
        prepare(plan_for(tmp_path / "run"), {})


def test_a_folder_that_is_no_run_s_is_never_removed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("precious")
    with pytest.raises(UsageError, match="--root"):
        prepare(plan_for(tmp_path / "run"), {})
    assert (tmp_path / "run" / "thesis.txt").read_text() == "precious"


def test_no_dtype_and_no_pins(tmp_path: Path) -> None:
    plan = replace(plan_for(tmp_path / "run"), dtype=None, dropped_pass=None, pin_mode="first", pins=())
    given = json.loads(prepare(plan, {}).read_text())
    assert given["dtype"] is None
    assert given["drop_pass"] is None
    assert given["pins"] == {"mode": "first", "records": []}


def test_timing_and_numerics_are_asked_for_where_they_are_planned(tmp_path: Path) -> None:
    plan = replace(plan_for(tmp_path / "run"), target=None, timing=Timing("graph", "warm", True), numerics=True)
    plan = replace(plan, device="musa")
    given = case.load_input(str(prepare(plan, {})))
    assert given["timing"] == {"method": "graph", "l2": "warm", "baseline": True}
    assert given["numerics"] is True
    assert given["device"] == "musa"
    assert given["target"] is None


def test_without_a_target_no_card_is_hidden(tmp_path: Path) -> None:
    prepare(replace(plan_for(tmp_path / "run"), target=None), {"CUDA_VISIBLE_DEVICES": "GPU-a"})
    written = json.loads((tmp_path / "run" / "env.json").read_text())
    assert written["environment"]["CUDA_VISIBLE_DEVICES"] == "GPU-a"


def test_a_further_process_goes_on_in_the_same_directory(tmp_path: Path) -> None:
    run = tmp_path / "run"
    plan = replace(plan_for(run), pin_mode="tune", timing=Timing("graph", "cold"))
    first = prepare(plan, {})
    (run / "events.jsonl").write_text("what the first process left")
    own = replace(PIN, key="(128,)", how="tuned")
    second = prepare_next(plan, Continuation(17, {3: ("graph",), 17: ("graph", "queued")}, True), [own], 2)
    assert sorted(path.name for path in run.iterdir()) == ["env.json", "events.jsonl", "input.2.json", "input.json"]
    assert (run / "events.jsonl").read_text() == "what the first process left"
    before, after = case.load_input(str(first)), case.load_input(str(second))
    assert after["continue"] == {
        "from_call": 17,
        "avoid": {"3": ["graph"], "17": ["graph", "queued"]},
        "queue_rest": True,
    }
    assert after["pins"] == {"mode": "tune", "records": [asdict(PIN), asdict(own)]}
    assert not {*before["caches"].values()} & {*after["caches"].values()}
    assert after["caches"]["TRITON_CACHE_DIR"].startswith(f"{run}/")
    for name in ("continue", "pins", "caches"):
        before.pop(name, None)
        after.pop(name)
    assert before == after


def test_a_full_disk_for_a_further_process(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match="can not be prepared"):
        prepare_next(plan_for(tmp_path / "absent"), Continuation(0, {}), [], 2)
