"""Comparing many pairs of stages: in order, and in processes of their own where there are enough of them to be worth it."""

from __future__ import annotations

import gc
import os
import signal
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

from zl_bench.analysis.prints import Unreadable
from zl_bench.errors import ZlBenchError
from zl_bench.ir.side_by_side import SideBySide, side_by_side
from zl_bench.model import StageText
from zl_bench.reports.report_view import StageView
from zl_bench.workflow.judge import read_stage

StagePair = tuple[StageView, StageView]
"""A stage as both sides have it."""
Comparison = SideBySide | str
"""What differs, or why nothing can be said."""

FEW = 100
"""Pairs that are compared sooner than a process has started."""
TOGETHER = 8
"""Pairs that a process is given at a time."""
MOST_PROCESSES = 4


def processes_for(pairs: int) -> int:
    """How many processes compare so many pairs: one for each core that may be used, none beside this one for a few."""
    return 1 if pairs < FEW else min(len(os.sched_getaffinity(0)), MOST_PROCESSES)


def compared(root: Path, pairs: Sequence[StagePair], processes: int) -> Generator[Comparison, None, None]:
    """The comparison of each pair, in their order. Whoever closes this early has a few compared in vain, and no more.

    The stages' paths are relative to `root`.
    """
    done = 0
    if processes > 1:
        try:
            for comparison in _beside(root, pairs, processes):
                yield comparison
                done += 1
        except BrokenProcessPool:
            pass  # One was killed, for its memory perhaps; what it would have found is found here.
    for pair in pairs[done:]:
        yield compare(root, pair)


def compare(root: Path, pair: StagePair) -> Comparison:
    """What differs between the two, or why that can not be told: a file that is gone, another one, or unreadable."""
    contents = [read_stage(StageText(stage.name, root / stage.path, stage.sha256)) for stage in pair]
    old, new = contents
    if isinstance(old, Unreadable) or isinstance(new, Unreadable):
        return " and ".join(content.message for content in contents if isinstance(content, Unreadable))
    try:
        return side_by_side(pair[0].name, old, new)
    except ZlBenchError as error:
        return str(error)


def _beside(root: Path, pairs: Sequence[StagePair], processes: int) -> Iterator[Comparison]:
    portions = iter([pairs[place : place + TOGETHER] for place in range(0, len(pairs), TOGETHER)])
    # Libraries of this process have threads, which a plain fork would leave in an unknown state.
    with ProcessPoolExecutor(processes, get_context("spawn"), _begin) as pool:
        waiting: deque[Future[list[Comparison]]] = deque()
        try:
            while True:
                free = 2 * processes - len(waiting)
                waiting.extend(pool.submit(_compare_all, root, portion) for portion in islice(portions, free))
                if not waiting:
                    return
                yield from waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _compare_all(root: Path, pairs: Sequence[StagePair]) -> list[Comparison]:
    return [compare(root, pair) for pair in pairs]


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to tell of
    gc.disable()  # texts and lists of them refer to nothing that refers to them
