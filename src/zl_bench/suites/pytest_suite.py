"""Reads a folder of plain pytest benchmarks without importing it.

The convention: `test_<operator>` functions in `test_*.py`, parametrised by literal lists; the parameter `dtype`, if
there is one, holds torch dtype names; each call of `triton.testing.do_bench` is one row.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path

from zl_bench.errors import UsageError
from zl_bench.suites.base import Suite, TestNode

CONFIGURATIONS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
BUILTIN = Path(__file__).parent / "builtin"


def load(name: str) -> Suite:
    """The suite `builtin`, or the one in the folder of that path. Raises UsageError when there is nothing to run."""
    root = BUILTIN if name == "builtin" else Path(name).absolute()
    if not root.is_dir():
        raise UsageError(f"There is no suite {name!r}: give `builtin` or the path of a folder with test_*.py files.")
    nodes = tuple(node for file in sorted(root.rglob("test_*.py")) for node in _nodes(file, root))
    if not nodes:
        raise UsageError(f"{root} holds no pytest benchmark (functions test_… in files test_*.py).")
    return Suite(name if name == "builtin" else root.name, root, nodes, pytest_args=("-c", str(_configuration(root))))


def _configuration(root: Path) -> Path:
    """The suite's own pytest configuration, or none: never that of a project which the folder happens to lie in."""
    return next((root / name for name in CONFIGURATIONS if (root / name).is_file()), Path(os.devnull))


def _nodes(file: Path, root: Path) -> Iterator[TestNode]:
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))  # bytes, so that Python finds the encoding
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{file} can not be read as Python: {error}.") from error
    functions = {  # by name: of two with the same one, Python keeps the last
        statement.name: statement
        for statement in tree.body
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test_")
    }
    for name, function in functions.items():
        node = f"{file.relative_to(root).as_posix()}::{name}"
        yield TestNode(node, name.removeprefix("test_"), _dtypes(function))


def _dtypes(function: ast.FunctionDef) -> tuple[str, ...]:
    """The literal values of `@pytest.mark.parametrize("dtype", […])`; empty when they can not be read."""
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or len(decorator.args) < 2:
            continue
        if not ast.unparse(decorator.func).endswith("mark.parametrize"):
            continue
        try:
            name, values = ast.literal_eval(decorator.args[0]), ast.literal_eval(decorator.args[1])
        except (ValueError, TypeError):
            continue
        if name == "dtype" and isinstance(values, list | tuple):
            return tuple(str(value) for value in values)
    return ()
