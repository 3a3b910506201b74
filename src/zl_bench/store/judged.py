"""Reading judged operators back from their lines in screen.jsonl: what the screen said, never judged again.

A field that is not known is passed over, and one that an older record lacks has its default. Raises KeyError, TypeError or
ValueError for a record that can not be understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from zl_bench.analysis.shapes import worst_outcome
from zl_bench.model import (
    Absence,
    BrokenRow,
    FailedRow,
    KernelIdentity,
    Launch,
    MissingPin,
    NodeVerdict,
    Numerics,
    OneSidedRow,
    OperatorVerdict,
    PairedRow,
    RowKey,
    ShapeFinding,
    Side,
    Status,
    Verdict,
)

Record = Mapping[str, Any]
Thing = TypeVar("Thing")


def read_verdict(record: Record) -> OperatorVerdict:
    """The verdict of an operator, or of a node with its operator's names in it."""
    return _known(
        OperatorVerdict,
        record,
        verdict=Verdict(record["verdict"]),
        status=Status(record["status"]),
        shape_keys=tuple(record.get("shape_keys", ())),
    )


def read_nodes(verdict: OperatorVerdict, records: Iterable[Record]) -> tuple[NodeVerdict, ...]:
    """The nodes behind an operator's verdict."""
    return tuple(_node(verdict, record) for record in records)


def _node(verdict: OperatorVerdict, record: Record) -> NodeVerdict:
    shapes = tuple(
        _known(ShapeFinding, finding, asked=tuple(finding["asked"]), emitted=tuple(finding["emitted"]))
        for finding in record.get("shapes", ())
    )
    own = {"operator": verdict.operator, "dtype": verdict.dtype, "seconds": 0.0, "shapes": worst_outcome(shapes)}
    return NodeVerdict(
        node=str(record["node"]),
        summary=read_verdict({**record, **own}),
        paired=tuple(map(_paired, record["paired"])),
        broken=tuple(_keyed(BrokenRow, row) for row in record["broken"]),
        one_sided=tuple(_keyed(OneSidedRow, row) for row in record["one_sided"]),
        failed=tuple((_side(row), _keyed(FailedRow, row)) for row in record["failed"]),
        absences=tuple((_side(absence), _known(Absence, absence)) for absence in record["absences"]),
        missing_pins=tuple((_side(pin), _known(MissingPin, pin)) for pin in record["missing_pins"]),
        shapes=shapes,
    )


def _paired(record: Record) -> PairedRow:
    numerics = record.get("numerics")
    return _keyed(
        PairedRow,
        record,
        launches=tuple(map(_launch, record["kernels"])),
        numerics=None if numerics is None else _numerics(numerics),
    )


def _numerics(record: Record) -> Numerics:
    sizes = {name: float(record[name]) for name in ("largest_absolute", "largest_relative")}  # `inf` is written as text
    return _known(Numerics, record, **sizes)


def _launch(record: Record) -> Launch:
    return _known(
        Launch,
        record,
        identity=_known(KernelIdentity, record["identity"]),
        changed_stages=tuple(record["changed_stages"]),
        specialised_otherwise=tuple(record.get("specialised_otherwise", ())),
    )


def _side(record: Record) -> Side:
    return "before" if record["side"] == "before" else "after"


def _keyed(kind: type[Thing], record: Record, **made: Any) -> Thing:
    return _known(kind, record, key=_known(RowKey, record["key"]), **made)


def _known(kind: type[Thing], record: Record, **made: Any) -> Thing:
    """An instance of a dataclass from the fields that it knows, those in `made` as they are given."""
    names = _names(kind)  # type: ignore[arg-type]
    return kind(**{**{name: value for name, value in record.items() if name in names}, **made})


@cache  # A screen of a whole suite has a hundred thousand of these records, of a dozen kinds.
def _names(kind: type[Any]) -> frozenset[str]:
    return frozenset(entry.name for entry in fields(kind))
