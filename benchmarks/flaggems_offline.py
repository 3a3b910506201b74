"""FlagGems' whole benchmark suite, screened with no GPU: what became of every test, and what it cost.

    python benchmarks/flaggems_offline.py run --root ROOT -- --switch … --target cuda:90 --checkout DIR [--dtypes first] …
    python benchmarks/flaggems_offline.py single --out FILE --operators A,B,… -- --switch … --target cuda:90 --checkout DIR …
    python benchmarks/flaggems_offline.py report [--write NAME] [--single FILE] ROOT …

`run` passes what follows `--` to `zl-bench screen --suite flaggems --all`, times it, and keeps what produced it in
ROOT/benchmark.json; run again, it goes on where it was stopped and adds the time. `single` times the command for one named
operator at a time, from its start to its verdict. `report` tabulates finished roots, one column each, and lists every test
that did not end clean, every one without a kernel and every reason to skip; `--write` keeps it in results/NAME.md.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import json_lines
import reporting
from screen_offline import children_seconds, commit, processor

from zl_bench.model import SIDES

CLEAN_BAR = 98.5
"""Percent of the tests that end in a verdict from a clean run."""
REFERENCE_MINUTES = 0.8
"""A pair on a card: the reference cost of a screen, per operator; six rounds of timing take 13 to 44 minutes."""
SINGLE_BAR = 20.0
"""Seconds from the command for one named operator to its verdict."""
NOTHING = "no row launched a Triton kernel"


@dataclass(frozen=True)
class Test:
    """What became of one test. `clean`: both sides ran to their end, or FlagGems itself skips the test."""

    node: str
    verdict: str
    status: str
    reason: str
    clean: bool
    skipped: bool


@dataclass(frozen=True)
class Screened:
    """One root: its tests, the seconds of each operator's pair, and what `run` noted."""

    root: Path
    tests: tuple[Test, ...]
    seconds: tuple[float, ...]
    noted: dict[str, Any]

    @property
    def title(self) -> str:
        return f"{self.noted['switch']} ({self.noted['dtypes']})"


def run(root: Path, arguments: Sequence[str], named_commit: str | None) -> int:
    """Screen, and add what this took to ROOT/benchmark.json."""
    command = ["screen", "--suite", "flaggems", "--all", "--root", str(root), *arguments]
    if (root / "screen.jsonl").exists():
        command.append("--resume")
    clock, before = time.monotonic(), children_seconds()
    code = _to_its_end([sys.executable, "-m", "zl_bench", *command])
    note = root / "benchmark.json"
    noted = (
        json.loads(note.read_text(encoding="utf-8"))
        if note.exists()
        else {"wall": 0.0, "processor": 0.0, "sittings": 0}
    )
    given = argparse.ArgumentParser(allow_abbrev=False)
    for option in ("--switch", "--target", "--dtypes", "--stages"):
        given.add_argument(option, default="own" if option == "--dtypes" else "all")
    known, _ = given.parse_known_args(list(arguments))
    noted |= vars(known) | {
        "wall": noted["wall"] + time.monotonic() - clock,
        "processor": noted["processor"] + children_seconds() - before,
        "sittings": noted["sittings"] + 1,
        "command": f"zl-bench screen --suite flaggems --all {' '.join(arguments)}",
        "exit code": code,
        **_circumstances(named_commit),
    }
    note.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")
    return code


def _to_its_end(command: Sequence[str]) -> int:
    """Run the tool and return its exit code. Where this process alone is interrupted, so is the tool, and its end awaited."""
    with subprocess.Popen(command) as tool:
        try:
            return tool.wait()
        except KeyboardInterrupt:
            tool.send_signal(signal.SIGINT)
            return tool.wait()


def single(out: Path, operators: Sequence[str], arguments: Sequence[str], named_commit: str | None) -> int:
    """Screen one operator at a time, each by a command of its own, and append what each took to `out`."""
    circumstances = _circumstances(named_commit)
    for operator in operators:
        with tempfile.TemporaryDirectory(prefix="flaggems-single-") as folder:
            root = str(Path(folder) / "root")
            asked = ["screen", operator, "--suite", "flaggems", *arguments]
            start = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "zl_bench", *asked, "--root", root], check=False, capture_output=True, text=True
            )
            wall = time.monotonic() - start
            if done.returncode not in (0, 1):
                print(done.stderr, file=sys.stderr)
                return done.returncode
            compiling = [_compiling(Path(root), side) for side in SIDES]
        said = done.stdout.splitlines()[-2]
        line = {"operator": operator, "wall": round(wall, 2), "said": said, "compiling": compiling}
        line["command"] = f"zl-bench {' '.join(asked)}"
        json_lines.append(out, line | circumstances)
        print(f"{operator}: {wall:.1f} s, {said}", flush=True)
    return 0


def _compiling(root: Path, side: str) -> float:
    """Seconds that the runs of a side spent in Triton's compiler, one compile after another."""
    events = [event for path in root.glob(f"*_{side}/**/events.jsonl") for event in json_lines.read(path)]
    return round(sum(event["seconds"] for event in events if event["event"] == "compile"), 1)


def _circumstances(named_commit: str | None) -> dict[str, str]:
    return {
        "commit": named_commit or commit(),
        "date": date.today().isoformat(),
        "machine": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
    }


def read(root: Path) -> Screened:
    """A root that `run` has finished."""
    operators = [json.loads(line) for line in (root / "screen.jsonl").read_text(encoding="utf-8").splitlines()]
    last = {(one["operator"], one["dtype"]): one for one in operators}
    begin = next(root.glob("*_before/events.jsonl"), None)
    noted = json.loads((root / "benchmark.json").read_text(encoding="utf-8"))
    if begin is not None:
        with begin.open(encoding="utf-8") as stream:
            noted["versions"] = _versions(json.loads(stream.readline()))
    return Screened(
        root,
        tuple(_test(node) for one in last.values() for node in one["nodes"]),
        tuple(one["seconds"] for one in last.values()),
        noted,
    )


def _test(node: dict[str, Any]) -> Test:
    kinds = {absence["kind"] for absence in node["absences"]}
    skipped = node["verdict"] == "NO_ROWS" and kinds == {"skipped"}
    clean = skipped or (node["verdict"] != "NO_ROWS" and node["status"] == "complete") or node["verdict"] == "BROKEN"
    return Test(node["node"], node["verdict"], node["status"], node["reason"], clean, skipped)


def _versions(begin: dict[str, Any]) -> str:
    return (
        f"Python {begin['python'].split()[0]}, Triton {begin['triton']['version']}, torch {begin['torch']['version']}"
    )


def report(screens: Sequence[Screened], singles: Sequence[dict[str, Any]] = ()) -> str:
    """The report in Markdown."""
    targets = {one.noted["target"] for one in screens}
    lines = [f"# FlagGems' whole benchmark suite, offline, for {', '.join(sorted(targets))}", ""]
    lines += [f"- {one.title}: `{one.noted['command']}`" for one in screens]
    lines += [
        "",
        "## Tests by what became of them",
        "",
        *reporting.table(["", *(one.title for one in screens)], _outcomes(screens)),
    ]
    lines += [
        "",
        "*Clean* are tests whose two runs came to their end with every row, and those which FlagGems itself skips here. An",
        "operator may have several tests; the suite was read without importing it, and every test that was read is counted.",
    ]
    lines += ["", "## Cost", "", *reporting.table(["", *(one.title for one in screens)], _costs(screens))]
    lines += [
        "",
        f"The reference for a pair on a card is {REFERENCE_MINUTES} minutes an operator, 13 to 44 for six rounds of timing.",
    ]
    if singles:
        lines += ["", *_singles(singles)]
    for one in screens:
        lines += ["", f"## {one.title}: every test that did not end clean", ""]
        lines += [
            f"- `{_short(test.node)}` {test.verdict} {test.status}: {test.reason}"
            for test in one.tests
            if not test.clean
        ]
    lines += ["", "## Every test without a kernel, and what its timed calls ran", ""]
    lines += _grouped(
        screens, lambda test: test.verdict == "NO_KERNEL", lambda test: test.reason.removeprefix(NOTHING + ": ")
    )
    lines += ["", "## Every reason to skip", ""]
    lines += _grouped(screens, lambda test: test.skipped, lambda test: test.reason.removeprefix("skipped: "))
    lines += ["", "## Produced by", ""]
    for one in screens:
        said = ("date", "commit", "machine", "versions", "sittings")
        told = "; ".join(f"{name} {one.noted.get(name, 'unknown')}" for name in said)
        lines += [f"- {one.title}: {told}" + (f"; {one.noted['remark']}" if "remark" in one.noted else "")]
    return "\n".join(lines) + "\n"


def _outcomes(screens: Sequence[Screened]) -> list[list[str]]:
    rows = []
    for verdict in ("BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS"):
        rows.append([verdict, *(str(sum(test.verdict == verdict for test in one.tests)) for one in screens)])
    rows.append(["of NO_ROWS, skipped by FlagGems", *(str(sum(test.skipped for test in one.tests)) for one in screens)])
    rows.append(["tests", *(str(len(one.tests)) for one in screens)])
    for one in screens:
        if not one.tests:
            raise SystemExit(f"{one.root} has no test")
    shares = [100 * sum(test.clean for test in one.tests) / len(one.tests) for one in screens]
    rows.append([f"clean (bar {CLEAN_BAR} %)", *(f"{share:.2f} %" for share in shares)])
    return rows


def _costs(screens: Sequence[Screened]) -> list[list[str]]:
    def each(name: str, value: Callable[[Screened], str]) -> list[str]:
        return [name, *(value(one) for one in screens)]

    return [
        each("wall clock, minutes", lambda one: f"{one.noted['wall'] / 60:.1f}"),
        each("processor, minutes", lambda one: f"{one.noted['processor'] / 60:.1f}"),
        each("operators", lambda one: str(len(one.seconds))),
        each("seconds per operator, median", lambda one: f"{statistics.median(one.seconds):.1f}"),
        each("seconds per operator, p90", lambda one: f"{statistics.quantiles(one.seconds, n=10)[-1]:.1f}"),
        each("seconds per operator, most", lambda one: f"{max(one.seconds):.1f}"),
    ]


def _singles(singles: Sequence[dict[str, Any]]) -> list[str]:
    rows = [
        [f"`{one['command']}`", one["said"], *(f"{seconds:.1f}" for seconds in (one["wall"], *one["compiling"]))]
        for one in singles
    ]
    within = sum(one["wall"] <= SINGLE_BAR for one in singles)
    return [
        f"## A single operator, from the command to its verdict: {within} of {len(singles)} within {SINGLE_BAR:.0f} s",
        "",
        *reporting.table(["command", "verdict", "seconds", "compiling, before", "after"], rows, words=2),
        "",
        "*Compiling*: what each side spent in Triton's compiler, both at once; no command can be shorter.",
        f"On {', '.join(sorted({one['machine'] for one in singles}))}; "
        f"commit {', '.join(sorted({one['commit'] for one in singles}))}.",
    ]


def _grouped(screens: Iterable[Screened], chosen: Callable[[Test], bool], by: Callable[[Test], str]) -> list[str]:
    """Tests by reason, over all screens; each test once."""
    groups: dict[str, dict[str, None]] = defaultdict(dict)
    for one in screens:
        for test in filter(chosen, one.tests):
            groups[by(test)][_short(test.node)] = None
    sizes = Counter({reason: len(tests) for reason, tests in groups.items()})
    return [f"- {reason}: {', '.join(groups[reason])}" for reason, _ in sizes.most_common()]


def _short(node: str) -> str:
    return node.removeprefix("benchmark/test_")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runner = commands.add_parser("run")
    runner.add_argument("--root", type=Path, required=True)
    one = commands.add_parser("single")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--operators", required=True, metavar="A,B,…")
    for command in (runner, one):
        command.add_argument("--commit", help="what is measured, where there is no checkout to ask")
        command.add_argument("arguments", nargs="*", help="for zl-bench screen, after --")
    reporter = commands.add_parser("report")
    reporter.add_argument("--single", type=Path, help="what `single` has kept")
    reporter.add_argument("--write", metavar="NAME")
    reporter.add_argument("roots", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "run":
        raise SystemExit(run(given.root, given.arguments, given.commit))
    if given.command == "single":
        raise SystemExit(single(given.out, given.operators.split(","), given.arguments, given.commit))
    singles = [] if given.single is None else list(json_lines.read(given.single))
    reporting.keep(report([read(root) for root in given.roots], singles), given.write)


if __name__ == "__main__":
    main()
