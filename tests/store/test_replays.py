"""What is read back of a replay, whole or cut short."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import ProcessOutcome
from zl_bench.store.replays import Replay, read_replay

DONE = ProcessOutcome("exited")
BEGIN = {"event": "begin", "triton": {"version": "3.6.0", "library_sha256": "ab"}}
STAGE = {"event": "stage", "kernel": "k", "stage": "ttir", "file": "ir/1.ttir", "sha256": "1"}


def event(name: str, **fields: object) -> dict[str, object]:
    return {"event": name, "kernel": "k", **fields}


def a_pass(name: str, *, stage: str = "ttgir", left_out: bool = False) -> dict[str, object]:
    return event("pass", stage=stage, **{"pass": name}, left_out=left_out, file=f"ir/{name}.mlir", sha256="2")


def read(folder: Path, events: list[dict[str, object]], outcome: ProcessOutcome = DONE) -> Replay:
    (folder / "events.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events), encoding="utf-8")
    return read_replay(folder, outcome, folder / "replay.log")


def test_passes_are_numbered_by_name_within_their_stage(tmp_path: Path) -> None:
    events = [
        BEGIN, event("replay"), a_pass("cse", stage="ttir"), STAGE, a_pass("cse"), a_pass("coalesce", left_out=True),
        a_pass("cse"), event("replayed", shared=0, added=["cse", "coalesce", "cse"]), {"event": "end"},
    ]  # fmt: skip
    replay = read(tmp_path, events)
    kernel = replay.kernels["k"]
    labels = [(one.stage, one.name, one.occurrence, one.left_out) for one in kernel.passes]
    assert labels == [
        ("ttir", "cse", 1, False), ("ttgir", "cse", 1, False), ("ttgir", "coalesce", 1, True), ("ttgir", "cse", 2, False),
    ]  # fmt: skip
    assert kernel.failure is None
    assert kernel.added == ("cse", "coalesce", "cse")
    stage = kernel.stage("ttir")
    assert stage is not None and stage.path == tmp_path / "ir/1.ttir"
    assert kernel.stage("ptx") is None
    assert replay.triton["version"] == "3.6.0"


def test_kernels_are_told_apart(tmp_path: Path) -> None:
    events = [BEGIN, event("replay"), a_pass("cse"), event("replayed"), {"event": "replay", "kernel": "l"},
              {**a_pass("cse"), "kernel": "l"}, {"event": "replayed", "kernel": "l"}]  # fmt: skip
    replay = read(tmp_path, events)
    assert [(name, len(one.passes)) for name, one in replay.kernels.items()] == [("k", 1), ("l", 1)]


def test_a_failure_names_stage_and_pass_with_its_cause(tmp_path: Path) -> None:
    failed = event(
        "replay_failed", stage="llir", **{"pass": "to_llvmir"}, message="RuntimeError: failed", cause="error: no"
    )
    failure = read(tmp_path, [BEGIN, event("replay"), STAGE, failed]).kernels["k"].failure
    assert failure is not None
    assert failure.describe() == "fails at llir (to_llvmir): RuntimeError: failed; error: no"


def test_a_process_that_did_not_survive_failed_in_the_pass_that_it_had_begun(tmp_path: Path) -> None:
    events = [BEGIN, event("replay"), event("stage_begins", stage="ttgir"),
              event("pass_begins", stage="ttgir", **{"pass": "pipeline"})]  # fmt: skip
    failure = read(tmp_path, events, ProcessOutcome("signal", 6)).kernels["k"].failure
    assert failure is not None
    assert (failure.stage, failure.in_pass) == ("ttgir", "pipeline")
    assert "signal 6" in failure.message


def test_a_replay_that_compiled_nothing_is_the_environment_s_fault_and_names_the_log(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match=r"ended with 1.*replay\.log"):
        read(tmp_path, [BEGIN], ProcessOutcome("exited", 1))
    with pytest.raises(EnvironmentUnfit, match=r"more than 3 s"):
        read_replay(tmp_path / "nowhere", ProcessOutcome("timeout", detail="more than 3 s"), tmp_path / "replay.log")
