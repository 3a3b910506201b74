"""What the doctor finds, on simulated sides."""

from __future__ import annotations

import asyncio
import os
from collections import namedtuple
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.workflow.simulated import SimulatedServers, versions
from zl_bench.backends.vendors import backend_named
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import Side
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import Switch, parse_switch
from zl_bench.workflow import doctor
from zl_bench.workflow.doctor import Finding, diagnose, why

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def examine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Diagnose simulated sides; gives the findings by subject, and the plans of the sides."""
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(0, 0, 10 << 30))

    def run(switch: Switch | None = None, log: str = "", **simulated: Any):
        simulated.setdefault("found", {"before": versions(triton), "after": versions(triton, "2" * 64)})
        plans: dict[Side, SidePlan] = {}

        def make(sides: Mapping[Side, SidePlan]) -> SimulatedServers:
            plans.update(sides)
            for plan in sides.values():
                plan.log.write_text(log)
            return SimulatedServers(sides, **simulated)

        monkeypatch.setattr(doctor, "SideServers", make)
        findings = asyncio.run(diagnose(Path("/usr/bin/python"), "cuda:90", backend_named("nvidia"), switch))
        return {finding.subject: finding for finding in findings}, plans

    return run


def test_a_fit_machine(examine) -> None:
    findings, plans = examine()
    assert list(findings) == ["zl-bench", "disk", "interpreter", "triton", "torch", "target"]
    assert all(finding.good and not finding.remedy for finding in findings.values())
    assert findings["target"].text == "cuda:90 compiles; its TTGIR pipeline adds add_coalesce, pipeline"
    assert "built for the CPU" in findings["torch"].text
    assert list(plans) == ["before"]
    assert plans["before"].environment["CUDA_VISIBLE_DEVICES"] == ""


def test_the_scratch_folder_is_gone_afterwards(examine) -> None:
    _, plans = examine()
    assert not plans["before"].log.parent.exists()


def test_a_live_switch(examine) -> None:
    findings, _ = examine(parse_switch("SWITCH"))
    assert findings["switch"].good
    assert "knobs.py" in findings["switch"].text


@pytest.mark.parametrize("text", ["INVENTED", "pass:invented"])
def test_a_dead_switch_has_a_remedy(examine, text: str) -> None:
    findings, _ = examine(parse_switch(text))
    assert not findings["switch"].good
    assert "--force" in findings["switch"].remedy


def test_two_builds_are_both_started(examine, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    findings, plans = examine(parse_switch(f"build:{tmp_path}/a..{tmp_path}/b"))
    assert [plan.interpreter for plan in plans.values()] == [tmp_path / "a", tmp_path / "b"]
    assert findings["switch"].good


def test_no_torch_is_a_finding(examine, tmp_path: Path) -> None:
    findings, _ = examine(found={"before": {**versions(tmp_path / "triton"), "torch": None}})
    assert findings["torch"] == Finding("torch", False, "can not be imported; suites need it",
                                        "pip install torch (a CPU build is enough with --target)")  # fmt: skip
    assert findings["target"].good


def test_no_triton_ends_the_examination_with_the_log_s_last_words(examine) -> None:
    findings, _ = examine(
        parse_switch("SWITCH"), unfit="The side can not start.", log="first\nNo module named triton\n\n"
    )
    assert list(findings)[-1] == "interpreter"
    assert not findings["interpreter"].good
    assert findings["interpreter"].text == "The side can not start (No module named triton)"
    assert "pip install" in findings["interpreter"].remedy


def test_a_target_that_can_not_be_compiled_for(examine) -> None:
    findings, _ = examine(parse_switch("SWITCH"), pipeline=None, log="no such arch")
    assert list(findings)[-1] == "target"
    assert not findings["target"].good
    assert "could not be listed" in findings["target"].text
    assert findings["target"].text.endswith("(no such arch)")
    assert "--target" in findings["target"].remedy


def test_the_last_words_are_those_of_the_child_that_was_asked(tmp_path: Path) -> None:
    (tmp_path / "before.log").write_text("the server's own\n")
    (tmp_path / "asked-1").mkdir()
    log = tmp_path / "asked-1" / "answer.json.log"
    log.write_text("Traceback\nRuntimeError: no such arch\n\n")
    os.utime(tmp_path / "before.log", (1, 1))
    error = EnvironmentUnfit(f"It could not be listed (exited 70); see {log}.")
    assert why(error, tmp_path) == "It could not be listed (exited 70) (RuntimeError: no such arch)"


def test_a_full_disk_is_a_finding(examine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: Usage(0, 0, 1 << 20))
    findings, _ = examine()
    assert not findings["disk"].good
    assert findings["disk"].text.startswith("0.0 GiB free in")
    assert "make room" in findings["disk"].remedy
