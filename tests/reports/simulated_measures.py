"""Simulated measurements: roots with nothing but rounds, as if `measure` had recorded them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.analysis.made_rounds import row, suite
from zl_bench.analysis.rounds import RoundMedian
from zl_bench.model import RowKey

CARD = {"name": "Simulated H200", "uuid": "GPU-simulated", "driver": "999.1"}
HEADER = {
    "record": "header",
    "format": 1,
    "rounds": 6,
    "delta": 0.01,
    "seed": 7,
    "alternate": "runs",
    "method": "graph",
    "l2": "cold",
    "switch": "pass:accelerate_matmul",
    "card": "Simulated H200",
    "builds": {"before": "ab" * 32, "after": "ab" * 32},
    "suite": "/opt/suite",
    "operators": ["mm"],
    "tool_version": "0.1.0",
    "command": "zl-bench measure /runs/simulated --rounds 6",
    "started": "2026-12-02T13:00:00+00:00",
}
READING = {"clock_mhz": 1980, "memory_clock_mhz": 2619, "temperature_c": 41, "power_w": 310.0, "throttle": []}


def simulated_measure(
    folder: Path,
    medians: Iterable[RoundMedian],
    *,
    clocks: bool = True,
    differing: Sequence[RowKey] = (),
    further: Sequence[dict[str, Any]] = (),
    **header: Any,
) -> Path:
    """A root that holds these rounds; `further` are lines about dropped pairs and stopped operators."""
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = [{**HEADER, **header}]
    by_round: dict[tuple[str, int], list[RoundMedian]] = {}
    for median in medians:
        by_round.setdefault((median.key.operator, median.round), []).append(median)
    for (operator, number), found in by_round.items():
        place = {"entry": operator, "case": "t.py::t", "round": number}
        lines += [{"record": "round", **_line(median, clocks, median.key in differing), **place} for median in found]
        lines.append({"record": "pair", **place, "rows": len(found), "seconds": 1.0})
    text = "".join(json.dumps(line) + "\n" for line in (*lines, *further))
    (folder / "measure.jsonl").write_text(text, encoding="utf-8")
    return folder


def untrusted(folder: Path) -> Path:
    """Rows of identical code that became 5 % faster all together, so that no row of the run can be believed."""
    return simulated_measure(folder, suite([1.05, 1.0], [1.05] * 8))


def nothing_changed(folder: Path) -> Path:
    return simulated_measure(folder, suite([1.0] * 6, [1.0] * 6))


def one_round(folder: Path) -> Path:
    return simulated_measure(folder, suite([1.05, 1.0], [1.0] * 6, rounds=1), rounds=1)


def incomplete(folder: Path) -> Path:
    """One row whose after side is missing in two of its six rounds, and one whose is missing in all."""
    medians = suite([1.05, 1.0, 1.0], [1.0] * 6)
    first, second = (RowKey("", name, "float16", 0, detail) for name, detail in (("op0", "c0"), ("op1", "c1")))
    kept = [
        median
        for median in medians
        if median.side == "before" or not ((median.key == first and median.round > 3) or median.key == second)
    ]
    return simulated_measure(folder, kept)


def single_row(folder: Path) -> Path:
    before, after = [1.0, 1.001, 0.999, 1.0, 1.001, 0.999], [0.9, 0.901, 0.899, 0.9, 0.901, 0.899]
    return simulated_measure(folder, row(before, after, RowKey("t.py::t[64]", "mm", "float16", 0, "64")))


HOSTILE = "<script>alert(1)</script>|`x`*_&amp; λ \u202e#1 @someone\n=1+1"


def hostile_names(folder: Path) -> Path:
    key = RowKey(f"t.py::t[{HOSTILE}]", f"mm{HOSTILE}", "float16", 0, HOSTILE)
    return simulated_measure(folder, row([1.0, 1.001, 0.999], [0.9, 0.901, 0.899], key), rounds=3)


def _line(median: RoundMedian, clocks: bool, differs: bool) -> dict[str, Any]:
    key = median.key
    return {
        "operator": key.operator,
        "dtype": key.dtype,
        "node": key.node,
        "ordinal": key.ordinal,
        "detail": key.detail,
        "round": median.round,
        "side": median.side,
        "median_ms": median.median_ms,
        "identical": median.identical,
        "launch_bound": False,
        "first": "before" if median.round % 2 else "after",
        "method": "graph",
        "l2": "cold",
        "numerics_differ": differs,
        "before": READING if clocks else None,
        "after": READING if clocks else None,
        "card": CARD if clocks else {"name": "", "uuid": "", "driver": ""},
    }
