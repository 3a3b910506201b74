"""What the page can show of the code itself: comparisons of stages, gathered before anything is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zl_bench.ir.side_by_side import SideBySide
from zl_bench.reports.report_view import StageView

Pair = tuple[str, str, str]
"""The stage and the contents of both sides: two launches with the same pair have the same comparison."""


@dataclass(frozen=True)
class Differences:
    """Comparisons of the stages that differ, or why one is not here, by pair."""

    found: Mapping[Pair, SideBySide | str] = field(default_factory=dict)
    note: str = ""
    """What was left out of the page as a whole, as a sentence; empty where nothing was."""


def pair_of(before: StageView, after: StageView) -> Pair:
    """The pair of two stages of the same name. A file without a hash is known by its path alone."""
    return before.name, before.sha256 or before.path, after.sha256 or after.path
