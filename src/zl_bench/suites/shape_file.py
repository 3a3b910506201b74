"""The shapes that a user asks for, `--shape-file` and `--shape`, as the one file that FlagGems is given to read.

The file is FlagGems' own format: a mapping from an operator's printed name, or a benchmark class, to `shapes`, a list of
lists, and a `shape_desc` that may be absent. It replaces the checkout's core_shapes.yaml as a whole.
"""

from __future__ import annotations

import hashlib
import re
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from zl_bench.analysis.shapes import BASE_CLASS, KnownKeys, shape_text
from zl_bench.errors import UsageError
from zl_bench.model import AskedShapes
from zl_bench.suites.base import Entry, Suite, TestNode

OPERATOR = re.compile(r"[^\s=;,]+")
"""What separates shapes elsewhere is in no name: two shapes written as one are not to become a key that nothing has."""
SIZES = re.compile(r"[1-9][0-9]{0,17}(,[1-9][0-9]{0,17})*")
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
DEEPEST = 8
LARGEST = 1 << 20
"""Bytes of a shape file; FlagGems' own for all of its operators has a sixtieth of them."""
HEAD = "# Written by zl-bench from --shape{origin}.\n"

Document = dict[str, Any]


@dataclass(frozen=True)
class ShapePlan:
    """`content` is the file that FlagGems is to read; `given` the SHA-256 of --shape-file, None without it."""

    asked: AskedShapes
    content: str
    given: str | None = None
    notes: tuple[str, ...] = ()
    """For people: keys that stand for an operator of another name."""


def plan_shapes(suite: Suite, file: Path | None, texts: Sequence[str]) -> ShapePlan | None:
    """What --shape-file and --shape ask for together, None when neither is given.

    A `--shape` for an operator replaces that operator's shapes, in the given file or else in the checkout's own; one
    without an operator is for every operator and so leaves no other file in force.

    Raises UsageError for a suite that takes no shape file, a malformed file or text, or the two contradicting each other.
    """
    if file is None and not texts:
        return None
    if suite.shape_option is None:
        raise UsageError(f"--shape and --shape-file are for --suite flaggems; the suite asked for is {suite.name}.")
    single = [parse_shape(text) for text in texts]
    everywhere = [shape for operator, shape in single if operator is None]
    if everywhere and file is not None:
        raise UsageError(
            f"--shape {everywhere[0]} without an operator is for every operator and would replace the whole of "
            f"--shape-file {file}. Write --shape OPERATOR={everywhere[0]}, or leave one of the two out."
        )
    content, base = _base(suite, file, everywhere=bool(everywhere))
    given = hashlib.sha256(content.encode()).hexdigest() if file is not None else None
    own: dict[str, list[list[int]]] = {}
    notes = []
    for operator, text in single:
        found = keys_for(suite, operator) if operator is not None else (BASE_CLASS,)
        if operator is not None and operator not in found:
            notes.append(f"--shape {operator}={text}: FlagGems knows {operator} as {', '.join(found)}")
        for key in found:
            own.setdefault(key, []).append([int(size) for size in text.split(",")])
    if own:
        base |= {key: {**_entry(base.get(key)), "shapes": shapes} for key, shapes in own.items()}
        origin = f" and {file.name}" if file is not None else ""
        content = HEAD.format(origin=origin) + yaml.safe_dump(base, sort_keys=False, default_flow_style=None)
    by_key = shapes_by_key(base)
    keys = frozenset(by_key if file is not None else own)
    asked = AskedShapes(by_key, keys, whole_file=file is not None)
    return ShapePlan(asked, content, given, tuple(dict.fromkeys(notes)))


def _base(suite: Suite, file: Path | None, *, everywhere: bool) -> tuple[str, Document]:
    """The file that single shapes are put into: the given one, or that of the suite, or nothing."""
    if file is not None:
        text, document = _load(file, "--shape-file")
        _require_shapes(file, document)
        return text, document
    if everywhere or suite.shape_file is None or not suite.shape_file.is_file():
        return "", {}
    return _load(suite.shape_file, "the checkout's")


def parse_shape(text: str) -> tuple[str | None, str]:
    """Operator, if any, and sizes of `[OPERATOR=]N,N,…`. Raises UsageError for anything else."""
    operator, equals, sizes = text.rpartition("=")
    sizes = sizes.replace(" ", "")
    operator = operator.strip()
    if not SIZES.fullmatch(sizes) or (equals and not OPERATOR.fullmatch(operator)):
        raise UsageError(
            f"--shape {text}: write [OPERATOR=]N,N,… with whole numbers from 1, as in --shape softmax=4096,256, and "
            "--shape once more for each further shape or operator. "
            "Shapes that hold other things than numbers go into a --shape-file."
        )
    return (operator if equals else None), sizes


def keys_for(suite: Suite, operator: str) -> tuple[str, ...]:
    """The keys under which FlagGems looks for that operator: the names that its tests print, else the word itself."""
    nodes = [node for node in suite.nodes if node.is_called(operator)]
    if not nodes or any(operator in node.names or not node.names for node in nodes):
        return (operator,)
    return tuple(dict.fromkeys(name for node in nodes for name in _printed(node, operator)))


def _printed(node: TestNode, mark: str) -> tuple[str, ...]:
    """Of the names that a test prints, those that go with one of its marks, as far as their spelling tells."""
    return tuple(name for name in node.names if name.startswith(mark)) or node.names


def read_asked(file: Path, keys: Sequence[str], *, whole_file: bool) -> AskedShapes:
    """What a recorded shape file asked for. Raises UsageError when it can not be read."""
    return AskedShapes(shapes_by_key(_load(file, "the recorded")[1]), frozenset(keys), whole_file)


def shapes_by_key(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """The shapes of every key as text; a key that says nothing readable has none."""
    return {key: tuple(map(shape_text, _entry(value).get("shapes") or ())) for key, value in document.items()}


def known_keys(suite: Suite, entries: Sequence[Entry]) -> KnownKeys:
    """What could be a key for the tests of these entries, and in the whole suite, its benchmark classes included."""
    chosen = {node.partition("[")[0] for entry in entries for node in entry.nodes}
    here = [node for node in suite.nodes if node.node in chosen]
    marks: dict[str, tuple[str, ...]] = {}
    for node in here:
        for mark in node.marks:
            marks[mark] = (*marks.get(mark, ()), *node.names)
    names = {name for node in suite.nodes for name in (*node.names, *node.marks)}
    folders = dict.fromkeys(suite.root / node.file.partition("/")[0] for node in suite.nodes)
    classes = {name for folder in folders for name in _classes(folder)}
    return KnownKeys({name for node in here for name in node.names}, marks, names | classes)


def _classes(folder: Path) -> set[str]:
    files = folder.rglob("*.py") if folder.is_dir() else ()
    return {name for file in files for name in CLASS.findall(file.read_text(encoding="utf-8", errors="replace"))}


def _load(file: Path, what: str) -> tuple[str, Document]:
    """A shape file's text and its mapping. Raises UsageError for what FlagGems could not read either."""
    try:
        text = _read(file, what)
        document = yaml.safe_load(text)
        repeated = _repeated(yaml.compose(text, Loader=yaml.SafeLoader))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{what} {file} can not be read: {getattr(error, 'strerror', None) or error}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"{what} {file} is not YAML: {' '.join(str(error).split())}.") from error
    if not isinstance(document, dict) or not document:
        raise UsageError(f"{what} {file} must be a mapping from operators to shapes: `softmax:`, below it `shapes:`.")
    if repeated:
        raise UsageError(f"{what} {file} has the key {repeated!r} twice; only the last would count.")
    odd = next((key for key in document if not isinstance(key, str)), None)
    if odd is not None:
        raise UsageError(f"{what} {file}: the key {odd} is no text to YAML; put it in quotes.")
    return text, document


def _read(file: Path, what: str) -> str:
    """The text of a file that can be read to its end: a pipe may never have one, a device has none."""
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        raise UsageError(
            f"{what} {file} can not be read: it is no regular file. Write the shapes to a file, and name that."
        )
    with file.open(encoding="utf-8") as stream:
        text = stream.read(LARGEST + 1)
    if max(status.st_size, len(text)) > LARGEST:
        raise UsageError(
            f"{what} {file} is larger than 1 MiB, which no shape file is. Name a YAML file from operators to shapes."
        )
    return text


def _repeated(node: Any) -> str:
    seen: set[str] = set()
    for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
        if key.value in seen:
            return str(key.value)
        seen.add(key.value)
    return ""


def _require_shapes(file: Path, document: Mapping[str, Any]) -> None:
    for key, value in document.items():
        shapes = value.get("shapes") if isinstance(value, dict) else None
        if not isinstance(shapes, list) or not shapes:
            raise UsageError(
                f"--shape-file {file}: {key} needs `shapes:` with a list of shapes, as in [[64, 64], [1024]]."
            )
        wrong = next((shape for shape in shapes if not _is_shape(shape)), None)
        if wrong is not None or None in shapes:
            raise UsageError(
                f"--shape-file {file}: {key} has {wrong!r} among its shapes; a shape is a list, as in [64, 64]."
            )


def _is_shape(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_part(part, 1) for part in value)


def _is_part(value: Any, depth: int) -> bool:
    if isinstance(value, list):  # YAML can write a list that holds itself
        return depth < DEEPEST and all(_is_part(part, depth + 1) for part in value)
    return value is None or isinstance(value, bool | int | float | str)


def _entry(value: Any) -> Document:
    return value if isinstance(value, dict) else {}
