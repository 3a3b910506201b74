"""Finding and loading the runs of a screened root again, from nothing but the root."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from zl_bench.errors import UsageError
from zl_bench.inside.zl_probe.wire import FIRST_DTYPE, INPUT_FILE
from zl_bench.model import SIDES, ProcessOutcome, Run, Side, split_entry
from zl_bench.store.layout import Folder, operator_folder
from zl_bench.store.runs import read_outcome, read_run


@dataclass(frozen=True)
class LoadedOperator:
    """The runs of one operator entry, as they lie in a root."""

    operator: str
    dtype: str | None
    nodes: tuple[tuple[Run, Run], ...]
    """(before, after) of each node."""
    again: dict[str, Run]
    """By node, the before side's repetition of a self-check, where there is one."""

    def run(self, node: str, side: Side) -> Run:
        """That side's run of a node; of a node that the root does not have, a run that was never started."""
        for before, after in self.nodes:
            if before.node == node:
                return before if side == "before" else after
        return _run({}, node, side)


def join_entry(operator: str, dtype: str | None) -> str:
    """The inverse of `split_entry`."""
    return operator if dtype is None else f"{operator}:{dtype}"


def screened_entries(root: Path) -> list[str]:
    """The operator entries that have a run in `root`, sorted."""
    entries = set()
    for side in SIDES:
        for folder in root.glob(f"*_{side}"):
            for _, record in _inputs(folder):
                operator, dtype = str(record["operator"]), record.get("dtype")
                # `--dtypes first` tells the run so; the operator was asked for without a dtype, and its folder has none.
                own = dtype is None or (dtype == FIRST_DTYPE and operator_folder(root, operator, None, side) == folder)
                entries.add(join_entry(operator, None if own else str(dtype)))
    return sorted(entries)


def named_entry(root: Path, text: str) -> str:
    """The entry that is meant: the one of that text, or else the only one that it can be, or else the text itself.

    That is `softmax:float16` for `softmax` where the root has no other of softmax, and `mm` for `mm:first`.
    """
    there = screened_entries(root)
    operator, dtype = split_entry(text)
    alike = [entry for entry in there if split_entry(entry)[0] == operator]
    if text in there or len(alike) != 1:
        return text
    return alike[0] if dtype is None or (dtype == FIRST_DTYPE and alike[0] == operator) else text


def recorded_interpreter(root: Path) -> str:
    """The Python that the before side's runs of a root had, as the first readable one of them tells; empty if none does."""
    for folder in sorted(root.glob("*_before")):
        for directory, _ in _inputs(folder):
            run = read_run(directory, "", "before", read_outcome(directory))
            told = str(run.environment.get("interpreter") or "")
            if told:
                return told
    return ""


def load_operator(root: Path, operator: str, dtype: str | None) -> LoadedOperator:
    """The runs of one entry. Raises UsageError, which says what there is, if the root does not have it."""
    if not root.is_dir():
        raise UsageError(f"{root} is no folder; give the root of a screen, such as runs/ab_…")
    before = _runs_by_node(root, operator, dtype, "before")
    after = _runs_by_node(root, operator, dtype, "after")
    nodes = list(dict.fromkeys((*before, *after)))
    if not nodes:
        there = screened_entries(root)
        has = f"It has {', '.join(there)}." if there else "It has no run of any operator; is it the root of a screen?"
        raise UsageError(f"{root} has no run of {join_entry(operator, dtype)}. {has}")
    pairs = tuple((_run(before, node, "before"), _run(after, node, "after")) for node in nodes)
    again = _runs_by_node(root, operator, dtype, "again")
    return LoadedOperator(operator, dtype, pairs, {node: _run(again, node, "before") for node in again})


def _run(directories: dict[str, Path], node: str, side: Side) -> Run:
    directory = directories.get(node)
    if directory is None:
        return read_run(Path(), node, side, ProcessOutcome("not started", detail=f"the {side} run was never started"))
    return read_run(directory, node, side, read_outcome(directory))


def _runs_by_node(root: Path, operator: str, dtype: str | None, folder: Folder) -> dict[str, Path]:
    return {str(record["node"]): path for path, record in _inputs(operator_folder(root, operator, dtype, folder))}


def _inputs(folder: Path) -> Iterator[tuple[Path, dict[str, object]]]:
    """The run directories in an operator's folder, which may be one itself, with their input.json."""
    for directory in (folder, *sorted(path for path in folder.glob("*") if path.is_dir())):
        try:
            record = json.loads((directory / INPUT_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if isinstance(record, dict) and {"operator", "node"} <= record.keys():
            yield directory, record
