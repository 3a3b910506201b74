"""Records of timed runs, as a probe would leave them in a root."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zl_bench.model import ProcessOutcome
from zl_bench.store.layout import run_directory
from zl_bench.store.runs import write_outcome

NODE = "test_mm.py::test_mm"
GRAPH_COLD = {"method": "graph", "l2": "cold"}
BEGIN: dict[str, Any] = {"event": "begin", "wire": 1}
END: dict[str, Any] = {"event": "end", "exit": 0}


def key(detail: str = "64", *, operator: str = "mm", dtype: str = "float16", ordinal: int = 0, node: str = NODE) -> Any:
    return {"node": node, "operator": operator, "dtype": dtype, "ordinal": ordinal, "detail": detail}


def kernel(identifier: str, name: str = "mm_kernel") -> dict[str, Any]:
    return {"event": "kernel", "id": identifier, "name": name, "signature": "{}", "constants": "{}", "attributes": "{}",
            "num_warps": 4, "num_stages": 3, "num_ctas": 1, "shared": 0, "configuration": "", "stages": {}}  # fmt: skip


def row(about: dict[str, Any], *launches: str) -> dict[str, Any]:
    return {"event": "row", **about, "launches": list(launches), "guesses": 0}


def row_failed(about: dict[str, Any], message: str = "out of memory") -> dict[str, Any]:
    return {
        "event": "row_failed",
        **about,
        "phase": "run",
        "message": message,
        "kernel": "",
        "stage": "",
        "whole_test": False,
    }


def latency(about: dict[str, Any], median: Any, role: str = "operator", **changed: Any) -> dict[str, Any]:
    return {"event": "latency", **about, "call": 0, "role": role, **GRAPH_COLD, "median_ms": median, "q1_ms": median,
            "q3_ms": median, "min_ms": median, "samples": 50, "warmup_ms": 25.0, "launch_bound": False, "invalid": "",
            "fell_back": [], "before": None, "after": None, **changed}  # fmt: skip


def abandoned(about: dict[str, Any], method: str = "graph", why: str = "poisoned") -> dict[str, Any]:
    return {
        "event": "abandoned",
        "call": 0,
        **about,
        "role": "operator",
        "method": method,
        "why": why,
        "message": "no capture",
    }


def timed_row(about: dict[str, Any], median: Any, torch: Any = None, **changed: Any) -> list[dict[str, Any]]:
    """The events of one row that was timed, with its baseline's before it where `torch` is given."""
    baseline = [] if torch is None else [latency(about, torch, "baseline")]
    return [*baseline, row(about), latency(about, median, **changed)]


def write_run(
    directory: Path, events: Sequence[dict[str, Any]], *, timing: Any = GRAPH_COLD, **given: Any
) -> Path:  # fmt: skip
    """Write a run's record; `given` are fields of its input.json."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps({"t": 1.0, **event}) + "\n" for event in events)
    (directory / "events.jsonl").write_text(lines, encoding="utf-8")
    asked = {} if timing is None else {"timing": timing}
    record = {"operator": "mm", "dtype": None, "node": NODE, "side": "before", **asked, **given}
    (directory / "input.json").write_text(json.dumps(record), encoding="utf-8")
    write_outcome(directory, ProcessOutcome("exited"))
    return directory


def record_run(
    root: Path, side: Any, *rows: Sequence[dict[str, Any]], operator: str = "mm", node: str = NODE, several: bool = False,
    timing: Any = GRAPH_COLD, folder: Any = None, t: float = 1.0,
) -> Path:  # fmt: skip
    """A whole run of an operator in a root, with the events of its rows between its first and its last."""
    events = [{**BEGIN, "t": t}, *(event for events in rows for event in events), END]
    directory = run_directory(root, operator, None, folder or side, node, several=several)
    return write_run(directory, events, timing=timing, operator=operator, node=node, side=side)
