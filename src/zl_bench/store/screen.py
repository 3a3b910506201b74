"""The growing record of a screen: screen.jsonl, one line per finished operator, and screen.tsv, made from all of them.

screen.jsonl is the truth. A line is on disk before the operator counts as finished; one cut short by a kill or a full
disk is no operator. screen.tsv is rewritten as a whole after each, BROKEN first, so that it is always a readable table.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

from zl_bench.analysis.wording import counted
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import JudgedOperator, NodeVerdict, OperatorVerdict, PairedRow, Status, Verdict
from zl_bench.store.files import append_durably, unwritable, write_atomically
from zl_bench.store.judged import read_nodes, read_verdict
from zl_bench.store.layout import RECORD_FILE, TABLE_FILE

COLUMNS = (
    "operator",
    "dtype",
    "verdict",
    "rows",
    "changed_rows",
    "kernels",
    "converts_before",
    "converts_after",
    "first_stage",
    "machine_code",
    "pins",
    "reason",
    "seconds",
    "status",
    "numerics",
)
"""The columns of screen.tsv, in order; each is a field of OperatorVerdict."""

Read = TypeVar("Read")

LINE_BREAKS = re.compile(r"[\s\x00-\x1f\x7f\x85\u2028\u2029]+")


class ScreenRecord:
    """The record in one root. Hold the root (`layout.hold_root`) while writing."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._path = root / RECORD_FILE

    def finished(self) -> list[OperatorVerdict]:
        """The verdicts of all finished operators in the order in which they finished; the last one of an entry counts.

        Raises UsageError for a damaged record, EnvironmentUnfit for an unreadable one.
        """
        return self._finished(read_verdict)

    def judged(self) -> list[JudgedOperator]:
        """The same with all that the record holds of each: nodes, rows and kernels."""
        return [JudgedOperator(verdict, nodes) for verdict, nodes in self._finished(_read_judged)]

    def _finished(self, read: Callable[[Mapping[str, Any]], Read]) -> list[Read]:
        """Each finished operator as `read` makes it from its line."""
        try:
            text = self._path.read_bytes().decode("utf-8", "replace")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise EnvironmentUnfit(f"can not read {self._path}: {error.strerror or error}.") from error
        lines = text.split("\n")
        whole, _cut = lines[:-1], lines[-1]
        found: dict[tuple[str, str], Read] = {}
        for number, line in enumerate(whole, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                found[str(record["operator"]), str(record["dtype"])] = read(record)
            except (ValueError, KeyError, TypeError) as error:
                raise UsageError(
                    f"{self._path}, line {number}, is no finished operator ({error!r}). Nothing was changed. "
                    "Remove that line to screen its operator again, or name another folder with --root."
                ) from error
        return list(found.values())

    def prepare(self) -> list[OperatorVerdict]:
        """Cut a half-written last line, so that the next one starts on its own, and return what is finished."""
        verdicts = self.finished()
        try:
            if self._path.exists():
                with self._path.open("r+b") as stream:
                    content = stream.read()
                    stream.truncate(content.rfind(b"\n") + 1)
        except OSError as error:
            raise unwritable(self._path, error, self._kept(len(verdicts))) from error
        return verdicts

    def append(self, judged: JudgedOperator) -> None:
        """Put one finished operator on disk. Raises EnvironmentUnfit, naming how many are kept."""
        line = json.dumps(operator_record(judged), separators=(",", ":"))
        try:
            append_durably(self._path, line, kept="")
        except EnvironmentUnfit as error:
            cause = error.__cause__
            if not isinstance(cause, OSError):
                raise
            raise unwritable(self._path, cause, self._kept(len(self.finished()))) from cause

    def write_table(self, verdicts: Sequence[OperatorVerdict], order: Sequence[tuple[str, str]] = ()) -> None:
        """Rewrite screen.tsv. `order` is the request's (operator, dtype) entries, dtype `-` when none was given."""
        lines = ["\t".join(COLUMNS), *(table_line(verdict) for verdict in table_order(verdicts, order))]
        write_atomically(self._root / TABLE_FILE, "\n".join(lines) + "\n", kept=self._kept(len(verdicts)))

    def _kept(self, count: int) -> str:
        return f"{counted(count, 'finished operator')} {'is' if count == 1 else 'are'} kept in {RECORD_FILE}"


def table_order(verdicts: Sequence[OperatorVerdict], order: Sequence[tuple[str, str]] = ()) -> list[OperatorVerdict]:
    """The verdicts as every table lists them: BROKEN first, then by verdict, each in the order of the request."""
    ranks = {verdict: rank for rank, verdict in enumerate(Verdict)}
    places = {entry: place for place, entry in reversed(list(enumerate(order)))}
    return sorted(
        verdicts,
        key=lambda verdict: (ranks[verdict.verdict], places.get((verdict.operator, verdict.dtype), len(places))),
    )


def table_line(verdict: OperatorVerdict) -> str:
    """One line of screen.tsv, without its newline. Whatever a cell holds, a line stays a line and a cell a cell."""
    return "\t".join(_cell(getattr(verdict, name)) for name in COLUMNS)


def operator_record(judged: JudgedOperator) -> dict[str, Any]:
    """The JSON object of one operator in screen.jsonl: its verdict and the same per node, row and kernel."""
    return {**_verdict_record(judged.verdict), "nodes": [_node_record(node) for node in judged.nodes]}


def _cell(value: object) -> str:
    if isinstance(value, (Verdict, Status)):
        return str(value.value)
    if isinstance(value, float):
        return f"{value:.1f}"
    return LINE_BREAKS.sub(" ", str(value)).strip()


def _verdict_record(verdict: OperatorVerdict) -> dict[str, Any]:
    return {**asdict(verdict), "verdict": verdict.verdict.value, "status": verdict.status.value}


def _read_judged(record: Mapping[str, Any]) -> tuple[OperatorVerdict, tuple[NodeVerdict, ...]]:
    verdict = read_verdict(record)
    return verdict, read_nodes(verdict, record.get("nodes", []))


def _node_record(node: NodeVerdict) -> dict[str, Any]:
    """A node without what its operator's line says already."""
    summary = _verdict_record(node.summary)
    for name in ("operator", "dtype", "seconds"):
        del summary[name]
    return {
        "node": node.node,
        **summary,
        "paired": [_row_record(row) for row in node.paired],
        "broken": [asdict(row) for row in node.broken],
        "one_sided": [asdict(row) for row in node.one_sided],
        "failed": [{"side": side, **asdict(row)} for side, row in node.failed],
        "absences": [{"side": side, **asdict(absence)} for side, absence in node.absences],
        "missing_pins": [{"side": side, **asdict(pin)} for side, pin in node.missing_pins],
        "shapes": [asdict(finding) for finding in node.shapes],
    }


def _row_record(row: PairedRow) -> dict[str, Any]:
    record = asdict(replace(row, launches=()))
    if record["numerics"] is not None:  # JSON has no infinite numbers: those are written as text, `inf`
        record["numerics"] = {name: _json_number(value) for name, value in record["numerics"].items()}
    del record["launches"]
    told = {launch: asdict(launch) for launch in set(row.launches)}  # a row may launch one kernel 10,000 times
    record["kernels"] = [told[launch] for launch in row.launches]
    return record


def _json_number(value: object) -> object:
    return str(value) if isinstance(value, float) and not isfinite(value) else value
