"""What changed its verdict between two roots of the same axis: operators by the verdict on code, rows by that on speed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from zl_bench.analysis.judgement import JudgedRow, SpeedVerdict
from zl_bench.analysis.wording import counted, listed
from zl_bench.model import JudgedOperator, PairedRow, RowKey, Verdict

Change = Literal["verdict", "code", "speed", "only in A", "only in B"]
NEVER_A_CLAIM = (SpeedVerdict.IDENTICAL, SpeedVerdict.UNTRUSTED, SpeedVerdict.LAUNCH_BOUND)
"""Words of a row that say nothing about how fast it is."""


@dataclass(frozen=True)
class Standing:
    """What one root says of an operator entry. `rows` are the judged rows of its rounds, where it was measured."""

    entry: str
    judged: JudgedOperator | None
    rows: Mapping[RowKey, JudgedRow]

    @property
    def word(self) -> str:
        """Its verdict on the code; `-` where it was not screened."""
        return self.judged.verdict.verdict.value if self.judged is not None else "-"


@dataclass(frozen=True)
class Changed:
    """One thing that the two roots say otherwise. `row` is empty where it is about the operator as a whole."""

    kind: Change
    entry: str
    row: str
    a: str
    b: str
    why: str


def compare_standings(a: Mapping[str, Standing], b: Mapping[str, Standing]) -> tuple[Changed, ...]:
    """Everything in which the two differ, operators in the order of A, then those that only B has."""
    entries = dict.fromkeys((*a, *b))
    return tuple(change for entry in entries for change in _changes(entry, a.get(entry), b.get(entry)))


def _changes(entry: str, a: Standing | None, b: Standing | None) -> Iterator[Changed]:
    if a is None or b is None:
        there, where = (a, "A") if a is not None else (b, "B")
        if there is not None:
            words = (there.word, "-") if where == "A" else ("-", there.word)
            yield Changed("only in A" if where == "A" else "only in B", entry, "", *words, f"only {where} has it")
        return
    if a.word != b.word:
        yield Changed("verdict", entry, "", a.word, b.word, _why(a, b))
    elif a.judged is not None and b.judged is not None:
        yield from _other_code(entry, a.judged, b.judged)
    yield from _speed(entry, a, b)


def _why(a: Standing, b: Standing) -> str:
    """What each root gives as its reason, the rows that changed sides, and pins that are others."""
    reasons = [f"{name}: {_reason(standing)}" for name, standing in (("A", a), ("B", b))]
    if a.judged is None or b.judged is None:
        return "; ".join(reasons)
    pins = [judged.verdict.pins for judged in (a.judged, b.judged)]
    other_pins = f"pins {pins[0]} in A, {pins[1]} in B" if pins[0] != pins[1] else ""
    return "; ".join(filter(None, (*reasons, _rows_moved(a.judged, b.judged), other_pins)))


def _reason(standing: Standing) -> str:
    if standing.judged is None:
        return "not screened"
    verdict = standing.judged.verdict
    if verdict.reason:
        return verdict.reason
    if verdict.verdict is not Verdict.NO_IR_DIFF:
        return "no reason told"
    same = {"same": ", machine code the same", "differs": ", machine code differs"}.get(verdict.machine_code, "")
    return f"no difference in {counted(verdict.rows, 'row')}{same}"


def _other_code(entry: str, a: JudgedOperator, b: JudgedOperator) -> Iterator[Changed]:
    """The same word that rests on other rows, or on machine code that was the same in one and differs in the other."""
    old, new = a.verdict, b.verdict
    moved = _rows_moved(a, b)
    code = (old.machine_code, new.machine_code)
    if code[0] != code[1] and "-" not in code:
        told = f"machine code {'differed' if code[0] == 'differs' else 'was the same'} in A, {_now(code[1])} in B"
        moved = "; ".join(filter(None, (told, moved)))
    if moved:
        shown = [f"{one.changed_rows} of {one.rows} rows changed" for one in (old, new)]
        yield Changed("code", entry, "", shown[0], shown[1], moved)


def _now(code: str) -> str:
    return "differs" if code == "differs" else "is the same"


def _rows_moved(a: JudgedOperator, b: JudgedOperator) -> str:
    """The rows that both have and that only one of them calls changed."""
    old, new = _paired(a), _paired(b)
    both = [key for key in old if key in new]
    parts = []
    for name, here, there in (("A", old, new), ("B", new, old)):
        alone = [_named(key) for key in both if here[key].changed and not there[key].changed]
        if alone:
            parts.append(f"changed in {name} alone: {listed(alone)}")
    return "; ".join(parts)


def _paired(judged: JudgedOperator) -> dict[RowKey, PairedRow]:
    return {row.key: row for node in judged.nodes for row in node.paired}


def _speed(entry: str, a: Standing, b: Standing) -> Iterator[Changed]:
    for key, old in a.rows.items():
        new = b.rows.get(key)
        if new is not None and old.verdict is not new.verdict:
            yield Changed("speed", entry, _named(key), old.verdict.value, new.verdict.value, _why_speed(old, new))


def _why_speed(a: JudgedRow, b: JudgedRow) -> str:
    """The numbers behind the two words; whether they really moved is said only where intervals can say it."""
    numbers = "; ".join(f"{name}: {_numbers(row)}" for name, row in (("A", a), ("B", b)))
    if a.verdict in NEVER_A_CLAIM or b.verdict in NEVER_A_CLAIM:
        return numbers
    old, new = _range(a), _range(b)
    if old is None or new is None:
        return f"{numbers}; without two intervals nothing says that it moved"
    apart = old[1] < new[0] or new[1] < old[0]
    return f"{numbers}; {'the intervals are apart' if apart else 'the intervals overlap: it may not have moved'}"


def _range(row: JudgedRow) -> tuple[float, float] | None:
    """The interval of a row's speed-up, None where there is none: one round gives none."""
    if row.rounds < 2 or row.ci_low is None or row.ci_high is None:
        return None
    return row.ci_low, row.ci_high


def _numbers(row: JudgedRow) -> str:
    over = counted(row.rounds, "round")
    if row.speedup is None:
        return f"no ratio over {over}"
    found = _range(row)
    interval = f" ({found[0]:.4f} to {found[1]:.4f})" if found is not None else ""
    return f"{row.speedup:.4f}{interval} over {over}"


def _named(key: RowKey) -> str:
    parts = [key.dtype, key.detail, *([f"#{key.ordinal}"] if key.ordinal else ())]
    return " ".join(part for part in parts if part)
