"""The latencies of whatever a summary is given: a run's directory, a root of runs, or a text log."""

from __future__ import annotations

import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zl_bench.analysis.measured import Measured, Regime, Timed
from zl_bench.analysis.wording import listed, one_line
from zl_bench.errors import UsageError
from zl_bench.inside.zl_probe.wire import EVENTS_FILE, INPUT_FILE, LOG_FILE
from zl_bench.model import SIDES, FailedRow, Latency, Row, RowKey, Run, Side
from zl_bench.store.layout import LOCK_FILE, REQUEST_FILE, run_request_file, safe_name
from zl_bench.store.runs import read_outcome, read_run
from zl_bench.store.text_log import read_text_log
from zl_bench.store.timings import asked_timing

ROOT_FILES = (REQUEST_FILE, LOCK_FILE, *map(run_request_file, SIDES))
LONGEST_FAILURE = 100
WHAT_IS_READ = (
    "Give the directory of a run, the root of `zl-bench screen --timing` or `zl-bench run`, or a text log that FlagGems' "
    "benchmark printed."
)


@dataclass(frozen=True)
class Source:
    """The measured rows of one path. `side` is whose runs they are where it holds both sides', else None."""

    path: Path
    rows: tuple[Measured, ...]
    side: Side | None = None
    recorded: bool = True
    """Runs of this tool; otherwise a text log."""
    timed: bool = True
    """False where nothing was to be timed."""
    modes: frozenset[str] = frozenset()
    """Of a text log: FlagGems' own names for how it timed."""
    without_rows: tuple[tuple[str, str], ...] = ()
    """Operators and dtypes that were tried and came to no row; the dtype is empty where it is not known."""
    notes: tuple[str, ...] = ()
    """What is missing or could not be counted, a sentence each."""


@dataclass(frozen=True)
class FoundRun:
    """A run's directory, and what its input.json says it was; empty where it has none that can be read.

    The name of its folder may then still tell the side.
    """

    directory: Path
    operator: str
    dtype: str
    node: str
    side: Side | None


def read_source(path: Path, side: Side) -> Source:
    """The rows of `path`; of a root or folder that has both sides', those of `side`, else all that it has.

    Raises UsageError for anything that holds no such rows.
    """
    try:
        is_file = _is_file(path)
        if path.name == LOG_FILE and (path.parent / EVENTS_FILE).is_file():
            # What a run's log prints includes placeholders; its record knows what was timed.
            path, is_file = path.parent, False
        found = [] if is_file else find_runs(path)
    except OSError as error:
        raise UsageError(
            f"{error.filename or path} can not be read: {error.strerror or error}. {WHAT_IS_READ}"
        ) from error
    if not is_file:
        return _recorded(path, found, side)
    log = read_text_log(path)
    return Source(path, log.rows, recorded=False, modes=log.modes, without_rows=log.without_rows, notes=log.notes)


def _is_file(path: Path) -> bool:
    """Whether it is a file, False for a folder. Raises UsageError for all else: reading a device or a pipe may never end."""
    try:
        mode = path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UsageError(f"{path} does not exist. {WHAT_IS_READ}") from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise UsageError(f"{path} is neither a file nor a folder. {WHAT_IS_READ}")
    return stat.S_ISREG(mode)


def _recorded(path: Path, found: Sequence[FoundRun], side: Side) -> Source:
    sides = {run.side for run in found if run.side is not None}
    taken = side if side in sides else next(iter(sides), None)
    # A run that is named itself is of the side that it is named for; among others it can not be told whose it is.
    known = [run for run in found if run.side is not None or run.directory == path]
    chosen = [run for run in known if run.side == taken]
    runs = [_load(run) for run in chosen]
    timed = (
        not runs
        or any(row.latency is not None for run in runs for row in run.rows)
        or any(asked_timing(run.directory) is not None for run in runs)
    )
    notes = [
        f"{_name(run.directory, path)}: {one_line(run.absence.reason)}"
        for run in runs
        if run.absence is not None and not run.absence.clean
    ]
    notes.extend(
        f"{_name(run.directory, path)}: left out, its {INPUT_FILE} does not tell its side"
        for run in found
        if run not in known
    )
    without_rows = (
        (about.operator, about.dtype)
        for about, run in zip(chosen, runs, strict=True)
        if about.operator and run.absence is not None and not run.absence.clean and not run.rows and not run.failed_rows
    )
    return Source(
        path, tuple(measured_rows(runs)), taken, timed=timed, without_rows=tuple(without_rows), notes=tuple(notes)
    )


def _name(directory: Path, source: Path) -> str:
    return str(directory.relative_to(source)) if directory != source else source.name


def sides_of(path: Path) -> set[Side]:
    """The sides of which a folder holds runs; none of a text log."""
    return {run.side for run in find_runs(path) if run.side is not None} if path.is_dir() else set()


def find_runs(folder: Path) -> list[FoundRun]:
    """The runs in a folder, which may be one, hold those of an operator's nodes, or be a root; without self-checks.

    In the order of their folders. Raises UsageError if there are none, naming the roots below where there are some.
    """
    if (folder / EVENTS_FILE).is_file():
        return [_found(folder)]
    roots = [] if _is_root(folder) else [path for path in sorted(folder.iterdir()) if _is_root(path)]
    runs = [run for run in _below(folder) if not _is_repetition(folder, run)] if not roots else []
    if not runs:
        among = f"It holds {listed(str(path) for path in roots)}: give one of them." if roots else WHAT_IS_READ
        raise UsageError(f"{folder} holds no run itself. {among}")
    return runs


def measured_rows(runs: Sequence[Run]) -> Iterator[Measured]:
    """The rows of the runs together, failed ones included; a key that several runs have moves to the next free ordinal."""
    used: set[RowKey] = set()
    occurrences: Counter[tuple[str, str, str]] = Counter()
    for run in runs:
        failed = {row.key: row for row in run.failed_rows}
        told: dict[RowKey, Row | FailedRow] = {**{row.key: row for row in run.rows}, **failed}
        for key in sorted(told):
            free = key
            while free in used:
                free = replace(free, ordinal=free.ordinal + 1)
            used.add(free)
            size = free.operator, free.dtype, free.detail.strip()
            yield _measured(told[key], free, occurrences[size])
            occurrences[size] += 1


def _measured(row: Row | FailedRow, key: RowKey, occurrence: int) -> Measured:
    measured = Measured(key.operator, key.dtype, key.detail, key.node, key.ordinal, occurrence, None)
    if isinstance(row, FailedRow):
        return replace(measured, failure=one_line(row.message, LONGEST_FAILURE) or "the row failed")
    if row.latency is None:
        return replace(measured, failure="its run was not timed")
    return replace(
        measured,
        own=_timed(row.latency),
        failure=one_line(row.latency.invalid, LONGEST_FAILURE),
        torch=_timed(row.baseline) if row.baseline is not None else None,
        direct=row.latency.method != "graph",
        torch_direct=row.baseline is not None and row.baseline.method != "graph",
        launch_bound=row.latency.launch_bound,
    )


def _timed(latency: Latency) -> Timed | None:
    return None if latency.invalid else Timed(latency.median_ms, Regime(latency.method, latency.l2))


def _load(found: FoundRun) -> Run:
    return read_run(found.directory, found.node, found.side or "before", read_outcome(found.directory))


def _below(folder: Path) -> list[FoundRun]:
    """The runs in the folder's folders, and in theirs.

    An operator's nodes are run one after the other, in the order in which its suite has them; so are they here.
    """
    directories: list[Path] = []
    for child in (path for path in folder.iterdir() if path.is_dir()):
        below = [child] if (child / EVENTS_FILE).is_file() else child.iterdir()
        directories.extend(path for path in below if (path / EVENTS_FILE).is_file())
    # A run that links lead to as well counts once, by itself if it is here.
    directories.sort(key=lambda path: (len(path.parts), path.is_symlink() or path.parent.is_symlink(), str(path)))
    once = {os.path.realpath(directory): directory for directory in reversed(directories)}
    found = []
    for directory in once.values():
        run, top = _found(directory), directory.relative_to(folder).parts[0]
        of_operator = "" if top == safe_name(run.node) else top  # the folder itself is an operator's
        found.append(((of_operator, _started(directory), str(directory)), run))
    return [run for _, run in sorted(found, key=lambda entry: entry[0])]


def _is_root(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ROOT_FILES)


def _is_repetition(folder: Path, run: FoundRun) -> bool:
    """Whether a run is the before side's repetition in a self-check, which is compiled again to be compared with itself."""
    top = run.directory.relative_to(folder).parts[0]
    return top.endswith("_again") and top != safe_name(run.node)


def _started(directory: Path) -> float:
    """When the run's first process told its first event, in seconds since the epoch; 0 where that is not known."""
    try:
        with (directory / EVENTS_FILE).open(encoding="utf-8", errors="replace") as stream:
            return float(json.loads(stream.readline())["t"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return 0.0


def _found(directory: Path) -> FoundRun:
    try:
        record = json.loads((directory / INPUT_FILE).read_text(encoding="utf-8"))
        operator, dtype, node, told = (str(record.get(name) or "") for name in ("operator", "dtype", "node", "side"))
    except (OSError, ValueError, AttributeError, RecursionError):
        operator, dtype, node, told = "", "", "", ""
    side = next((known for known in SIDES if known == told), None)
    return FoundRun(directory, operator, dtype, node, side or _side_by_name(directory))


def _side_by_name(directory: Path) -> Side | None:
    """The side by the name of an operator's folder, which is the run's or the one above it; None unless it is clear."""
    folders = (directory.absolute().name, directory.absolute().parent.name)
    names = [name for name in folders if safe_name("::") not in name]  # those of nodes are the suite's own
    told = {side for side in SIDES if any(name.endswith(f"_{side}") for name in names)}
    return told.pop() if len(told) == 1 else None
