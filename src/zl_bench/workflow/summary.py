"""`summary`: reads the latencies of what it is given, and compares operators with torch, or two sides with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.ab import Comparison, compare
from zl_bench.analysis.summary import OperatorSummary, summarise
from zl_bench.analysis.wording import counted
from zl_bench.errors import UsageError
from zl_bench.model import SIDES, Side
from zl_bench.store.latencies import Source, read_source, sides_of
from zl_bench.store.layout import REQUEST_FILE


@dataclass(frozen=True)
class TorchSummary:
    """Operators against torch. `sources` says what was read, `notes` what should be known of it."""

    operators: tuple[OperatorSummary, ...]
    sources: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AbSummary:
    """Two sides of the same operators."""

    operators: tuple[Comparison, ...]
    before: str
    after: str
    notes: tuple[str, ...]


def summarise_torch(paths: Sequence[Path], side: Side | None) -> TorchSummary:
    """Compare the operators of all paths together with torch. Without `side`, a root that has both shows its before runs.

    Raises UsageError for a path that holds no latencies.
    """
    sources = [_timed_source(path, side or "before") for path in paths]
    notes = [note for source in sources for note in _notes(source)]
    if side is not None:
        notes[:0] = [_lacks(source, side) for source in sources if source.recorded and source.side not in (side, None)]
    else:
        both = [path for path in paths if len(sides_of(path)) > 1]
        notes[:0] = [
            f"{path} has runs of both sides; these are its before runs, --side after shows the others" for path in both
        ]
    groups = Counter(group for source in sources for group in {row.group for row in source.rows})
    notes.extend(
        f"{operator} {dtype} is in {times} of the sources: its rows add up"
        for (operator, dtype), times in sorted(groups.items())
        if times > 1
    )
    rows = [row for source in sources for row in source.rows]
    return TorchSummary(summarise(rows, _tried(*sources)), tuple(map(_described, sources)), tuple(notes))


def summarise_ab(before: Path, after: Path | None = None) -> AbSummary:
    """Compare the rows of two paths, or of the two sides of one root.

    Raises UsageError for a path that holds no latencies, or for one alone that has not both sides.
    """
    old, new = _timed_source(before, "before"), _timed_source(before if after is None else after, "after")
    if after is None and old.side == new.side:
        what = f"only has runs of the {old.side} side" if old.side is not None else "has no two sides"
        raise UsageError(f"{before} {what}: there is nothing to compare it with. Give two: --ab BEFORE AFTER.")
    notes = [_lacks(source, side) for source, side in ((old, SIDES[0]), (new, SIDES[1])) if _swapped(source, side)]
    notes.extend(f"{side}: {note}" for side, source in (("before", old), ("after", new)) for note in _notes(source))
    if old.modes and new.modes and old.modes != new.modes:
        modes = "; ".join(
            f"{side} {', '.join(sorted(source.modes))}" for side, source in (("before", old), ("after", new))
        )
        notes.append(
            f"the two logs were timed in different modes of FlagGems' benchmark ({modes}): their ratio is of both"
        )
    return AbSummary(compare(old.rows, new.rows, _tried(old, new)), _described(old), _described(new), tuple(notes))


def _timed_source(path: Path, side: Side) -> Source:
    source = read_source(path, side)
    if not source.timed:
        raise UsageError(
            f"{path} holds no latency: its rows were recorded without timing. Screen with --timing (graph, queued or direct) "
            "on a card, or use `zl-bench run`, and give that root."
        )
    return source


def _tried(*sources: Source) -> list[tuple[str, str]]:
    return [group for source in sources for group in source.without_rows]


def _described(source: Source) -> str:
    what = f"{source.side} runs" if source.side is not None else "runs" if source.recorded else "text log"
    return f"{source.path} ({what})"


def _swapped(source: Source, side: Side) -> bool:
    """Whether the root of a screen was to give one side's runs and has only the other's; other runs are of one side anyhow."""
    return source.side not in (side, None) and (source.path / REQUEST_FILE).is_file()


def _lacks(source: Source, side: Side) -> str:
    return f"{source.path} has no run of the {side} side; those of the {source.side} side are taken"


def _notes(source: Source) -> Iterator[str]:
    yield from (f"{source.path}: {note}" for note in source.notes)
    if not source.rows:
        yield f"{source.path}: {counted(0, 'row')}"
