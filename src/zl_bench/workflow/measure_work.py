"""What there is to measure in a screened root: operators, their rows and kinds, and the code that was screened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zl_bench.analysis.measurable import RowToMeasure, Screened, kind_of, lacking_placebos, lenders
from zl_bench.analysis.nodes import distinct_rows
from zl_bench.analysis.pairing import pair_rows, unreadable_row
from zl_bench.analysis.prints import Fingerprints, StageRules, Unreadable
from zl_bench.errors import UsageError
from zl_bench.model import Kernel, OperatorVerdict, PairedRow, Pin, Row, RowKey, Run, Side, Verdict, split_entry
from zl_bench.store.screened import LoadedOperator, load_operator
from zl_bench.suites.base import Entry
from zl_bench.workflow.attempts import distinct_pins
from zl_bench.workflow.judge import StageFingerprints, judge_operator, recorded_stages, stage_rules

DIGITS = 16
"""Of a code hash, as it is written down."""


@dataclass(frozen=True)
class NodeToMeasure:
    """One node of an operator: the rows to time, and the screen's runs, whose pins and code are used again."""

    entry: Entry
    node: str
    rows: Mapping[RowKey, RowToMeasure]
    before: Run
    after: Run

    @property
    def pins(self) -> tuple[Pin, ...]:
        """The before side's choices, which both sides replay."""
        return distinct_pins(self.before.pins)

    def screened(self, side: Side) -> Run:
        """The screen's run of that side."""
        return self.before if side == "before" else self.after

    @property
    def text(self) -> str:
        """For people."""
        return self.entry.text if len(self.entry.nodes) == 1 else f"{self.entry.text} {self.node}"


@dataclass(frozen=True)
class Work:
    """Everything that is to be measured. `notes` are for people, a sentence each; `failures` too, of what should have been."""

    nodes: tuple[NodeToMeasure, ...]
    notes: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The operators, each once."""
        return tuple(dict.fromkeys(node.entry for node in self.nodes))


@dataclass
class Code:
    """Fingerprints of what was screened and of what is launched: the one implementation of the tool (R6)."""

    criterion: str
    prints: StageFingerprints = field(default_factory=StageFingerprints)

    def of(self, runs: Iterable[Run]) -> tuple[Fingerprints, StageRules]:
        """The fingerprints of all that these runs and those before them recorded."""
        stages = list(recorded_stages(runs))
        return self.prints.of(stages), stage_rules(stages, self.criterion)

    def deviation(self, screened: Run, measured: Run, keys: Iterable[RowKey]) -> str:
        """The first kernel of these rows that a run launched and that is not what was screened; empty if all are."""
        prints, rules = self.of([screened, measured])
        known, found = (
            {row.key: row for row in distinct_rows(run.rows) if row.key in keys} for run in (screened, measured)
        )
        for key, row in found.items():
            why = _deviates(known[key], row, prints, rules)
            if why:
                return f"{measured.side}: {key.operator} {key.dtype} {key.detail}: {why}"
        return ""

    def hashes(self, run: Run, keys: Iterable[RowKey]) -> dict[RowKey, list[dict[str, Any]]]:
        """Of each row the distinct kernels, with their configuration and their fingerprints at the stages that decide."""
        prints, rules = self.of([run])
        wanted = {rules.criterion, *rules.machine_code}
        return {row.key: _hashes(row.launches, prints, wanted) for row in distinct_rows(run.rows) if row.key in keys}


def screened_operator(verdict: OperatorVerdict) -> Screened:
    """What choosing needs to know of a verdict."""
    return Screened(
        operator=verdict.operator,
        dtype=None if verdict.dtype == "-" else verdict.dtype,
        verdict=verdict.verdict,
        code_differs=verdict.machine_code == "differs",
        seconds=verdict.seconds,
    )


def choose(verdicts: Sequence[OperatorVerdict], named: Sequence[str], root: Path) -> list[Screened]:
    """The operators to measure: those whose machine code differs, or those that are named.

    Raises UsageError, which says what there is, for a name that the root does not have.
    """
    screened = [screened_operator(verdict) for verdict in verdicts]
    if not named:
        return [one for one in screened if one.worth_measuring]
    chosen: list[Screened] = []
    for text in named:
        operator, dtype = split_entry(text)
        found = [one for one in screened if one.operator == operator and dtype in (None, one.dtype)]
        if not found:
            there = ", ".join(dict.fromkeys(one.operator for one in screened)) or "none"
            raise UsageError(f"{root} has no screened operator {text}. It has {there}.")
        chosen += found
    return list(dict.fromkeys(chosen))


def entries_of(root: Path, verdicts: Sequence[OperatorVerdict], named: Sequence[str]) -> tuple[Entry, ...]:
    """The operators to measure as entries, with the nodes that the root has of them."""
    return tuple(_entry(load_operator(root, one.operator, one.dtype)) for one in choose(verdicts, named, root))


def as_the_card_says(work: Work, wanted: Sequence[Screened], on_card: Sequence[OperatorVerdict]) -> Work:
    """The work with a sentence on each wanted operator that the screen repeated on the card takes out of it.

    `wanted` is as the screen without a card found it, `on_card` are the verdicts on the card.
    """
    again = {(one.operator, one.dtype): one for one in map(screened_operator, on_card)}
    there = {(entry.operator, entry.dtype) for entry in work.entries}
    notes, failures = [], []
    for one in wanted:
        found = again.get((one.operator, one.dtype))
        if found is None:
            continue
        if found.verdict in (Verdict.BROKEN, Verdict.NO_ROWS):
            failures.append(f"{one.text}: {found.verdict.value} on the card")
        elif not found.worth_measuring and (one.operator, one.dtype) not in there:
            code = " with the same machine code" if found.verdict is Verdict.IR_CHANGED else ""
            notes.append(f"{one.text}: {found.verdict.value}{code} on the card, so it was not measured")
    return replace(work, notes=(*work.notes, *notes), failures=tuple(failures))


def find_work(root: Path, verdicts: Sequence[OperatorVerdict], named: Sequence[str], code: Code) -> Work:
    """The rows to measure in a root that was screened on a card, with placebos of other operators where they are few."""
    chosen = choose(verdicts, named, root)
    nodes = [node for one in chosen for node in _nodes(root, one, code)]
    notes = [
        f"{one.text}: {one.verdict.value} with nothing to measure"
        for one in chosen
        if not any(node.entry.operator == one.operator and node.entry.dtype == one.dtype for node in nodes)
    ]
    if not any(node.rows for node in nodes):
        return Work((), tuple(notes))
    borrowed: list[NodeToMeasure] = []
    for lender in lenders([screened_operator(verdict) for verdict in verdicts], chosen):
        lacking = lacking_placebos([row for node in (*nodes, *borrowed) for row in node.rows.values()])
        if not lacking:
            break
        borrowed += _some_placebos(_nodes(root, lender, code), lacking)
    if borrowed:
        lent = ", ".join(dict.fromkeys(node.entry.text for node in borrowed))
        notes.append(f"rows of identical code are borrowed from {lent}")
    return Work((*nodes, *borrowed), tuple(notes))


def _some_placebos(nodes: Iterable[NodeToMeasure], most: int) -> list[NodeToMeasure]:
    """The first so many placebos of these nodes, and the nodes that have them."""
    chosen: list[NodeToMeasure] = []
    for node in nodes:
        left = most - sum(len(one.rows) for one in chosen)
        rows = dict([(key, row) for key, row in node.rows.items() if row.kind == "placebo"][: max(0, left)])
        if rows:
            chosen.append(replace(node, rows=rows))
    return chosen


def _nodes(root: Path, one: Screened, code: Code) -> list[NodeToMeasure]:
    """The nodes of an operator that have rows worth timing."""
    loaded = load_operator(root, one.operator, one.dtype)
    judged = judge_operator(
        loaded.operator,
        loaded.dtype,
        loaded.nodes,
        criterion=code.criterion,
        again=loaded.again,
        fingerprints=code.prints,
    )
    entry = _entry(loaded)
    paired = {node.node: node.paired for node in judged.nodes}
    return [node for node in _with_rows(entry, loaded, lambda name: paired.get(name, ())) if node.rows]


def _entry(loaded: LoadedOperator) -> Entry:
    return Entry(loaded.operator, loaded.dtype, tuple(before.node for before, _ in loaded.nodes))


def _with_rows(
    entry: Entry, loaded: LoadedOperator, paired: Callable[[str], Sequence[PairedRow]]
) -> Iterable[NodeToMeasure]:
    for before, after in loaded.nodes:
        left, right = ({row.key: row.launches for row in distinct_rows(run.rows)} for run in (before, after))
        rows = {}
        for row in paired(before.node):
            kind = kind_of(row, left[row.key], right[row.key])
            if kind is not None:
                differ = None if row.numerics is None else row.numerics.differ
                rows[row.key] = RowToMeasure(row.key, kind, differ)
        yield NodeToMeasure(entry, before.node, rows, before, after)


def _deviates(screened: Row, measured: Row, prints: Fingerprints, rules: StageRules) -> str:
    """In what a measured row's launches are not those that were screened, empty if they are."""
    unreadable = unreadable_row(screened, prints, rules) or unreadable_row(measured, prints, rules)
    if unreadable is not None:
        return f"{unreadable.kernel}: {unreadable.message}"
    compared = pair_rows(screened, measured, prints, rules)
    for launch in compared.launches:
        if launch.unmatched is not None:
            where = "was not screened" if launch.unmatched == "after" else "was screened and is not launched"
            return f"{launch.identity.name} {where}"
        if launch.machine_code == "differs" or rules.criterion in launch.changed_stages:
            stages = ", ".join(launch.changed_stages)
            return f"{launch.identity.name} is not the code that was screened (it differs at {stages})"
        if launch.specialised_otherwise:
            return f"{launch.identity.name} is specialised otherwise ({', '.join(launch.specialised_otherwise)})"
    return "its kernels are launched in another order" if compared.sequence != "same" else ""


def _hashes(launches: Sequence[Kernel], prints: Fingerprints, wanted: set[str]) -> list[dict[str, Any]]:
    told = []
    for kernel in dict.fromkeys(launches):
        digests = {
            stage.name: found.digest[:DIGITS]
            for stage in kernel.stages
            if stage.name in wanted and not isinstance(found := prints[stage.path], Unreadable)
        }
        told.append({"kernel": kernel.identity.name, "configuration": kernel.configuration, **digests})
    return told
