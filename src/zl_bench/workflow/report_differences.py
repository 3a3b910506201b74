"""What differs in the code of a root's changed kernels, for the report that shows it: each distinct pair of stages once.

Aligning takes time and a page has to stay small, so there is an end to it: the stage that decides verdicts comes first, of
every operator, then the others in the order of the pipeline. What is left out says so where it would stand.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from zl_bench.ir.side_by_side import SideBySide
from zl_bench.ir.stages import order_stages
from zl_bench.reports.html import Differences, Pair, pair_of
from zl_bench.reports.report_view import LaunchView, ReportView, StageView
from zl_bench.workflow.judge import DEFAULT_CRITERION
from zl_bench.workflow.report_comparing import Comparison, compared, processes_for

MOST_LINES = 800_000
"""Lines that are aligned in all, both sides counted: about half a minute of work for one core."""
MOST_SHOWN = 24_000_000
"""Characters of comparisons that are kept in all, which are about 4 MB of a page."""
TOO_LARGE = "the page would become too large"


def read_differences(
    root: Path,
    view: ReportView,
    *,
    most_lines: int = MOST_LINES,
    most_shown: int = MOST_SHOWN,
    processes: int | None = None,
) -> Differences:
    """The comparisons of all stages that differ, as far as those limits reach; those of a file that is gone say so.

    Args:
        root: the folder to which the stages' paths are relative.
        view: the report that shows them.
        most_lines: where aligning ends, in lines of both sides.
        most_shown: where keeping ends, in characters of comparisons that are not the same.
        processes: how many compare; as many as are worth it unless given. The result does not depend on it.
    """
    pairs = {pair_of(before, after): (before, after) for before, after in _pairs(view)}
    found: dict[Pair, Comparison] = {}
    shown_once: dict[SideBySide, SideBySide] = {}
    lines = shown = 0
    at_work = processes if processes is not None else processes_for(len(pairs))
    with closing(compared(root, list(pairs.values()), at_work)) as comparisons:
        for pair in pairs:
            if lines >= most_lines or shown >= most_shown:
                break
            found[pair] = comparison = next(comparisons)
            if isinstance(comparison, str):
                continue
            lines += comparison.before_lines + comparison.after_lines
            found[pair] = kept = shown_once.setdefault(comparison, comparison)
            if kept is comparison:
                shown += sum(len(text) for line in comparison.lines for text in (line.before, line.after) if text)
    left_out = len(pairs) - len(found)
    return Differences({pair: found.get(pair, TOO_LARGE) for pair in pairs}, _note(len(pairs), left_out))


def _pairs(view: ReportView) -> Iterator[tuple[StageView, StageView]]:
    """The stages that differ, as both sides have them: stage after stage, and of each one pair of every kernel's name first.

    So an end that comes early takes further variants of kernels, and not the operators that come last.
    """
    launches = list(_one_of_each_first(view))
    for stage in _stages_in_turn(view, {name for launch in launches for name in launch.changed_stages}):
        for launch in launches:
            if stage not in launch.changed_stages or launch.before is None or launch.after is None:
                continue
            before, after = (_stage(view, number, stage) for number in (launch.before, launch.after))
            if before is not None and after is not None:
                yield before, after


def _one_of_each_first(view: ReportView) -> Iterator[LaunchView]:
    """The changed launches of all rows: the first of each kernel's name in an operator, then all."""
    for repeated in (False, True):
        for operator in view.operators:
            seen: set[str] = set()
            for launch in (launch for row in operator.rows for launch in row.launches if launch.changed_stages):
                if repeated or launch.name not in seen:
                    yield launch
                seen.add(launch.name)


def _stages_in_turn(view: ReportView, names: set[str]) -> list[str]:
    criterion = view.screen.criterion if view.screen is not None else DEFAULT_CRITERION
    return sorted(order_stages(names), key=lambda name: name != criterion)


def _stage(view: ReportView, kernel: int, name: str) -> StageView | None:
    return next((stage for stage in view.kernels[kernel].stages if stage.name == name), None)


def _note(pairs: int, left_out: int) -> str:
    if not left_out:
        return ""
    return (
        f"Of {pairs} pairs of stages that differ, {left_out} are not in this page, which would become too large: "
        "`zl-bench show ENTRY --row N --stage STAGE` prints them."
    )
