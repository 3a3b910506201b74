"""Roots and results as a card would leave them, made up, for the tests of what reads them."""

from __future__ import annotations

import hashlib
import json

NODE = "benchmark/test_softmax.py::test_softmax"
TTGIR = 'module attributes {{"ttg.num-warps" = 4 : i32}} {{\n  tt.func public @{name}() {{\n    tt.return\n  }}\n}}\n'


def key(detail, *, operator="softmax", dtype="float16", ordinal=0):
    return {"node": NODE, "operator": operator, "dtype": dtype, "ordinal": ordinal, "detail": detail}


def pin(tuner, configuration):
    told = {"tuner": tuner, "key": "(64,)", "configuration": configuration, "position": 1, "candidates": 4}
    return {"event": "pin", **told, "how": "tuned", "origin": ""}


def latency(row, method="graph", median_ms=0.01, **more):
    told = {"method": method, "l2": "cold", "median_ms": median_ms, "q1_ms": median_ms, "q3_ms": median_ms}
    told |= {"min_ms": median_ms, "samples": 10, "invalid": "", "fell_back": [], "launch_bound": False}
    return {"event": "latency", **row, "call": 0, "role": "operator", **told, "before": None, "after": None, **more}


def write_run(folder, events, *, names=("kernel",), timing=False):
    """A run's directory: events between a begin and an end, with one kernel for each name, `k0`, `k1` …"""
    (folder / "ir").mkdir(parents=True)
    kernels = []
    for number, name in enumerate(names):
        content = TTGIR.format(name=name).encode()
        (folder / "ir" / f"{number}.ttgir").write_bytes(content)
        stage = {"file": f"ir/{number}.ttgir", "sha256": hashlib.sha256(content).hexdigest()}
        told = {"name": name, "signature": "[]", "constants": "{}", "attributes": "{}", "num_warps": 4}
        told |= {"num_stages": 2, "num_ctas": 1, "shared": 0, "configuration": "", "stages": {"ttgir": stage}}
        kernels.append({"event": "kernel", "id": f"k{number}", **told})
    versions = {"python": "3.12.3", "torch": {"version": "2.11.0"}, "triton": {"version": "3.6.0"}}
    begin, end = {"event": "begin", **versions}, {"event": "end", "exit": 0, "message": "", "stopped": "", "unrun": []}
    lines = [begin, *kernels, *events, {**end, "cached_kernels": len(kernels)}]
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = {"timing": {"method": "graph", "l2": "cold", "baseline": False}} if timing else {}
    (folder / "input.json").write_text(json.dumps({"operator": NODE, "dtype": None, "node": NODE, **asked}))
    (folder / "outcome.json").write_text(json.dumps({"kind": "exited", "code": 0, "detail": ""}))


def row(detail, *launches, guesses=0):
    return {"event": "row", **key(detail), "launches": list(launches), "guesses": guesses}


def verdict(word="NO_IR_DIFF", rows=1, seconds=2.0, status="complete", **more):
    told = {"operator": NODE, "dtype": "-", "verdict": word, "rows": rows, "changed_rows": 0, "seconds": seconds}
    return {**told, "status": status, "reason": "", "numerics": "same", **more}


def paired(detail, numerics):
    return {"key": key(detail), "numerics": numerics}


def write_record(root, *rows):
    """screen.jsonl with the one operator."""
    (root / "screen.jsonl").write_text(
        json.dumps({**verdict(rows=len(rows)), "nodes": [{"paired": list(rows)}]}) + "\n"
    )


def run_record(rows, kernels=(("kernel", "aa"),), **more):
    """What card_roots makes of a run: `rows` by detail, with the places of their kernels, each a (name, fingerprint)."""
    identity = {
        "signature": "[]",
        "constants": "{}",
        "attributes": "{}",
        "num_warps": 4,
        "num_stages": 2,
        "num_ctas": 1,
    }
    told = [{**identity, "name": name, "configuration": "", "ttgir": ttgir} for name, ttgir in kernels]
    lines = [
        {"key": list(key(detail).values()), "launches": list(places), "guesses": 0, "latency": None}
        for detail, places in rows.items()
    ]
    return {"kernels": told, "rows": lines, "failed": [], "absence": "", "pins": [], "missing_pins": [], **more}


def operator_line(part, name="softmax", *, seconds=2.0, word="NO_IR_DIFF", differs=(), before=None, after=None, **more):
    """A line of results.jsonl of one of the screens."""
    run = run_record({"[64]": [0]})
    numerics = {"same": 1, "without": 0, "differs": list(differs)}
    told = {"kind": "operator", "part": part, "name": name, "sitting": f"{part}-1", "node": NODE, "numerics": numerics}
    told["verdict"] = verdict(word, seconds=seconds, **more)
    return {**told, "before": before or run, "after": after or before or run}


def plain_line(name="softmax", *, seconds=(4.0, 5.0), ended=0, rows=1):
    runs = [{"seconds": each, "exit": ended, "rows": rows, "end": ""} for each in seconds]
    return {"kind": "operator", "part": "plain", "name": name, "sitting": "plain-1", "dtype": "float16", "runs": runs}


def sitting_line(part, wall=10.0):
    told = {"kind": "sitting", "part": part, "sitting": f"{part}-1", "command": "zl-bench screen", "wall": wall}
    told |= {"date": "2026-01-01T00:00:00+00:00", "commit": "c0ffee", "machine": "a processor", "load": 0.5}
    return {**told, "versions": {"torch": "2.11.0"}, "cards": [{"name": "a card", "uuid": "GPU-1"}], "others": []}
