"""The parts of flaggems_card.py that run something: each goes on where earlier visits stopped, and ends in time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import card_results
import card_roots
import json_lines
from card_operators import Chosen
from card_results import RESULTS, SWITCHES, Results
from screen_offline import commit, processor

from zl_bench.running.environment import SET, not_inherited
from zl_bench.store.layout import RECORD_FILE
from zl_bench.suites.flaggems import ARGUMENTS

ENDING_SECONDS = 20.0
"""What the tool may take to end after it was told to."""
LEAST_SECONDS = 45.0
"""A sitting that has less left is not begun: the sides alone take half of it to start."""
HIDDEN = {"CUDA_VISIBLE_DEVICES": "-1"}
UNFIT = (2, 3, 4)
"""Exit statuses of the tool after which nothing further would go better."""
PLACES = frozenset({"--checkout", "--python", "--root", "--pins"})
"""Options whose value says where something lies."""
PLAIN_RUNS = 2
VERSIONS = (
    "import json, platform, torch, triton, pytest, flag_gems; "
    "print(json.dumps({'python': platform.python_version(), 'torch': torch.__version__, 'triton': triton.__version__}))"
)


@dataclass(frozen=True)
class Visit:
    """What a command line asked for. `ends` is when everything must be over, by time.monotonic()."""

    checkout: Path
    work: Path
    have: tuple[Path, ...]
    operators: tuple[Chosen, ...]
    ends: float
    dtypes: str = "first"
    python: Path = Path(sys.executable)
    timeout: float = 200.0
    again: bool = False
    commit: str | None = None

    @property
    def left(self) -> float:
        return self.ends - time.monotonic()

    def results(self) -> Results:
        return card_results.load([*self.have, self.work / RESULTS])

    def todo(self, part: str) -> list[Chosen]:
        results = self.results()
        return [one for one in self.operators if self.again or results.of(part, one.name) is None]

    def keep(self, **line: Any) -> None:
        json_lines.append(self.work / RESULTS, line)


def screen(visit: Visit, axis: str) -> int:
    """Pairs on the card, nothing timed."""
    return _screen(visit, axis, axis, visit.todo(axis))


def timing(visit: Visit, method: str, l2: str) -> int:
    """Pairs of identical code on the card, timed."""
    return _screen(visit, "timing", "null", visit.todo("timing"), ("--timing", method, "--l2", l2))


def offline(visit: Visit, axis: str, target: str, stages: str, jobs: int | None) -> int:
    """Pairs without a card, with the choices that the tuners of the card's pair made."""
    results, part = visit.results(), f"offline {axis}"
    cards = {one.name: results.of(axis, one.name) for one in visit.operators}
    todo = [one for one in visit.todo(part) if cards[one.name] is not None]
    with tempfile.TemporaryDirectory(prefix="flaggems-card-pins-") as folder:
        card_roots.write_pins(Path(folder), [line for line in cards.values() if line is not None])
        options = ["--target", target, "--pins", folder, "--stages", stages, *(["--jobs", str(jobs)] if jobs else [])]
        return _screen(visit, part, axis, todo, options, HIDDEN)


def plain(visit: Visit, warmup: int, iterations: int) -> int:
    """Two plain pytest runs of each test, one after the other, each with caches of its own."""
    todo, results, longest = visit.todo("plain"), visit.results(), LEAST_SECONDS
    if not todo or visit.left < longest:
        return 0
    environment = {
        **{name: value for name, value in os.environ.items() if name not in not_inherited(os.environ)},
        **SET,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(visit.checkout / "src"), os.environ.get("PYTHONPATH")))),
    }
    # Untimed: what a first import brings from the disk would be on the account of the first run.
    asked = [str(visit.python), "-c", VERSIONS]
    told = subprocess.run(asked, env=environment, cwd=visit.checkout, capture_output=True, text=True, check=False)
    if told.returncode:
        raise SystemExit(f"{visit.python} can not import what a benchmark needs:\n{told.stderr[-2000:]}")
    options = [*ARGUMENTS, "--warmup", str(warmup), "--iter", str(iterations)]
    sitting, start = _sitting("plain"), time.monotonic()
    for one in todo:
        if visit.left < longest:
            break
        began = time.monotonic()
        first = results.dtype_of(one.name) or next(iter(one.dtypes), None)
        dtype = first if visit.dtypes == "first" else None
        command = [
            *(str(visit.python), "-m", "pytest", "-p", "no:cacheprovider", "--capture=no", one.node, *options),
            *(("--dtypes", dtype) if dtype else ()),
        ]
        runs = [_plain_once(command, environment, visit) for _ in range(PLAIN_RUNS)]
        longest = max(longest, time.monotonic() - began)
        visit.keep(kind="operator", part="plain", name=one.name, sitting=sitting, node=one.node, dtype=dtype, runs=runs)
        print(f"plain {one.name}: " + ", ".join(f"{run['seconds']} s" for run in runs), flush=True)
    visit.keep(
        kind="sitting",
        part="plain",
        sitting=sitting,
        wall=round(time.monotonic() - start, 1),
        command=f"python -m pytest -p no:cacheprovider --capture=no NODE {' '.join(options)}",
        versions=json.loads(told.stdout.splitlines()[-1]),
        **circumstances(visit),
    )
    return 0


def harvest_what_was_left(visit: Visit) -> None:
    """Read the roots of sittings that ended without a word, since somebody killed them."""
    known = visit.results().sittings
    for noted in sorted(visit.work.glob("roots/*.json")):
        about = json.loads(noted.read_text(encoding="utf-8"))
        if about["sitting"] not in known:
            _harvest(visit, noted.with_suffix(""), about)


def _screen(
    visit: Visit,
    part: str,
    axis: str,
    todo: Sequence[Chosen],
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> int:
    """One sitting of `zl-bench screen` over these operators, as far as the time goes. Returns its exit status."""
    if not todo or visit.left < LEAST_SECONDS:
        return 0
    sitting = _sitting(part)
    root = visit.work.absolute() / "roots" / sitting
    command = [
        *("screen", "--suite", "flaggems", "--checkout", str(visit.checkout), "--switch", SWITCHES[axis]),
        *(("--dtypes", visit.dtypes) if visit.dtypes != "own" else ()),
        *("--timeout", f"{visit.timeout:g}", "--python", str(visit.python), "--root", str(root), *options),
        *(one.node for one in todo),
    ]
    about = {
        **{"kind": "sitting", "part": part, "sitting": sitting, "command": _shown(command, todo), "wall": None},
        **{"names": {one.node: one.name for one in todo}, **circumstances(visit)},
    }
    root.parent.mkdir(parents=True, exist_ok=True)
    noted = root.with_name(f"{root.name}.json")
    noted.write_text(json.dumps(about), encoding="utf-8")
    start = time.monotonic()
    code = until(visit.left - ENDING_SECONDS, [sys.executable, "-m", "zl_bench", *command], environment or {})
    if code in UNFIT and not (root / RECORD_FILE).exists():
        noted.unlink()  # nothing came of it
    else:
        _harvest(visit, root, {**about, "wall": round(time.monotonic() - start, 1), "exit": code})
    return code


def _harvest(visit: Visit, root: Path, about: dict[str, Any]) -> None:
    """Append what the root has of each operator, then the sitting itself, which says that this was done."""
    names = about.pop("names")
    if (root / RECORD_FILE).exists():
        for line in card_roots.operators(root):
            visit.keep(kind="operator", part=about["part"], name=names[line["node"]], sitting=about["sitting"], **line)
    visit.keep(**about, **card_roots.about(root))


def until(seconds: float, command: Sequence[str], environment: Mapping[str, str], log: Path | None = None) -> int:
    """Run the tool; end it politely when the time is up, which keeps what is finished. With a `log` all it says goes there."""
    with contextlib.ExitStack() as stack:
        said = None if log is None else stack.enter_context(log.open("wb"))
        errors = None if said is None else subprocess.STDOUT
        process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=said, stderr=errors)
        stack.enter_context(process)
        try:
            return process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGTERM)
        try:
            return process.wait(timeout=ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def _plain_once(command: Sequence[str], environment: Mapping[str, str], visit: Visit) -> dict[str, Any]:
    """Seconds, exit status (None when the time ran out), the number of rows that it printed, and its last words."""
    with tempfile.TemporaryDirectory(prefix="flaggems-plain-") as folder:
        caches = {name: f"{folder}/{name}" for name in ("TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR")}
        start = time.monotonic()
        code: int | None = None
        try:
            done = subprocess.run(
                command,
                env={**environment, **caches},
                cwd=visit.checkout,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                timeout=visit.timeout,
                check=False,
            )
            code, said = done.returncode, done.stdout
        except subprocess.TimeoutExpired as error:
            said = (error.stdout or b"").decode("utf-8", "replace")
        seconds = round(time.monotonic() - start, 2)
    rows = sum(line.lstrip().startswith("SUCCESS") for line in said.splitlines())
    return {"seconds": seconds, "exit": code, "rows": rows, "end": said[-300:] if code else ""}


def _sitting(part: str) -> str:
    return f"{part.replace(' ', '-')}-{datetime.now():%Y%m%d-%H%M%S-%f}"


def circumstances(visit: Visit) -> dict[str, Any]:
    """When, by what code and on what machine something is done."""
    return {
        "date": datetime.now().astimezone().isoformat(timespec="seconds"),
        "commit": visit.commit or commit(),
        "machine": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "load": os.getloadavg()[0],
        "dtypes": visit.dtypes,
    }


def _shown(command: Sequence[str], todo: Sequence[Chosen]) -> str:
    """The command as far as it says what was done: without what is different in every sitting or on every machine."""
    nodes, shown, words = {one.node for one in todo}, ["zl-bench"], iter(command)
    for word in words:
        if word in PLACES:
            next(words)
            shown.append(f"{word} …")
        elif word not in nodes:
            shown.append(word)
    return " ".join([*shown, "NODE …"])
