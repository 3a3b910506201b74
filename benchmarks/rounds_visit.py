"""The parts of flaggems_rounds.py that run something: each goes on where earlier visits stopped, and ends in time.

First the operators for which there is time are screened, several at once, since compiling is work for the cores. Then each is
measured, alone on the card, and what came of it is kept and packed before the next one is begun.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import rounds_results
from card_operators import OPERATORS, Chosen
from card_results import Line
from card_sittings import ENDING_SECONDS, Visit, circumstances, until
from rounds_confirm import found_rows
from rounds_costs import PER_ROW, Costs
from rounds_results import AXES, Measured
from rounds_roots import Root

from zl_bench.fleet.locks import VARIABLE as LOCKS

FIRST = (
    *("softmax", "topk", "gelu", "skip_layer_norm", "cumsum", "dropout", "silu_and_mul", "layer_norm", "rms_norm"),
    *("index_select", "where", "mm", "gather", "var_mean", "softmax_backward", "flip", "sort", "argmax", "embedding"),
)
"""Cheap ones of many kinds come first, and early the one of fourteen rows, whose cost has a bar."""
ORDER = (*FIRST, *(name for name in OPERATORS if name not in FIRST))
SCREENING = 90.0
"""Seconds that screening takes, several operators at once."""
DONE = (0, 1, 2)
"""Exit statuses after which the operator is done, for good or bad; otherwise it was interrupted, or has no card."""
NO_CARD = 3


@dataclass(frozen=True)
class How:
    """What the command line asks of every measurement."""

    parts: tuple[str, ...]
    rounds: int = 6
    seed: int = 1
    at_once: int = 1
    """How many operators are screened at a time."""
    per_row: float = PER_ROW
    options: tuple[str, ...] = ()
    """Of `zl-bench measure`."""
    out: Path | None = None


@dataclass(frozen=True)
class Task:
    """The measurements of one screen, one after the other; `mirror` only if there is something to confirm."""

    operator: Chosen
    parts: tuple[str, ...]


class Rounds:
    """Measures what a visit lacks."""

    def __init__(self, visit: Visit, how: How):
        self._visit = visit
        self._how = how
        self._results = visit.results()
        self._kept: set[tuple[str, str]] = set()

    def go(self) -> int:
        """Until the time is up or everything is done. Returns an exit status."""
        while tasks := self.affordable():
            done = len(self._results.lines)
            code = self._screen([task for task in tasks if self._root(task).screened is None])
            for task in tasks:
                code = code or self._task(task)
            if code or len(self._results.lines) == done:
                return code
        return 0

    def affordable(self) -> list[Task]:
        """What is to be done and can end in time, in order."""
        costs, left = self._costs(), self._left()
        chosen, screening = [], 0.0
        for task in self.lacking():
            root = self._root(task)
            if root.screened is None:
                screening = SCREENING
            needed = len(task.parts) * costs.expected(task.operator.name, root.rows())
            if needed + screening <= left:
                left -= needed
                chosen.append(task)
        return chosen

    def lacking(self) -> list[Task]:
        """What earlier visits have not done."""
        tasks = [
            Task(one, parts(one)) for parts in (self._lacking_aa, self._lacking_rlc) for one in self._visit.operators
        ]
        return [task for task in tasks if task.parts]

    def _lacking_aa(self, one: Chosen) -> tuple[str, ...]:
        return () if "aa" not in self._how.parts or self._done("aa", one) is not None else ("aa",)

    def _lacking_rlc(self, one: Chosen) -> tuple[str, ...]:
        line, asked = self._done("rlc", one), self._how.parts
        if line is None:
            return tuple(part for part in ("rlc", "mirror") if part in asked) if "rlc" in asked else ()
        if "mirror" not in asked or not _has_found(line) or self._done("mirror", one) is not None:
            return ()
        # Elsewhere the tuners may choose otherwise: then the first measurement is done again too.
        return ("mirror",) if self._is_of(line, Task(one, ("mirror",))) else ("rlc", "mirror")

    def _done(self, part: str, one: Chosen) -> Line | None:
        """What there is of an operator; with --again only what is of this visit."""
        counts = not self._visit.again or (part, one.name) in self._kept
        return self._results.of(part, one.name) if counts else None

    def _task(self, task: Task) -> int:
        for part in task.parts:
            line = self._results.of("rlc", task.operator.name)
            if part == "mirror" and (line is None or not _has_found(line) or not self._is_of(line, task)):
                break
            code = self._measure(part, task)
            if code:
                return code
        return 0

    def _measure(self, part: str, task: Task) -> int:
        """Measure an operator and keep what came of it. Returns what ends the visit, 0 if nothing does."""
        root, one = self._root(task), task.operator
        told = root.screened
        if told is None or self._costs().expected(one.name, root.rows()) > self._left():
            return 0
        verdict = told["verdict"].get("verdict", "")
        if verdict != ("NO_IR_DIFF" if part == "aa" else "IR_CHANGED"):
            self._keep(part, one, root, {"exit": told["exit"], "wall": 0.0, "resumed": False, "record": []})
            return 0
        mirrored = part == "mirror"
        resumed = root.begun(mirrored=mirrored)
        words = [
            *("measure", str(root.folder), one.node, "--rounds", str(self._how.rounds), "--seed", str(self._how.seed)),
            *("--timeout", f"{self._visit.timeout:g}", "--python", str(self._visit.python), *self._how.options),
            *(("--mirrored",) if mirrored else ()),
            *(("--resume",) if resumed else ()),
        ]
        start = time.monotonic()
        code = self._run(words, root.log("measure"), {})
        if code not in DONE:
            print(f"{part} {one.name}: ended with {code}\n{root.said('measure')}", flush=True)
            return code
        wall, record = round(time.monotonic() - start, 1), root.record()
        self._keep(part, one, root, {"exit": code, "wall": wall, "resumed": resumed, "record": record})
        root.put_away()
        return 0

    def _keep(self, part: str, one: Chosen, root: Root, told: dict[str, Any]) -> None:
        well = told["record"] and told["exit"] == 0
        self._visit.keep(
            kind="operator",
            part=part,
            name=one.name,
            node=one.node,
            screen=root.screened,
            entered=root.entered(),
            not_imported=root.not_imported(),
            said="" if well else root.said("measure") or root.said("screen"),
            options=list(self._how.options),
            **told,
            **circumstances(self._visit),
            **root.about(),
        )
        self._results = self._visit.results()
        self._kept.add((part, one.name))
        print(f"{part} {one.name}: exit {told['exit']}, {told['wall']} s", flush=True)
        if self._how.out is not None:
            packed = rounds_results.pack(self._visit.work, self._visit.have, self._how.out)
            print(f"{packed}: {packed.stat().st_size} bytes", flush=True)

    def _screen(self, tasks: Sequence[Task]) -> int:
        """Screen these, several at once: nothing is timed. Returns what ends the visit, 0 if nothing does."""
        if not tasks:
            return 0
        start = time.monotonic()
        with ThreadPoolExecutor(self._how.at_once) as pool:
            codes = list(pool.map(self._screen_one, tasks))
        print(f"screened {len(tasks)} in {time.monotonic() - start:.0f} s", flush=True)
        return NO_CARD if NO_CARD in codes else 0

    def _screen_one(self, task: Task) -> int:
        root, visit, start = self._root(task), self._visit, time.monotonic()
        root.clear()
        words = [
            *("screen", "--suite", "flaggems", "--checkout", str(visit.checkout), "--switch", AXES[task.parts[0]]),
            *(("--dtypes", visit.dtypes) if visit.dtypes != "own" else ()),
            *("--timeout", f"{visit.timeout:g}", "--python", str(visit.python), "--root", str(root.folder)),
            task.operator.node,
        ]
        code = self._run(words, root.log("screen"), {LOCKS: str(root.locks)})
        if code in DONE:
            root.note_screened(code, time.monotonic() - start, self._how.at_once)
        else:
            print(f"screen {task.operator.name}: ended with {code}\n{root.said('screen')}", flush=True)
        return code

    def _run(self, words: Sequence[str], log: Path, environment: dict[str, str]) -> int:
        return until(max(1.0, self._left()), [sys.executable, "-m", "zl_bench", *words], environment, log)

    def _root(self, task: Task) -> Root:
        """A second measurement is of the same screen as the first."""
        axis = "aa" if "aa" in task.parts else "rlc"
        return Root(self._visit.work.absolute() / "roots" / axis / task.operator.name)

    def _is_of(self, line: Line, task: Task) -> bool:
        """Whether a measurement was of the screen that is here."""
        told = self._root(task).screened
        return told is not None and told == line["screen"]

    def _costs(self) -> Costs:
        return Costs.of(self._results, self._how.per_row)

    def _left(self) -> float:
        return self._visit.left - ENDING_SECONDS


def cores_for_screens() -> int:
    """A pair that is screened keeps two processes busy."""
    return max(1, len(os.sched_getaffinity(0)) // 2)


def _has_found(line: Line) -> bool:
    return bool(line["record"]) and bool(found_rows(Measured(line)))
