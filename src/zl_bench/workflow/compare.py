"""`compare`: two finished roots of the same axis, and what changed its verdict between them, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from zl_bench.analysis.axis import AxisState
from zl_bench.analysis.compare import Changed, Standing, compare_standings
from zl_bench.analysis.judgement import JudgedRow
from zl_bench.analysis.wording import counted, listed
from zl_bench.errors import UsageError
from zl_bench.model import JudgedOperator, RowKey
from zl_bench.reports.report_words import kind_of
from zl_bench.reports.rounds_view import untrusted
from zl_bench.reports.view import operator_name
from zl_bench.store.request import differences
from zl_bench.workflow.report import RecordedRoot, read_root

MEASURED_ALIKE = ("card", "method", "l2", "rounds", "delta", "builds")
"""What a measurement writes down at its start that may be why another one says otherwise."""


@dataclass(frozen=True)
class ComparedRoots:
    """What two roots say otherwise. `same` counts the operators of which both say the same."""

    a: Path
    b: Path
    switch: str
    changes: tuple[Changed, ...]
    both: int
    same: int
    circumstances: tuple[str, ...]
    """In what the two differ beside their answers, which may be why: compilers, suites, cards; a sentence each."""
    notes: tuple[str, ...]


def compare_roots(a: Path, b: Path) -> ComparedRoots:
    """Compare two roots. Raises UsageError for roots of different axes, or for one that holds no answer."""
    first, second = read_root(a), read_root(b)
    switch = _same_axis(first, second)
    old, new = _standings(first), _standings(second)
    changes = compare_standings(old, new)
    both = [entry for entry in old if entry in new]
    moved = {change.entry for change in changes}
    return ComparedRoots(
        a=a,
        b=b,
        switch=switch,
        changes=changes,
        both=len(both),
        same=sum(entry not in moved for entry in both),
        circumstances=tuple(_circumstances(first, second)),
        notes=(*_notes("A", first), *_notes("B", second), *_speed_notes(first, second)),
    )


def _same_axis(a: RecordedRoot, b: RecordedRoot) -> str:
    """The switch of both. Two builds are the same axis whatever the builds: that is how one compiler follows another."""
    switches = [_switch(root) for root in (a, b)]
    kinds = [kind_of(switch) for switch in switches]
    if not all(switches) or switches[0] == switches[1] or kinds == ["build", "build"]:
        return switches[0] or switches[1]
    raise UsageError(
        f"{a.path} asks about {switches[0]} and {b.path} about {switches[1]}: these are different axes, and what changed "
        "between them says nothing. Give two roots of the same switch."
    )


def _switch(root: RecordedRoot) -> str:
    if root.request is not None:
        return root.request.switch
    return str(root.measured.header.get("switch") or "") if root.measured is not None else ""


def _standings(root: RecordedRoot) -> dict[str, Standing]:
    rows = {row.key: row for row in root.measured.judgement.rows} if root.measured is not None else {}
    found: dict[str, Standing] = {}
    for judged in root.judged.values():
        entry = operator_name(judged.verdict)
        own = {key: rows.pop(key) for key in _keys(judged) if key in rows}
        found[entry] = Standing(entry, judged, own)
    for key, row in rows.items():  # measured, and not in the screen's record
        found[key.operator] = _with_row(found.get(key.operator), key, row)
    return found


def _with_row(standing: Standing | None, key: RowKey, row: JudgedRow) -> Standing:
    known = standing or Standing(key.operator, None, {})
    return replace(known, rows={**known.rows, key: row})


def _keys(judged: JudgedOperator) -> Iterator[RowKey]:
    return (row.key for node in judged.nodes for row in node.paired)


def _circumstances(a: RecordedRoot, b: RecordedRoot) -> Iterator[str]:
    """The requests' differences, in which operators are no part: those are told one by one."""
    if a.request is None or b.request is None:
        yield "what was asked of one of them was not recorded, so what else differs is not known"
    else:
        yield from differences(replace(a.request, operators=b.request.operators), b.request)
    if a.measured is not None and b.measured is not None:
        old, new = a.measured.header, b.measured.header
        for name in MEASURED_ALIKE:
            if old.get(name) != new.get(name):
                yield f"{name} of the measurement was {old.get(name)}, now {new.get(name)}"


def _notes(name: str, root: RecordedRoot) -> Iterator[str]:
    if root.request is not None:
        yield f"{name} was started {root.request.started}"
    if root.unfinished:
        missing = f"{counted(len(root.unfinished), 'operator')} asked for and not there ({listed(root.unfinished)})"
        yield f"{name} is not finished: {missing}"
    if root.judged and root.state is not AxisState.LIVE:
        yield f"{name}: the switch is {root.state.value}"
    if root.measured is not None and not root.measured.judgement.trusted:
        yield f"{name} is {untrusted(root.measured.judgement)}"


def _speed_notes(a: RecordedRoot, b: RecordedRoot) -> Iterator[str]:
    measured: Sequence[str] = [name for name, root in (("A", a), ("B", b)) if root.measured is not None]
    if len(measured) == 1:
        yield f"only {measured[0]} was measured in rounds, so nothing is said of speed"
