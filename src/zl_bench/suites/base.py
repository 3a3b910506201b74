"""A suite as data, and the selection of its operators by name."""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.errors import UsageError
from zl_bench.model import split_entry

SOURCE_SUFFIXES = frozenset({".py", ".ini", ".toml", ".cfg", ".yaml", ".yml", ".json"})
BUILTIN = "builtin"
"""The suite that ships with the tool, and is meant unless another is named."""
LISTED = 8
"""Nodes that a note spells out."""


@dataclass(frozen=True)
class TestNode:
    """One benchmark node: what one process runs. `dtypes` are those that can be read from its source, maybe none."""

    node: str
    operator: str
    dtypes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    """Its operator marks, the one that names it first."""
    names: tuple[str, ...] = ()
    """The operator names that its rows carry, where they can be read."""
    parametrised: bool = False

    @property
    def file(self) -> str:
        """The path of its file below the suite's root."""
        return self.node.partition("::")[0]

    def is_called(self, word: str) -> bool:
        """Whether the word is one of its operator's names: a mark, or a name that it prints."""
        return word in (self.operator, *self.marks, *self.names)


@dataclass(frozen=True)
class Suite:
    """Benchmark nodes under one folder. `modules` are worth importing once per side."""

    name: str
    root: Path
    nodes: tuple[TestNode, ...]
    pytest_args: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    import_paths: tuple[Path, ...] = ()
    """Folders that the measured interpreters find `modules` in, before everything that is installed."""
    baseline_args: tuple[str, ...] = ()
    """pytest arguments that have it run and time what it compares its operators with as well."""
    dtype_option: str | None = None
    """The pytest option that selects a dtype; None where the dtype is a parameter of the tests."""
    shape_option: str | None = None
    """The pytest option that names a file of shapes; None where the tests have their own."""
    shape_file: Path | None = None
    """The file of shapes that is read unless that option names another."""
    paths_select: bool = False
    """An operator may also be asked for by a file or a node id."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Operator names in the order of the files, each once."""
        return tuple(dict.fromkeys(node.operator for node in self.nodes))

    def arguments(self, dtype: str | None) -> tuple[str, ...]:
        """pytest's arguments for a run. No dtype asked, none passed (R7)."""
        if dtype is None or self.dtype_option is None:
            return self.pytest_args
        return (*self.pytest_args, self.dtype_option, dtype)


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

    OPERATOR is an operator's name, a mark or a printed name and, where the suite's paths select, a file or a node id
    (with `[param]` to run one case of a parametrised test). All nodes that match make one entry.
    Raises UsageError for an operator that the suite does not have, with the nearest names.
    """
    if not wanted:
        return tuple(
            Entry(operator, None, tuple(node.node for node in suite.nodes if node.operator == operator))
            for operator in suite.operators
        )
    entries = []
    for text in wanted:
        if not text.isprintable():
            raise UsageError(f"{text!r} names no operator: it holds a control character.")
        operator, dtype = split_entry(text)
        nodes = _matching(suite, operator)
        if not nodes:
            other = " FlagGems' operators take --suite flaggems --checkout DIR." if suite.name == BUILTIN else ""
            raise UsageError(
                f"Suite {suite.name} has no operator {operator!r}.{_nearest(suite, operator)} "
                f"`zl-bench ops` with the same --suite lists them all.{other}"
            )
        if dtype == "":
            raise UsageError(f"{text!r} names no dtype behind the colon.")
        entries.append(Entry(operator, dtype, nodes))
    return tuple(dict.fromkeys(entries))


def selection_notes(entries: Sequence[Entry]) -> tuple[str, ...]:
    """One sentence for each entry that matched several nodes, all of which run."""
    return tuple(
        f"{entry.text} matches {len(entry.nodes)} tests, which all run: {', '.join(entry.nodes[:LISTED])}"
        + (f" and {len(entry.nodes) - LISTED} more" if len(entry.nodes) > LISTED else "")
        for entry in entries
        if len(entry.nodes) > 1
    )


def read_operator_file(file: Path) -> tuple[str, ...]:
    """The entries of an operator file: one a line, `#` begins a comment. Raises UsageError without any."""
    try:
        lines = file.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--ops {file} can not be read: {getattr(error, 'strerror', None) or error}.") from error
    entries = tuple(filter(None, (line.partition("#")[0].strip() for line in lines)))
    if not entries:
        raise UsageError(f"--ops {file} names no operator: write one a line; `#` begins a comment.")
    for entry in entries:
        if len(entry.split()) > 1 and "[" not in entry:
            raise UsageError(f"--ops {file}: {entry!r} is more than one word; write one operator a line.")
    return entries


def _matching(suite: Suite, operator: str) -> tuple[str, ...]:
    named = tuple(node.node for node in suite.nodes if node.is_called(operator))
    if named or not suite.paths_select:
        return named
    path, bracket, parameters = operator.partition("[")
    return tuple(
        node.node + bracket + parameters
        for node in suite.nodes
        if _is_path_of(path, node.node) or (not bracket and _is_path_of(path, node.file))
    )


def _is_path_of(text: str, path: str) -> bool:
    """Whether the text is that path or, without the leading folders, its end."""
    return text == path or (text != "" and path.endswith("/" + text))


def _nearest(suite: Suite, operator: str) -> str:
    known = list(suite.operators) + [name for node in suite.nodes for name in (*node.marks, *node.names)]
    if suite.paths_select and ".py" in operator:
        known = [part for node in suite.nodes for part in (node.file, node.node)]
    near = difflib.get_close_matches(operator, dict.fromkeys(known), n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def content_hash(root: Path) -> str:
    """SHA-256 over the names and contents of the suite's source and configuration files, hidden folders left out."""
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        below = path.relative_to(root)
        if (
            path.suffix not in SOURCE_SUFFIXES
            or any(part.startswith(".") for part in below.parts)
            or not path.is_file()
        ):
            continue
        digest.update(f"{below.as_posix()}\0".encode("utf-8", "surrogateescape"))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
