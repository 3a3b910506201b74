"""Evaluates, without importing anything, the few kinds of expression in which a benchmark declares names and dtypes.

A value is a string (a torch dtype by its name, `torch.cfloat` is `complex64`), a bool, a number, None, a list of values,
or a `Choice` where a parameter or a loop takes several. Everything else raises `Unreadable`: no guess is made.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

DTYPE_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "short": "int16",
    "int": "int32",
    "long": "int64",
    "cfloat": "complex64",
    "cdouble": "complex128",
}
DTYPE = re.compile(r"bool|(b?float|complex|u?int|qu?int)\d[0-9a-z_]*")
DEEPEST = 20


class Unreadable(Exception):
    """The expression says nothing without being run."""


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    values: tuple[Any, ...]


@dataclass
class Module:
    """What one file defines at its top level. A name that is bound twice has no value here."""

    path: Path
    tree: ast.Module
    values: dict[str, ast.expr] = field(default_factory=dict)
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    imports: dict[str, tuple[Path, str | None]] = field(default_factory=dict)
    """Local name -> (file, name in it), or (file, None) when the module itself was imported."""


class Modules:
    """The files of one folder, each read once and only when needed."""

    def __init__(self, package: Path):
        self._package = package
        self._read: dict[Path, Module | None] = {}

    def module(self, path: Path) -> Module | None:
        """The module of that file, None when there is none or it is not Python."""
        if path not in self._read:
            try:
                self._read[path] = self.parsed(path)
            except (OSError, SyntaxError, ValueError):
                self._read[path] = None
        return self._read[path]

    def parsed(self, path: Path) -> Module:
        """Read a file. Raises OSError, SyntaxError or ValueError."""
        module = Module(path, ast.parse(path.read_bytes(), filename=str(path)))
        bound: dict[str, int] = {}
        for statement in top_level(module.tree.body):
            if isinstance(statement, ast.FunctionDef):
                module.functions[statement.name] = statement
            elif isinstance(statement, ast.ClassDef):
                module.classes[statement.name] = statement
            elif isinstance(statement, ast.ImportFrom):
                self._note_import(module, statement)
            else:
                for name, value in assigned(statement):
                    bound[name] = bound.get(name, 0) + 1
                    if value is not None:
                        module.values[name] = value
        for name, times in bound.items():
            if times > 1:
                module.values.pop(name, None)
        return module

    def _note_import(self, module: Module, statement: ast.ImportFrom) -> None:
        parts = (statement.module or "").split(".") if statement.module else []
        if statement.level:
            folder = module.path.parents[statement.level - 1]
        elif parts[:1] == [self._package.name]:
            folder, parts = self._package, parts[1:]
        else:
            return
        source = folder.joinpath(*parts)
        for alias in statement.names:
            local = alias.asname or alias.name
            if parts and source.with_suffix(".py").is_file():
                module.imports[local] = (source.with_suffix(".py"), alias.name)
            else:
                module.imports[local] = (source / f"{alias.name}.py", None)

    def find(self, module: Module, name: ast.expr) -> tuple[Module, str] | None:
        """Where a name or `module.name` is defined, through one chain of imports."""
        if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name):
            file, inner = module.imports.get(name.value.id, (None, None))
            source = self.module(file) if file is not None and inner is None else None
            return (source, name.attr) if source is not None else None
        if not isinstance(name, ast.Name):
            return None
        file, inner = module.imports.get(name.id, (None, None))
        if file is None:
            return module, name.id
        source = self.module(file)
        return (source, inner) if source is not None and inner is not None else None

    def evaluate(self, expression: ast.expr, module: Module, local: Mapping[str, Any], depth: int = 0) -> Any:
        """The value of an expression where `local` names have values. Raises Unreadable."""
        if depth > DEEPEST:
            raise Unreadable
        if isinstance(expression, ast.Constant):
            return expression.value
        if isinstance(expression, ast.Name) and expression.id in local:
            if local[expression.id] is Unreadable:
                raise Unreadable
            return local[expression.id]
        if isinstance(expression, ast.List | ast.Tuple):
            return self._elements(expression, module, local, depth)
        if isinstance(expression, ast.JoinedStr):
            return self._text(expression, module, local, depth)
        return self._reference(expression, module, local, depth)

    def _reference(self, expression: ast.expr, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        """A sum, a copy, a torch dtype or a name that some file defines."""
        if isinstance(expression, ast.BinOp) and isinstance(expression.op, ast.Add):
            sides = (expression.left, expression.right)
            left, right = (self.evaluate(side, module, local, depth + 1) for side in sides)
            if type(left) is type(right) and isinstance(left, list | str):
                return left + right
            raise Unreadable
        if isinstance(expression, ast.Subscript) and ast.unparse(expression.slice) == ":":
            return self.evaluate(expression.value, module, local, depth + 1)  # a copy: NAME[:]
        if isinstance(expression, ast.Attribute) and dotted(expression.value) == "torch":
            return dtype_name(expression.attr)
        found = self.find(module, expression)
        if found is None or found[1] not in found[0].values:
            raise Unreadable
        return self.evaluate(found[0].values[found[1]], found[0], {}, depth + 1)

    def _elements(
        self, expression: ast.List | ast.Tuple, module: Module, local: Mapping[str, Any], depth: int
    ) -> list[Any]:
        values: list[Any] = []
        for element in expression.elts:
            starred = isinstance(element, ast.Starred)
            inner = element.value if isinstance(element, ast.Starred) else element
            value = self.evaluate(inner, module, local, depth + 1)
            if starred and not isinstance(value, list):
                raise Unreadable
            values += value if starred else [value]
        return values

    def _text(self, expression: ast.JoinedStr, module: Module, local: Mapping[str, Any], depth: int) -> Any:
        parts: list[tuple[str, ...]] = []
        for part in expression.values:
            plain = isinstance(part, ast.Constant) or (
                isinstance(part, ast.FormattedValue) and part.conversion == -1 and part.format_spec is None
            )
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            value = self.evaluate(inner, module, local, depth + 1) if plain else None
            choices = value.values if isinstance(value, Choice) else (value,)
            if not all(isinstance(choice, str | int) for choice in choices) or _holds_dtype(inner):
                raise Unreadable  # a dtype prints as torch.float16, a list in ways of its own
            parts.append(tuple(str(choice) for choice in choices))
        texts = tuple(dict.fromkeys("".join(chosen) for chosen in product(*parts)))
        return texts[0] if len(texts) == 1 else Choice(texts)


def _holds_dtype(expression: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and "dtype" in node.id for node in ast.walk(expression))


def dtype_name(attribute: str) -> str:
    """The name of `torch.<attribute>` if that is a dtype. Raises Unreadable if it does not look like one."""
    name = DTYPE_ALIASES.get(attribute, attribute)
    if not is_dtype(name):
        raise Unreadable
    return name


def is_dtype(name: str) -> bool:
    """Whether that is what torch calls a dtype."""
    return DTYPE.fullmatch(name) is not None


def dotted(expression: ast.expr) -> str:
    """`a.b.c` as text, empty for anything else."""
    if isinstance(expression, ast.Attribute):
        outer = dotted(expression.value)
        return f"{outer}.{expression.attr}" if outer else ""
    return expression.id if isinstance(expression, ast.Name) else ""


def flattened(value: Any) -> Iterator[Any]:
    """The plain values of lists and choices, one after the other."""
    if isinstance(value, list | Choice):
        for inner in value.values if isinstance(value, Choice) else value:
            yield from flattened(inner)
    else:
        yield value


def top_level(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those inside `if`, `try` and `with` included."""
    for statement in body:
        yield statement
        if not isinstance(statement, ast.If | ast.Try | ast.With):
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from top_level(getattr(statement, part, []))
        for handler in getattr(statement, "handlers", []):
            yield from top_level(handler.body)


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that a statement binds; with no expression where the value is not simply one."""
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, statement.value
    elif isinstance(statement, ast.AugAssign):
        yield dotted(statement.target), None
        yield dotted(statement.target), None  # bound again, so it counts twice
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        changed = statement.value.func  # NAME.append(…) and the like
        if isinstance(changed, ast.Attribute) and isinstance(changed.value, ast.Name):
            yield changed.value.id, None
            yield changed.value.id, None
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, statement.value
