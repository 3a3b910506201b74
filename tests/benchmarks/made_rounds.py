"""Measured operators as a visit packs them, made up."""

from __future__ import annotations

import random

READING = {"clock_mhz": 1980, "memory_clock_mhz": 3201, "temperature_c": 40, "power_w": 200.0, "throttle": []}


def node_of(name):
    return f"benchmark/test_{name}.py::test_{name}"


def round_line(name, detail, number, side, median_ms, *, identical=True, first="before", method="graph", **more):
    told = {"record": "round", "operator": name, "dtype": "float16", "node": node_of(name), "ordinal": 0}
    told |= {"detail": detail, "round": number, "side": side, "median_ms": median_ms, "identical": identical}
    told |= {"launch_bound": False, "method": method, "l2": "cold", "fell_back": [], "first": first}
    told |= {"before": READING, "after": READING, "card": {"name": "H1", "uuid": "GPU-1", "driver": "580.1"}}
    return {**told, "entry": node_of(name), "case": node_of(name), **more}


def pair_line(name, number, rows, *, seconds=4.0, missing=()):
    told = {"record": "pair", "entry": node_of(name), "case": node_of(name), "round": number, "rows": rows}
    return {**told, "seconds": seconds, "missing": list(missing)}


def record(name, rows, *, rounds=6, sd=0.002, seed=1, mirrored=False, identical=True):
    """A measurement; `rows` has by detail the milliseconds before and the factor of after."""
    chance = random.Random(f"{name} {seed} {mirrored}")
    order = random.Random(f"{name} {seed}")
    header = {"record": "header", "rounds": rounds, "delta": 0.01, "seed": seed, "mirrored": mirrored}
    lines = [{**header, "command": "zl-bench measure /tmp/r"}]
    for number in range(1, rounds + 1):
        for detail, (before, factor) in rows.items():
            first = order.choice(("before", "after"))
            if mirrored:
                first = "after" if first == "before" else "before"
            same = identical if isinstance(identical, bool) else detail in identical
            for side, base in (("before", before), ("after", before * factor)):
                median = base * chance.gauss(1, sd / 2**0.5)
                lines.append(round_line(name, detail, number, side, median, identical=same, first=first))
        lines.append(pair_line(name, number, 2 * len(rows)))
    return lines


def line(part, name, lines, **more):
    told = {"kind": "operator", "part": part, "name": name, "node": node_of(name), "exit": 0, "wall": 50.0}
    verdict = {"verdict": "NO_IR_DIFF" if part == "aa" else "IR_CHANGED", "rows": 5, "reason": ""}
    told |= {
        "resumed": False,
        "record": lines,
        "screen": {"exit": 0, "seconds": 20.0, "at_once": 8, "verdict": verdict},
    }
    told |= {"entered": [[1, "before", 0.2, 1.5]], "not_imported": "", "said": "", "options": [], "commit": "abc"}
    told |= {"date": "2026-12-03T00:00:00+00:00", "machine": "CPU, 16 cores", "load": 0.1, "dtypes": "first"}
    told |= {"cards": [{"name": "H1", "uuid": "GPU-1"}], "suite": "0123456789ab", "versions": {"triton": "3.6.0"}}
    return {**told, **more}
