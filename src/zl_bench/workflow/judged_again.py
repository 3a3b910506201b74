"""An operator of a finished screen, judged again from its runs; or as the screen judged it, where files are lost since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from zl_bench.analysis.nodes import distinct_rows
from zl_bench.analysis.prints import Unreadable
from zl_bench.analysis.wording import listed
from zl_bench.inside.zl_probe.wire import EVENTS_FILE
from zl_bench.model import SIDES, AskedShapes, JudgedOperator, NodeVerdict, RowKey, Run, Side, Status
from zl_bench.store.layout import operator_folder
from zl_bench.store.request import ScreenRequest
from zl_bench.store.screen import ScreenRecord
from zl_bench.store.screened import LoadedOperator, join_entry
from zl_bench.workflow.judge import DEFAULT_CRITERION, StageFingerprints, judge_operator

RECORD_LOST = ("crashed", "not started")
"""What a run looks like whose events are gone, cut short or damaged."""


@dataclass(frozen=True)
class JudgedAgain:
    """`lost` says which records are missing or damaged since the screen judged them; then `judged` is what it recorded."""

    judged: JudgedOperator
    lost: tuple[str, ...] = ()
    advice: str = ""
    """How to come by what is lost."""

    @property
    def told(self) -> tuple[str, ...]:
        """What is lost and what to do, a sentence or two each; nothing where nothing is lost."""
        return (*self.lost, self.advice) if self.lost else ()


def judge_again(
    root: Path, loaded: LoadedOperator, request: ScreenRequest | None, shapes: AskedShapes | None = None
) -> JudgedAgain:
    """Judge the runs of an operator. What became of their files after the screen is no doing of the switch."""
    prints = StageFingerprints()
    judged = judge_operator(
        loaded.operator,
        loaded.dtype,
        loaded.nodes,
        criterion=request.criterion if request is not None else DEFAULT_CRITERION,
        again=loaded.again,
        fingerprints=prints,
        shapes=shapes,
    )
    if judged.verdict.status is Status.COMPLETE:  # so nothing is missing
        return JudgedAgain(judged)
    place = (judged.verdict.operator, judged.verdict.dtype)
    for recorded in ScreenRecord(root).judged():
        if (recorded.verdict.operator, recorded.verdict.dtype) == place:
            lost = tuple(
                f"The record of the {side} side is missing or damaged since it was judged: {what}."
                for node in recorded.nodes
                for side in SIDES
                for what in _lost(root, loaded, node, side, prints)
            )
            if lost:
                return JudgedAgain(_as_the_runs_lie(recorded, loaded), lost, _screen_it_again(loaded, request))
    return JudgedAgain(judged)


def lost_its_events(recorded: JudgedOperator, loaded: LoadedOperator) -> bool:
    """Whether the record of a run from which that verdict was made is missing, cut short or damaged since."""
    return any(_lacks_events(loaded.run(node.node, side), node) for node in recorded.nodes for side in SIDES)


def _screen_it_again(loaded: LoadedOperator, request: ScreenRequest | None) -> str:
    entry = join_entry(loaded.operator, loaded.dtype)
    asked = f" This screen was: {request.commands[0]}" if request is not None and request.commands else ""
    return f"Screen {entry} again, into another folder with --root, for what is lost.{asked}"


def _as_the_runs_lie(recorded: JudgedOperator, loaded: LoadedOperator) -> JudgedOperator:
    """The nodes in the order in which every listing of the root numbers their rows."""
    places = {before.node: place for place, (before, _) in enumerate(loaded.nodes)}
    nodes = sorted(recorded.nodes, key=lambda node: places.get(node.node, len(places)))
    return replace(recorded, nodes=tuple(nodes))


def _lost(
    root: Path, loaded: LoadedOperator, node: NodeVerdict, side: Side, prints: StageFingerprints
) -> Iterator[str]:
    """What is wrong with the files of a run from which the recorded verdict was made."""
    run = loaded.run(node.node, side)
    if _lacks_events(run, node):
        yield _what_became_of_the_events(root, loaded, run)
    judged = _rows_judged(node, side)
    rows = [row for row in distinct_rows(run.rows) if row.key in judged]
    stages = [stage for row in rows for kernel in row.launches for stage in kernel.stages]
    found = prints.of(stages)
    messages = dict.fromkeys(
        content.message for stage in stages if isinstance(content := found[stage.path], Unreadable)
    )
    if messages:
        yield f"in {stages[0].path.parent}, {listed(messages)}"


def _lacks_events(run: Run, node: NodeVerdict) -> bool:
    ended_well = all(side != run.side for side, _ in node.absences)
    if ended_well and run.absence is not None and run.absence.kind in RECORD_LOST:
        return True
    return not _rows_judged(node, run.side) <= {row.key for row in distinct_rows(run.rows)}


def _rows_judged(node: NodeVerdict, side: Side) -> set[RowKey]:
    """The rows that the side had when it was judged, as far as anything was compared with them."""
    alone = {row.key for row in node.one_sided if row.side == side}
    return {row.key for row in node.paired} | alone | {row.key for row in node.broken if row.side != side}


def _what_became_of_the_events(root: Path, loaded: LoadedOperator, run: Run) -> str:
    if run.directory == Path():
        folder = operator_folder(root, loaded.operator, loaded.dtype, run.side)
        return f"{folder} has no run of {join_entry(loaded.operator, loaded.dtype)} ({run.node}) any more"
    path = run.directory / EVENTS_FILE
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return f"{path} is gone"
    except OSError as error:
        return f"{path} can not be read ({error.strerror or error})"
    return f"{path} is {'damaged or cut short' if size else 'empty'}"
