"""Whether a second measurement, with the sides' order reversed, says of each changed row what the first one said."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rounds_results import Measured

from zl_bench.analysis.judgement import JudgedRow
from zl_bench.analysis.looks import FOUND
from zl_bench.store.measure_record import row_of

Outcome = Literal["confirmed", "not decided", "contradicted", "not measured again"]


@dataclass(frozen=True)
class Confirmation:
    """One row that the first measurement called FASTER or SLOWER."""

    name: str
    first: JudgedRow
    second: JudgedRow | None

    @property
    def outcome(self) -> Outcome:
        """Contradicted by the opposite word, or by another word whose interval has nothing in common with the first one."""
        if self.second is None:
            return "not measured again"
        if self.second.verdict is self.first.verdict:
            return "confirmed"
        if self.second.verdict in FOUND or _apart(self.first, self.second):
            return "contradicted"
        return "not decided"


def found_rows(one: Measured) -> list[JudgedRow]:
    """The rows that a measurement calls FASTER or SLOWER."""
    return [row for row in one.looked.judgement.rows if row.verdict in FOUND]


def confirmations(first: Sequence[Measured], second: Sequence[Measured]) -> list[Confirmation]:
    """Of all rows that the first measurements found."""
    again = {one.name: {row.key: row for row in one.looked.judgement.rows} for one in second}
    return [
        Confirmation(one.name, row, again.get(one.name, {}).get(row.key)) for one in first for row in found_rows(one)
    ]


def orders(first: Sequence[Measured], second: Sequence[Measured]) -> tuple[int, int]:
    """In how many rounds of rows that both have the other side went first, and how many rounds there are."""
    again = {place: side for one in second for place, side in _firsts(one)}
    both = [(side, again[place]) for one in first for place, side in _firsts(one) if place in again]
    return sum(one != other for one, other in both), len(both)


def _firsts(one: Measured) -> Iterator[tuple[tuple[object, int], str]]:
    for line in one.told("round"):
        if line["side"] == "before":
            yield (row_of(line), int(line["round"])), str(line["first"])


def _apart(first: JudgedRow, second: JudgedRow) -> bool:
    if first.ci_low is None or first.ci_high is None or second.ci_low is None or second.ci_high is None:
        return False
    return first.ci_low > second.ci_high or second.ci_low > first.ci_high
