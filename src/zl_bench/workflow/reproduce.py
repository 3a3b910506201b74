"""Compiles one kernel on both sides of a switch, says whether what was recorded comes out, and shows what differs.

    python reproduce.py                                    both sides with this Python
    python reproduce.py --before PYTHON --after PYTHON     each with its own, where the switch is a compiler

This is the script of a repro, which `zl-bench repro` made: it runs in the folder that holds case.json, with Triton and
nothing else. Each side is a process of its own, in which the switch was set before Triton was imported.
Exit status: 0 what was recorded comes out on both sides, 1 it does not, 2 bad usage.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.dont_write_bytecode = True  # a compiled module would name the folder it lies in

from zl_bench.errors import ZlBenchError
from zl_bench.inside.zl_probe.passes import Pipeline
from zl_bench.inside.zl_probe.stages import KernelSource, compile_stages
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.fingerprint import fingerprint

CASE_FILE = "case.json"
RESULT_FILE = "result.json"
SIDES = ("before", "after")
LOAD = "load"
"""What follows the last stage: a card refuses code that asks for more than it has."""
SHOWN = 400
"""Lines of a diff that are shown."""
WORDS = 3
"""Lines of a compiler's own words that are shown of a failure."""
LIMIT = 1800
"""Seconds that a side may take."""
Data = dict[str, Any]


def main(arguments: list[str], folder: Path) -> int:
    """Do what the arguments ask, with the case in that folder, and return the exit status."""
    case = json.loads((folder / CASE_FILE).read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(description=str(__doc__), formatter_class=argparse.RawDescriptionHelpFormatter)
    for side in SIDES:
        parser.add_argument(f"--{side}", metavar="PYTHON", help=f"the Python of the {side} side")
    parser.add_argument("--keep", metavar="DIR", help="keep what is compiled in this folder")
    parser.add_argument("--compile", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.compile:
        compile_side(case, given.compile[0], folder, Path(given.compile[1]))
        return 0
    interpreters = {side: getattr(given, side) or sys.executable for side in SIDES}
    if case["two_compilers"] and not (given.before and given.after):
        parser.error("the switch is a compiler: name the two Pythons that have them with --before and --after")
    with tempfile.TemporaryDirectory(prefix="repro-") as scratch:
        out = Path(given.keep or scratch).absolute()
        results = {side: start_side(case, side, folder, interpreters[side], out / side) for side in SIDES}
        return show(case, results, out)


def compile_side(case: Data, side: str, folder: Path, out: Path) -> None:
    """Compile one side in this process, writing each stage into `out`, and how it ended."""
    own = case["sides"][side]
    result: Data = {"triton": "", "stages": [], "failure": None, "stage": ""}
    drop = own["drop_pass"] or {}
    pipeline = Pipeline(drop.get("name"), drop.get("occurrence"))

    def save() -> None:
        (out / RESULT_FILE).write_text(json.dumps(result), encoding="utf-8")

    def begins(stage: str) -> None:
        pipeline.start_stage(stage)
        result["stage"] = stage
        save()  # it may end the process

    def ended(stage: str, content: Any) -> None:
        (out / stage).write_bytes(content if isinstance(content, bytes) else content.encode())
        result["stages"].append(stage)

    import triton

    result["triton"] = triton.__version__
    pipeline.install()
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in own["options"].items()}
    source = KernelSource(
        str(folder / own["source"]), case["made"], case["backend"], case["arch"], case["warp_size"], options
    )
    try:
        metadata = compile_stages(source, last=case["last"], begins=begins, ended=ended)
        shared, limit = metadata.get("shared"), case["max_shared_mem"]
        if shared is not None and limit is not None and shared > limit:
            result["stage"] = LOAD
            result["failure"] = f"OutOfResources: shared memory, required {shared}, limit {limit} bytes"
    except Exception as error:  # noqa: BLE001 - whatever a compiler raises is what there is to show
        result["failure"] = f"{type(error).__name__}: {error}"
    save()


def start_side(case: Data, side: str, folder: Path, interpreter: str, out: Path) -> Data:
    """Compile one side in a process of its own, and return what came of it."""
    out.mkdir(parents=True, exist_ok=True)
    ignored = case["ignored"]
    knob, place = re.compile(ignored["pattern"]), re.compile(ignored["but"])
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ignored["names"] and not (knob.match(name) and not place.search(name))
    }
    for name, value in case["sides"][side]["variables"].items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    command = [interpreter, str(folder / Path(__file__).name), "--compile", side, str(out)]
    with (out / "log").open("wb") as log:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, timeout=LIMIT, check=False
        )
    if not (out / RESULT_FILE).exists():
        print((out / "log").read_text(encoding="utf-8", errors="replace"), file=sys.stderr)
        raise SystemExit(f"{interpreter} could not compile the {side} side; its own words are above.")
    result: Data = json.loads((out / RESULT_FILE).read_text(encoding="utf-8"))
    result["words"] = telling_lines((out / "log").read_text(encoding="utf-8", errors="replace"))
    if done.returncode != 0 and result["failure"] is None:
        result["failure"] = f"the process did not survive (exit status {done.returncode})"
    return result


def show(case: Data, results: dict[str, Data], out: Path) -> int:
    """Print what came out, against what was recorded and side against side."""
    print(f"{case['kernel']} for {case['target']}, switch {case['switch']}")
    prints = {side: fingerprints(results[side], out / side) for side in SIDES}
    good = [as_recorded(case["sides"][side], side, results[side], prints[side]) for side in SIDES]
    both = [stage for stage in results["before"]["stages"] if stage in results["after"]["stages"]]
    states = {stage: state_of(prints["before"][stage], prints["after"][stage]) for stage in both}
    print("between the sides: " + ", ".join(f"{stage} {state}" for stage, state in states.items()))
    first = next((stage for stage in both if states[stage] == "differs"), None)
    if first is not None:
        before, after = ((out / side / first).read_bytes() for side in SIDES)
        lines = unified_diff(first, before, after, f"before/{first}", f"after/{first}")
        print("\n".join(lines[:SHOWN]))
        if len(lines) > SHOWN:
            print(f"… {len(lines) - SHOWN} more lines; --keep DIR keeps both files")
    return 0 if all(good) else 1


def fingerprints(result: Data, out: Path) -> dict[str, str | None]:
    """Of each stage that was made; None where it can not be taken here."""
    found: dict[str, str | None] = {}
    for stage in result["stages"]:
        try:
            found[stage] = fingerprint(stage, (out / stage).read_bytes()).digest
        except (ZlBenchError, ImportError):  # machine code takes pyelftools to read
            found[stage] = None
    return found


def as_recorded(own: Data, side: str, result: Data, prints: dict[str, str | None]) -> bool:
    """Say how a side compares with what was recorded of it, and whether that came out again."""
    print(f"{side}: Triton {result['triton']}" + (f", recorded with {own['triton']}" if own["triton"] else ""))
    expected: dict[str, str] = own["stages"]
    groups: dict[str, list[str]] = {"as recorded": [], "NOT as recorded": [], "not compared (no pyelftools here)": []}
    for stage in expected:
        if stage in prints:
            found = prints[stage]
            state = list(groups)[2 if found is None else int(found != expected[stage])]
            groups[state].append(stage)
        else:
            groups["NOT as recorded"].append(stage)
    for state, stages in groups.items():
        if stages:
            print(f"  {', '.join(stages)}: {state}")
    failure = own["failure"]
    if result["failure"] is not None:
        print(f"  fails at {result['stage']}: {result['failure']}")
        print("".join(f"    {line}\n" for line in result["words"]), end="")
    if failure is not None:
        print(f"  recorded: fails at {failure['stage'] or 'a stage that was not told'}: {failure['message']}")
    same_end = (failure is None) == (result["failure"] is None)
    same_place = failure is None or result["stage"].startswith(failure["stage"]) or not failure["stage"]
    return same_end and same_place and not groups["NOT as recorded"]


def telling_lines(log: str) -> list[str]:
    """What a compiler said of its failure, as far as it can be found among all else that it prints."""
    return [line.strip() for line in log.splitlines() if re.search(r"\berror: |Assertion .* failed", line)][:WORDS]


def state_of(before: str | None, after: str | None) -> str:
    """Whether a stage is the same on both sides."""
    if before is None or after is None:
        return "not compared"
    return "same" if before == after else "differs"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], Path(__file__).absolute().parent))
