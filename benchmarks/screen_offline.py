"""How long an offline screen of the whole built-in suite takes, and what of that is not compiling.

    python benchmarks/screen_offline.py [--write]

Screens the suite twice for cuda:90 with fresh roots (so fresh caches) and full machine code, on two cores: once as a
user would, two operators at a time, for the wall-clock time; once with one operator at a time, so that no two operators
share a core and an operator's cost beyond compiling can be told. `--write` keeps the report in results/.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULT = HERE / "results" / "screen_offline.md"
SWITCH, TARGET = "pass:pipeline", "cuda:90"
CORES = 2
WALL_BAR, BEYOND_BAR = 60.0, 1.0
"""Seconds: the whole suite as a pair; one operator's pair beyond its compile time."""
SIDES = ("before", "after")


@dataclass(frozen=True)
class Operator:
    """One operator's pair, in seconds. `wall` is from the first file of its before run to its verdict on the screen."""

    name: str
    runs: float
    """Of the wall time, until both runs had ended: the rest is judging and recording."""
    wall: float
    compile: float
    compiles: int

    @property
    def beyond(self) -> float:
        return self.wall - self.compile


@dataclass(frozen=True)
class Screen:
    """One screen of the suite. `start` is the time until the first operator began: the imports of both sides.

    `processor` is what all of its processes together had of the cores, in seconds: far below CORES times `wall`, the
    cores were busy with something else, and the wall-clock times say little.
    """

    wall: float
    processor: float
    start: float
    load: float
    operators: tuple[Operator, ...]

    @property
    def compile(self) -> float:
        return sum(operator.compile for operator in self.operators)


def screen(root: Path, jobs: int) -> Screen:
    """Run the real command and time it from outside; its lines come as each operator is judged."""
    command = [sys.executable, "-m", "zl_bench", *arguments(jobs), "--root", str(root)]
    load, started, clock = os.getloadavg()[0], time.time(), time.monotonic()
    processor = children_seconds()
    finished: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            words = line.split()
            if line.startswith("[") and len(words) > 1:
                finished[words[1]] = time.time()
    wall = time.monotonic() - clock
    if process.returncode != 0:
        raise SystemExit(f"the screen ended with exit code {process.returncode}; its words are above")
    with (root / "screen.tsv").open(encoding="utf-8", newline="") as stream:
        rows = {row["operator"]: float(row["seconds"]) for row in csv.DictReader(stream, delimiter="\t")}
    begun = {name: (root / f"{name}_before" / "input.json").stat().st_mtime for name in rows}
    return Screen(
        wall,
        children_seconds() - processor,
        min(begun.values()) - started,
        load,
        tuple(
            Operator(name, seconds, finished[name] - begun[name], *compile_seconds(root, name))
            for name, seconds in sorted(rows.items())
        ),
    )


def children_seconds() -> float:
    """Processor seconds, user and system, of every process that was started here and has ended, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def arguments(jobs: int) -> list[str]:
    return ["screen", "--switch", SWITCH, "--target", TARGET, "--jobs", str(jobs)]


def compile_seconds(root: Path, operator: str) -> tuple[float, int]:
    """The sum over both sides' compile events, and their number. Raises SystemExit if a compile came from a cache."""
    found = []
    for side in SIDES:
        lines = (root / f"{operator}_{side}" / "events.jsonl").read_text(encoding="utf-8").splitlines()
        found += [event for event in map(json.loads, lines) if event["event"] == "compile"]
    if any(event["cached"] for event in found):
        raise SystemExit(f"{operator}: a compile came from a cache, so this was no cold screen")
    return sum(event["seconds"] for event in found), len(found)


def report(together: Screen, alone: Screen, cores: int) -> str:
    """The report in Markdown."""
    over = [operator.name for operator in alone.operators if operator.beyond > BEYOND_BAR]
    worst = max(operator.beyond for operator in alone.operators)
    lines = [
        "# The whole built-in suite as a pair, offline, cold, to machine code",
        "",
        f"`zl-bench {' '.join(arguments(CORES))}`, fresh root and so fresh caches, pinned to {CORES} cores.",
        "",
        "| what | seconds | bar |",
        "|---|---:|---:|",
        f"| wall clock | {together.wall:.1f} | {WALL_BAR:.0f} |",
        f"| of it until the first operator began (imports of both sides) | {together.start:.1f} | |",
        f"| compile seconds, summed over both sides and both cores | {together.compile:.1f} | |",
        f"| processor seconds of all its processes | {together.processor:.1f} | |",
        "",
        *reservation(together, alone),
        f"Wall clock / summed compile time: {together.wall / together.compile:.2f} "
        f"({1 / CORES:.2f} would be {CORES} cores that do nothing but compile).",
        "",
        "## Per operator",
        "",
        f"`--jobs 1`, so that no two operators share a core: {alone.wall:.1f} s of wall clock, {alone.compile:.1f} s of it",
        "compiling. *Beyond* is an operator's wall clock (from the first file of its before run to its verdict) minus its",
        f"compile events; the bar is {BEYOND_BAR:.0f} second. *Judging* is the part of it after both runs ended.",
        "",
        "| operator | compiles | wall | compile | beyond | of it judging |",
        "|---|---:|---:|---:|---:|---:|",
        *(
            f"| {one.name} | {one.compiles} | {one.wall:.2f} | {one.compile:.2f} | {one.beyond:.2f} "
            f"| {one.wall - one.runs:.2f} |"
            for one in alone.operators
        ),
        "",
        f"Most beyond: {worst:.2f} s. Over the bar: {', '.join(over) or 'none'}.",
        "",
        "## Produced by",
        "",
        *(f"- {name}: {value}" for name, value in circumstances(together, alone, cores).items()),
        "",
    ]
    return "\n".join(lines)


def reservation(together: Screen, alone: Screen) -> list[str]:
    """A warning where the screens did not have the cores to themselves."""
    used = together.processor / together.wall, alone.processor / alone.wall
    if used[0] >= 0.75 * CORES and used[1] >= 0.75:
        return []
    return [
        f"**The machine was not quiet**: the screens had {used[0]:.2f} and {used[1]:.2f} cores' worth of processor time",
        f"where {CORES} and 1 could be expected. These wall-clock times are upper bounds; do not compare them.",
        "",
    ]


def circumstances(together: Screen, alone: Screen, cores: int) -> dict[str, str]:
    return {
        "command": "python benchmarks/screen_offline.py --write",
        "date": date.today().isoformat(),
        "commit": commit(),
        "processor": f"{processor()}, {cores} cores, of which {CORES} were used",
        "load average when the two screens began": f"{together.load:.2f} and {alone.load:.2f}",
        "Python": platform.python_version(),
        **{name: version(name) for name in ("torch", "triton", "pytest")},
        "system": f"{platform.system()} {platform.release()}",
    }


def commit() -> str:
    """The commit, and whether the working tree differs from it; `unknown` outside a checkout."""
    try:
        head, status = (
            subprocess.run(["git", *words], cwd=HERE, capture_output=True, text=True, check=True).stdout.strip()
            for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "--", "../src"])
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head} with uncommitted changes in src" if status else head


def processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def main() -> None:
    parser = argparse.ArgumentParser(description="Time an offline screen of the whole built-in suite.")
    parser.add_argument("--write", action="store_true", help=f"keep the report in {RESULT.relative_to(HERE.parent)}")
    given = parser.parse_args()
    every = sorted(os.sched_getaffinity(0))
    if len(every) < CORES:
        raise SystemExit(f"this needs {CORES} cores; there are {len(every)}")
    os.sched_setaffinity(0, every[:CORES])  # what is started inherits it
    with tempfile.TemporaryDirectory(prefix="zl-bench-") as folder:
        together = screen(Path(folder) / "together", CORES)
        print(f"together: {together.wall:.1f} s", file=sys.stderr, flush=True)
        alone = screen(Path(folder) / "alone", 1)
    text = report(together, alone, len(every))
    print(text)
    if given.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
