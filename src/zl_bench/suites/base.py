"""A suite as data, and the selection of its operators by name."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.errors import UsageError


@dataclass(frozen=True)
class TestNode:
    """One benchmark node: what one process runs. `dtypes` are those that can be read from its source, maybe none."""

    node: str
    operator: str
    dtypes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suite:
    """Benchmark nodes under one folder. `modules` are worth importing once per side."""

    name: str
    root: Path
    nodes: tuple[TestNode, ...]
    pytest_args: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def operators(self) -> tuple[str, ...]:
        """Operator names in the order of the files, each once."""
        return tuple(dict.fromkeys(node.operator for node in self.nodes))


@dataclass(frozen=True)
class Entry:
    """An operator as asked for, with its nodes. `dtype` is None when the operator's own dtypes are meant."""

    operator: str
    dtype: str | None
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        """As written on the command line."""
        return self.operator if self.dtype is None else f"{self.operator}:{self.dtype}"


def select(suite: Suite, wanted: Sequence[str]) -> tuple[Entry, ...]:
    """The entries for `OPERATOR[:DTYPE]` texts, each once; every operator when there are none.

    Raises UsageError for an operator that the suite does not have, with the nearest names.
    """
    entries = []
    for text in wanted or suite.operators:
        operator, colon, dtype = text.partition(":")
        nodes = tuple(node.node for node in suite.nodes if node.operator == operator)
        if not nodes:
            near = difflib.get_close_matches(operator, suite.operators, n=3, cutoff=0.5)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise UsageError(f"Suite {suite.name} has no operator {operator!r}.{hint} `zl-bench ops` lists them all.")
        if colon and not dtype:
            raise UsageError(f"{text!r} names no dtype behind the colon.")
        entries.append(Entry(operator, dtype or None, nodes))
    return tuple(dict.fromkeys(entries))
