"""Sides that are simulated: they write the records that runs would leave, and start no process."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zl_bench.backends.vendors import backend_named
from zl_bench.errors import EnvironmentUnfit
from zl_bench.inside.zl_probe.wire import EVENTS_FILE
from zl_bench.model import OperatorVerdict, ProcessOutcome, Side, Status, Verdict
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import parse_switch
from zl_bench.suites.base import Entry, Suite
from zl_bench.workflow.screen import ScreenPlan

EXITED = ProcessOutcome("exited", 0)
Given = Mapping[str, Any]


def versions(folder: Path, library: str = "1" * 64) -> dict[str, Any]:
    """What a side's server says of its Triton, whose package is `folder`."""
    triton = {"version": "3.6.0", "path": str(folder), "library": "/lib/libtriton.so", "library_sha256": library}
    return {"triton": triton, "torch": {"version": "2.13", "cuda": None, "hip": None}, "python": "3.11.7",
            "interpreter": "/usr/bin/python"}  # fmt: skip


def events(given: Given, ttgir: str, pins: list[dict[str, object]] | None = None) -> list[dict[str, object]]:
    """The record of a run with one row that launched one kernel."""
    stage = Path(given["out"]) / "ir" / "k.ttgir"
    stage.parent.mkdir(parents=True, exist_ok=True)
    stage.write_text(ttgir, encoding="utf-8")
    kernel = {"id": "1", "name": "k", "signature": "{}", "constants": "{}", "attributes": "{}", "num_warps": 4,
              "num_stages": 1, "num_ctas": 1, "shared": 0, "configuration": "",
              "stages": {"ttgir": {"file": "ir/k.ttgir", "sha256": ""}}}  # fmt: skip
    row = {"node": given["node"], "operator": given["operator"], "dtype": "float32", "ordinal": 0, "detail": "n=1",
           "launches": ["1"], "guesses": 0}  # fmt: skip
    return [
        {"event": "begin", "wire": 1, "pid": 1},
        {"event": "collected", "nodes": [given["node"]]},
        *({"event": "pin", **pin} for pin in pins or ()),
        {"event": "compile", "kernel": "k", "seconds": 0.1, "cached": False},
        {"event": "kernel", **kernel},
        {"event": "row", **row},
        *([_latency(given, row)] if given.get("timing") else ()),
        {"event": "test", "node": given["node"], "outcome": "passed", "message": ""},
        {"event": "end", "exit": 0, "message": ""},
    ]


TTGIR = """\
module attributes {{"ttg.num-warps" = 4 : i32}} {{
  tt.func public @k(%x: i32) {{
    x.use %x {{value = {value} : i32}} : i32
    tt.return
  }}
}}
"""


def _latency(given: Given, row: Mapping[str, object]) -> dict[str, object]:
    """A quarter of a millisecond, by the method that was asked for."""
    key = {name: row[name] for name in ("node", "operator", "dtype", "ordinal", "detail")}
    times = dict.fromkeys(("median_ms", "q1_ms", "q3_ms", "min_ms"), 0.25)
    asked = {name: given["timing"][name] for name in ("method", "l2")}
    return {"event": "latency", **key, "call": 1, "role": "operator", "samples": 9, **times, **asked}


def equal(given: Given) -> list[dict[str, object]]:
    """Both sides generate the same code."""
    return events(given, TTGIR.format(value=0))


def changed(given: Given) -> list[dict[str, object]]:
    """The after side generates other code."""
    return events(given, TTGIR.format(value=int(given["side"] == "after")))


@dataclass
class SimulatedServers:
    """Takes the place of SideServers. `record` says what a run leaves, `outcome` how it ends, `versions` what is found."""

    plans: Mapping[Side, SidePlan]
    record: Callable[[Given], list[dict[str, object]]] = equal
    outcome: Callable[[Given], ProcessOutcome] = lambda _: EXITED
    found: Mapping[Side, dict[str, Any]] = field(default_factory=dict)
    pipeline: tuple[str, ...] | None = ("add_coalesce", "pipeline", "pipeline")
    card_target: str | None = "cuda:90"
    timer: Mapping[str, Any] | ProcessOutcome = field(default_factory=dict)
    """The answer of the timer's self-test, or how the child ended that should have given it."""
    runs: list[Given] = field(default_factory=list)
    unfit: str = ""
    asked_of_timer: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    async def __aenter__(self) -> SimulatedServers:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def start(self) -> Mapping[Side, dict[str, Any]]:
        if self.unfit:
            raise EnvironmentUnfit(self.unfit)
        return {side: self.found.get(side) or versions(Path("/nowhere")) for side in self.plans}

    async def server(self, _: Side) -> SimulatedServers:
        return self

    async def run(self, side: Side, input_file: Path, timeout: float) -> ProcessOutcome:
        given = json.loads(input_file.read_text(encoding="utf-8"))
        assert given["side"] == side
        self.runs.append({**given, "timeout": timeout})
        lines = [json.dumps(event) + "\n" for event in self.record(given)]
        (input_file.parent / EVENTS_FILE).write_text("".join(lines), encoding="utf-8")
        return self.outcome(given)

    async def passes(self, target: str, out: Path, timeout: float) -> ProcessOutcome:
        if self.pipeline is None:
            return ProcessOutcome("exited", 70)
        out.write_text(json.dumps({"target": target, "passes": self.pipeline}), encoding="utf-8")
        return EXITED

    async def target(self, out: Path, timeout: float) -> ProcessOutcome:
        if self.card_target is None:
            return ProcessOutcome("exited", 70)
        out.write_text(json.dumps({"target": self.card_target}), encoding="utf-8")
        return EXITED

    async def selftest(self, device: str, methods: Sequence[str], out: Path, timeout: float) -> ProcessOutcome:
        self.asked_of_timer.append((device, tuple(methods)))
        if isinstance(self.timer, ProcessOutcome):
            return self.timer
        out.write_text(json.dumps(self.timer), encoding="utf-8")
        return EXITED


def plan_for(
    root: Path, switch: str = "SWITCH=a..b", operators: tuple[str, ...] = ("one", "two"), **more: Any
) -> ScreenPlan:
    """A plan to screen operators of one node each."""
    entries = []
    for text in operators:
        operator, _, dtype = text.partition(":")
        entries.append(Entry(operator, dtype or None, (f"test_{operator}.py::test_{operator}",)))
    settled: dict[str, Any] = {
        "root": root,
        "switch": parse_switch(switch),
        "target": "cuda:90",
        "backend": backend_named("nvidia"),
        "suite": Suite("small", Path("/suite"), (), modules=("some_module",)),
        "entries": tuple(entries),
        "interpreter": Path("/usr/bin/python"),
        "inherited": {"HOME": "/root"},
        "env": {},
        "env_before": {},
        "env_after": {},
        "stages": "all",
        "configs": "first",
        "pins": None,
        "self_check": False,
        "jobs": 1,
        "timeout": 9.0,
        "resume": False,
        "force": False,
    }
    return ScreenPlan(**{**settled, **more})


def verdict_of(operator: str, dtype: str = "-", verdict: Verdict = Verdict.NO_IR_DIFF, failed_runs: int = 0,
               status: Status = Status.COMPLETE) -> OperatorVerdict:  # fmt: skip
    """A verdict that was reached earlier."""
    return OperatorVerdict(
        operator, dtype, verdict, 1, 0, 1, 0, 0, "-", "-", "none", "", 1.0, status, failed_runs=failed_runs
    )
