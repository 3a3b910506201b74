"""Reading judged operators back from their lines in screen.jsonl: what the screen said, never judged again.

A field that is not known is passed over, and one that an older record lacks has its default. Raises KeyError, TypeError or
ValueError for a record that can not be understood.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

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
        shape_keys=_texts(record.get("shape_keys", [])),
    )


def read_nodes(verdict: OperatorVerdict, records: object) -> tuple[NodeVerdict, ...]:
    """The nodes behind an operator's verdict."""
    return tuple(_node(verdict, record) for record in _objects(records))


def _node(verdict: OperatorVerdict, record: Record) -> NodeVerdict:
    shapes = tuple(
        _known(ShapeFinding, finding, asked=_texts(finding["asked"]), emitted=_texts(finding["emitted"]))
        for finding in _objects(record.get("shapes", []))
    )
    own = {"operator": verdict.operator, "dtype": verdict.dtype, "seconds": 0.0, "shapes": worst_outcome(shapes)}
    return NodeVerdict(
        node=str(record["node"]),
        summary=read_verdict({**record, **own}),
        paired=tuple(map(_paired, _objects(record["paired"]))),
        broken=tuple(_keyed(BrokenRow, row) for row in _objects(record["broken"])),
        one_sided=tuple(_keyed(OneSidedRow, row) for row in _objects(record["one_sided"])),
        failed=tuple((_side(row), _keyed(FailedRow, row)) for row in _objects(record["failed"])),
        absences=tuple((_side(absence), _known(Absence, absence)) for absence in _objects(record["absences"])),
        missing_pins=tuple((_side(pin), _known(MissingPin, pin)) for pin in _objects(record["missing_pins"])),
        shapes=shapes,
    )


def _paired(record: Record) -> PairedRow:
    numerics = record.get("numerics")
    return _keyed(
        PairedRow,
        record,
        launches=tuple(map(_launch, _objects(record["kernels"]))),
        numerics=None if numerics is None else _numerics(_object(numerics)),
    )


def _numerics(record: Record) -> Numerics:
    sizes = {name: float(record[name]) for name in ("largest_absolute", "largest_relative")}  # `inf` is written as text
    return _known(Numerics, record, **sizes)


def _launch(record: Record) -> Launch:
    return _known(
        Launch,
        record,
        identity=_known(KernelIdentity, _object(record["identity"])),
        changed_stages=_texts(record["changed_stages"]),
        specialised_otherwise=_texts(record.get("specialised_otherwise", [])),
    )


def _side(record: Record) -> Side:
    return "before" if record["side"] == "before" else "after"


def _keyed(kind: type[Thing], record: Record, **made: Any) -> Thing:
    return _known(kind, record, key=_known(RowKey, _object(record["key"])), **made)


def _known(kind: type[Thing], record: Record, **made: Any) -> Thing:
    """An instance of a dataclass from the fields that it knows, those in `made` as they are given."""
    types = _types(kind)  # type: ignore[arg-type]
    values = {**{name: value for name, value in record.items() if name in types}, **made}
    for name, value in values.items():
        if not isinstance(value, types[name]):
            raise TypeError(f"{name} is of type {type(value).__name__}")
    return kind(**values)


@cache  # A screen of a whole suite has a hundred thousand of these records, of a dozen kinds.
def _types(kind: type[Any]) -> dict[str, tuple[type[Any], ...]]:
    """The types that a value of each field may have. What a tuple holds is for its reader to check."""
    return {name: _accepted(hint) for name, hint in get_type_hints(kind).items()}


def _accepted(hint: Any) -> tuple[type[Any], ...]:
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        return tuple(kind for one in get_args(hint) for kind in _accepted(one))
    if origin is Literal:  # another word may be a newer version's, and is no damage
        return tuple({type(word) for word in get_args(hint)})
    return (int, float) if hint is float else (origin or hint,)


def _object(value: object) -> Record:
    if not isinstance(value, dict):
        raise TypeError(f"a {type(value).__name__} where an object belongs")
    return value


def _objects(value: object) -> Iterable[Record]:
    return map(_object, _list(value))


def _texts(value: object) -> tuple[str, ...]:
    texts = tuple(_list(value))
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a list of something else than words")
    return texts


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"a {type(value).__name__} where a list belongs")
    return value
