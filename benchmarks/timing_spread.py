"""How far the latencies of fresh processes lie apart, by method of timing: five cases, on a card.

    python benchmarks/timing_spread.py run --out FILE.jsonl [--have FILE …] [--processes 15] [--seconds N] [--commit TEXT]
    python benchmarks/timing_spread.py report FILE.jsonl … [--write NAME]

`run` starts one process after the other; each times all cases by all methods, in the same order, through the probe's own
Timer, and is one line of FILE. It counts the processes that FILE and those of --have hold already, so that several short
visits to a card make up one result; a kill costs the process that was under way. `report` pools the files.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import json_lines
import reporting
from screen_offline import commit, processor
from timing_cells import CASES, COLD_BARS, PROCESSES, QUEUED_BAR, WARM_BAR, Cell, bar, cells, is_whole

import zl_bench
from zl_bench.suites.base import content_hash

PACKAGE = Path(zl_bench.__file__).parent
"""What is measured, wherever it is imported from."""
HERE = Path(__file__).resolve().parent
PATIENCE = 240.0
"""Seconds for one process."""
FAILURES = 3
"""Processes in a row without a result, after which there is no point in going on."""


def run(out: Path, have: Sequence[Path], processes: int, seconds: float, named_commit: str | None) -> int:
    """Time in fresh processes until there are enough or the time is up. Returns the exit status."""
    there = sum(map(is_whole, json_lines.read_all(dict.fromkeys([*have, out]))))
    end, longest, failures = time.monotonic() + seconds, 0.0, 0
    about = {
        "commit": named_commit or commit(),
        "sources": content_hash(PACKAGE)[:12],
        "machine": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
    }
    with tempfile.TemporaryDirectory(prefix="timing-spread-") as folder:
        while there < processes and time.monotonic() + longest < end and failures < FAILURES:
            start = time.monotonic()
            line = time_once(Path(folder), about)
            longest = max(longest, time.monotonic() - start)
            if line is not None:
                json_lines.append(out, line)
            whole = line is not None and is_whole(line)
            there, failures = there + whole, 0 if whole else failures + 1
            state = "done" if whole else "given up" if line is not None else "failed"
            print(f"[{there}/{processes}] {state} in {time.monotonic() - start:.1f} s", flush=True)
    return 1 if failures == FAILURES else 0


def time_once(folder: Path, about: Mapping[str, Any]) -> dict[str, Any] | None:
    """The result of one fresh process, None if it left none. All share one compile cache, in `folder`."""
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "cache"), "PYTHONHASHSEED": "0"}
    command = [sys.executable, str(HERE / "timed_cases.py"), str(result)]
    start = time.monotonic()
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False)
        said = f"exit status {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
    except subprocess.TimeoutExpired:
        said = f"no end after {PATIENCE:.0f} s"
    if not result.exists():
        print(said, file=sys.stderr, flush=True)
        return None
    told = json.loads(result.read_text(encoding="utf-8"))
    when = datetime.now().astimezone().isoformat(timespec="seconds")
    return {"date": when, "seconds": round(time.monotonic() - start, 1), **about, **told}


def report(lines: Sequence[Mapping[str, Any]]) -> str:
    """The report in Markdown."""
    found, whole = cells(lines), sum(map(is_whole, lines))
    words = Counter(cell.verdict for cell in found)
    cards = len({uuid for cell in found for uuid in cell.by_card})
    text = [
        "# How far the latencies of fresh processes lie apart",
        "",
        f"{whole} processes{f' of the {PROCESSES} that are asked for' if whole < PROCESSES else ''}, on "
        f"{cards} card{'' if cards == 1 else 's'}; each timed every case by every method, in the order of this table, as a",
        "run of a suite times its rows. *Spread* is the standard deviation of the logarithm of the processes' medians, in",
        "percent, about the mean of their own card; *over all*, about the mean of all.",
        "",
        f"Cells by verdict: {', '.join(f'{count} {word}' for word, count in sorted(words.items()))}.",
        "",
        *reporting.table(
            ["case", "method", "verdict", "median, us", "spread", "bar", "over all", "n", "samples", "clock, MHz"],
            [_row(cell) for cell in found],
            words=3,
        ),
        "",
        f"Bars, in percent: graph with a warm L2 {WARM_BAR}; graph with a cold one "
        + ", ".join(f"{limit} from {least:.0f} us up" for least, limit in COLD_BARS)
        + f", below that unresolved; queued {QUEUED_BAR}. Direct is Triton's do_bench as it is, the contrast.",
        "The copy is by a Triton kernel, since a graph would hand torch's to another engine; mm is torch.mm into a given",
        "output; softmax and the small kernels are in float32. Samples: the median number in a process. Clock: the lowest and",
        "the highest reading beside a measurement.",
    ]
    noted = [f"- {CASES[cell.case]}, {cell.method}: {note}" for cell in found for note in _notes(cell)]
    if noted:
        text += ["", "## Notes", "", *noted]
    text += ["", "## Produced by", "", *(f"- {line}" for line in _circumstances(lines))]
    return "\n".join(text) + "\n"


def _row(cell: Cell) -> list[str]:
    limit = bar(cell.method, cell.microseconds)
    clocks = f"{min(cell.clocks)} to {max(cell.clocks)}" if cell.clocks else "-"
    return [
        CASES[cell.case],
        cell.method,
        cell.verdict,
        f"{cell.microseconds:.3f}" if cell.microseconds < 100 else f"{cell.microseconds:.1f}",
        f"{cell.spread:.3f}",
        "-" if limit is None else f"{limit}",
        f"{cell.spread_over_all:.3f}",
        str(len(cell.medians)),
        f"{statistics.median(cell.samples):.0f}" if cell.samples else "-",
        clocks,
    ]


def _notes(cell: Cell) -> list[str]:
    bound = f"{cell.launch_bound} of {len(cell.medians)} were bound by the host" if cell.launch_bound else ""
    limit = bar(cell.method, cell.microseconds)
    apart = ""
    if limit is not None and cell.verdict.startswith("pass") and cell.spread_over_all > limit:
        apart = f"the cards differ: over all, the spread of {cell.spread_over_all:.3f} % is above the bar"
    whys = [f"not so in {count}: {' '.join(why.split())}" for why, count in Counter(cell.otherwise).items()]
    return [note for note in (bound, apart, *whys) if note]


def _circumstances(lines: Iterable[Mapping[str, Any]]) -> list[str]:
    """What produced the lines, each combination once with its number of processes."""
    found: dict[str, list[str]] = defaultdict(list)
    others: Counter[str] = Counter()
    for line in lines:
        card, versions = line.get("card") or {}, line["versions"]
        others.update(process["name"] for process in card.get("processes", ()))
        torch, triton = ((versions[name] or {}).get("version", "none") for name in ("torch", "triton"))
        where = f"{card.get('name', 'unknown card')} {card.get('uuid', '')}, driver {card.get('driver', 'unknown')}"
        what = f"torch {torch}, Triton {triton}, Python {versions['python']}"
        tool = f"commit {line['commit']} (sources {line['sources']})"
        found[f"{where}; {what}; {tool}; {line['machine']}"].append(line["date"])
    told = [f"{len(dates)} processes from {min(dates)} to {max(dates)}: {how}" for how, dates in found.items()]
    seen = ", ".join(f"{name or 'unnamed'} ({count})" for name, count in others.items())
    return [*told, f"processes of others on the card: {seen or 'none seen'}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--out", type=Path, required=True)
    runner.add_argument("--have", type=Path, nargs="*", default=[], help="results of earlier visits, which count")
    runner.add_argument("--processes", type=int, default=PROCESSES)
    runner.add_argument("--seconds", type=float, default=math.inf, help="start no process that may end later than this")
    runner.add_argument("--commit", help="what is measured, where there is no checkout to ask")
    reporter = commands.add_parser("report")
    reporter.add_argument("--write", metavar="NAME")
    reporter.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "run":
        raise SystemExit(run(given.out, given.have, given.processes, given.seconds, given.commit))
    lines = json_lines.read_all(given.files)
    if not lines:
        raise SystemExit("there is no result in these files")
    reporting.keep(report(lines), given.write)


if __name__ == "__main__":
    main()
