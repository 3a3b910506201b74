"""What is asked of an operator's schema at each of its calls, found once; torch makes a schema's arguments anew when asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Signature:
    """The arguments of one operator."""

    tensors: tuple[int, ...]
    """Positions of the arguments that are one tensor, which must be given."""
    written: tuple[tuple[int, str], ...]
    """Position and name of the arguments that the operator writes."""
    takes_numbers: bool
    """Whether torch's Python API takes a number in a tensor's place."""


class Signatures:
    """The signatures of the operators that have been asked for."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._known: dict[Any, Signature] = {}

    def of(self, func: Any) -> Signature:
        """The signature of an overload."""
        known = self._known.get(func)
        if known is None:
            known = self._known[func] = self._read(func)
        return known

    def _read(self, func: Any) -> Signature:
        arguments = list(enumerate(func._schema.arguments))
        return Signature(
            tuple(position for position, argument in arguments if str(argument.type) == "Tensor"),
            tuple(
                (position, argument.name)
                for position, argument in arguments
                if argument.alias_info is not None and argument.alias_info.is_write
            ),
            bool(self._torch._C._should_allow_numbers_as_tensors(base_name(func))),
        )


def base_name(func: Any) -> str:
    """`add` of `aten::add.Tensor`."""
    name: str = func.name()
    return name.split("::", 1)[-1].split(".", 1)[0]
