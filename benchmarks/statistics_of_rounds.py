"""Whether verdicts over rounds keep their promises: suites whose truth is known, judged by the tool's own statistics.

    python benchmarks/statistics_of_rounds.py run --out FILE.jsonl [--suites 400] [--jobs 1] [--seconds N]
    python benchmarks/statistics_of_rounds.py report FILE.jsonl [--write NAME]

`run` goes through the cells (rounds, true effects, variants of the model) in batches of suites, each of them a line of FILE.
It goes on where FILE ends, so it can be interrupted at will, and starts anew what other sources than the present ones have
judged. (It is not called statistics.py, which would hide Python's own module from the scripts beside it.)
"""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import json_lines
import reporting
import statistics_report
from screen_offline import commit, processor
from statistics_cells import BATCH, CELLS, Cell, run_batch

import zl_bench.analysis

HERE = Path(__file__).resolve().parent
JUDGING = ("rounds", "moderation", "estimates", "calibration", "geomeans", "judgement")
SIMULATING = ("statistics_model", "statistics_rules", "statistics_cells")
LEAST_SUITES = 400

Place = tuple[Cell, int]


@cache
def sources() -> str:
    """A name for what judges and what simulates: lines of other sources are no result of these."""
    analysis = Path(zl_bench.analysis.__file__).parent
    paths = [*(analysis / f"{name}.py" for name in JUDGING), *(HERE / f"{name}.py" for name in SIMULATING)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in paths)).hexdigest()[:12]


def wanted(suites: int, lines: Iterable[Mapping[str, Any]]) -> list[Place]:
    """The batches that are still to be run, the first of every cell first."""
    done = {
        (Cell(line["variant"], line["rounds"], line["effect"]), line["batch"])
        for line in lines
        if line["sources"] == sources()
    }
    return [(cell, batch) for batch in range(math.ceil(suites / BATCH)) for cell in CELLS if (cell, batch) not in done]


def run_place(place: Place) -> dict[str, Any]:
    """One batch as a line of results."""
    cell, batch = place
    start = time.process_time()
    rules = run_batch(cell, batch)
    seconds = round(time.process_time() - start, 3)
    told = {"variant": cell.variant, "rounds": cell.rounds, "effect": cell.effect, "batch": batch}
    return {**told, "seconds": seconds, "rules": rules}


def run(out: Path, suites: int, jobs: int, seconds: float) -> None:
    """Run what is missing in `out`, until the time is up."""
    places, end = wanted(suites, json_lines.read_all([out])), time.monotonic() + seconds
    about = {
        "sources": sources(),
        "commit": commit(),
        "machine": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "versions": {"Python": platform.python_version(), **{name: version(name) for name in ("numpy", "scipy")}},
    }
    print(f"{len(places)} batches of {BATCH} suites to run", flush=True)
    with ExitStack() as stack:
        spread = stack.enter_context(multiprocessing.Pool(jobs)).imap_unordered if jobs > 1 else map
        for number, line in enumerate(spread(run_place, places), start=1):
            when = datetime.now().astimezone().isoformat(timespec="seconds")
            json_lines.append(out, {**line, "date": when, **about})
            if number % 50 == 0 or number == len(places):
                print(f"[{number}/{len(places)}]", flush=True)
            if time.monotonic() > end:
                print(f"{len(places) - number} batches are left; the same command goes on", flush=True)
                break


def current(lines: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The lines that the sources of the last one have made."""
    return [line for line in lines if line["sources"] == lines[-1]["sources"]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--suites", type=int, default=LEAST_SUITES, help="of each cell")
    runner.add_argument("--jobs", type=int, default=1)
    runner.add_argument("--seconds", type=float, default=math.inf, help="start nothing after that")
    reporter = commands.add_parser("report")
    reporter.add_argument("--write", metavar="NAME")
    reporter.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "run":
        run(given.out, given.suites, given.jobs, given.seconds)
        return
    lines = current(json_lines.read_all([given.file]))
    if not lines:
        raise SystemExit("there is no result in this file")
    reporting.keep(statistics_report.report(lines), given.write)


if __name__ == "__main__":
    main()
