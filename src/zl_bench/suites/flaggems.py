"""Reads the benchmark suite of a FlagGems checkout without importing it: tests, marks, printed names and dtypes.

A test is selected by its node id, because marks are shared by tests and differ from the names that are printed. One
process runs one test function with all its parameters.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from zl_bench.errors import UsageError
from zl_bench.suites.base import Suite, TestNode
from zl_bench.suites.declarations import declared
from zl_bench.suites.source_values import Module, Modules, top_level

NAME = "flaggems"
FOLDER = "benchmark"
BUILTIN_MARKS = frozenset(
    ["parametrize", "skip", "skipif", "xfail", "usefixtures", "filterwarnings", "timeout", "tryfirst", "trylast"]
)
"""FlagGems' own list of marks that name no operator."""
ARGUMENTS = ("--level", "core", "--metrics", "latency", "--record", "none")
"""Core adds no shapes or metrics of a test's own; nothing but the operator's own latency; no record shared by runs."""
BASELINE_ARGUMENTS = ("--metrics", "latency_base")
"""Torch's own latency, beside the operator's."""


def load(checkout: Path) -> Suite:
    """The benchmark suite of that checkout. Raises UsageError for a folder that is none."""
    root = checkout.absolute()
    folder = root / FOLDER
    for needed in ("conftest.py", "base.py", "consts.py"):
        if not (folder / needed).is_file():
            raise UsageError(
                f"{checkout} is no FlagGems checkout: it has no {FOLDER}/{needed}. Give the folder of a clone with "
                "--checkout, ZL_FLAGGEMS or zl-bench.toml; the wheel has no benchmarks."
            )
    modules = Modules(folder)
    nodes = tuple(node for file in sorted(folder.rglob("test_*.py")) for node in _nodes(file, root, modules))
    configuration = root / "pytest.ini"
    return Suite(
        NAME,
        root,
        nodes,
        pytest_args=(*(("-c", str(configuration)) if configuration.is_file() else ()), *ARGUMENTS),
        baseline_args=BASELINE_ARGUMENTS,
        modules=("flag_gems",),
        import_paths=(root / "src",),
        dtype_option="--dtypes",
        shape_option="--shape_file",
        shape_file=folder / "core_shapes.yaml",
        paths_select=True,
    )


def _nodes(file: Path, root: Path, modules: Modules) -> Iterator[TestNode]:
    path = file.relative_to(root).as_posix()
    try:
        module = modules.parsed(file)
    except (OSError, SyntaxError, ValueError):
        # Run as a whole it says why it can not be, and is counted; the other files need not wait until it is mended.
        yield TestNode(path, file.stem.removeprefix("test_"))
        return
    own = _own_marks(module)
    for name, function in _tests(top_level(module.tree.body)).items():
        yield _node(f"{path}::{name}", function, own, module, modules)
    for definition in module.classes.values():
        if definition.name.startswith("Test"):
            marks = (*_marks(definition.decorator_list), *own)
            for name, function in _tests(iter(definition.body)).items():
                yield _node(f"{path}::{definition.name}::{name}", function, marks, module, modules)


def _tests(statements: Iterator[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """Test functions by name: of two with the same one, Python keeps the last."""
    return {
        statement.name: statement
        for statement in statements
        if isinstance(statement, ast.FunctionDef) and statement.name.startswith("test")
    }


def _node(
    node: str, function: ast.FunctionDef, outer_marks: Sequence[str], module: Module, modules: Modules
) -> TestNode:
    found = declared(function, module, modules)
    own = (*_marks(function.decorator_list), *outer_marks)
    marks = tuple(dict.fromkeys((*own, *_marks_of_cases(function))))
    fallback = function.name.removeprefix("test").lstrip("_") or function.name
    return TestNode(
        node=node,
        operator=next(iter((*own, *found.names)), fallback) if own or len(found.names) == 1 else fallback,
        dtypes=found.dtypes or (),
        marks=marks,
        names=found.names,
        parametrised=any(_mark_name(decorator) == "parametrize" for decorator in function.decorator_list),
    )


def _marks(decorators: Sequence[ast.expr]) -> tuple[str, ...]:
    """Operator marks in pytest's order: the decorator next to the function first."""
    names = (_mark_name(decorator) for decorator in reversed(decorators))
    return tuple(name for name in names if name is not None and name not in BUILTIN_MARKS)


def _own_marks(module: Module) -> tuple[str, ...]:
    """Operator marks of the module, `pytestmark`."""
    value = module.values.get("pytestmark")
    marks = value.elts if isinstance(value, ast.List | ast.Tuple) else [value] if value is not None else []
    return _marks(list(reversed(marks)))


def _marks_of_cases(function: ast.FunctionDef) -> tuple[str, ...]:
    """Operator marks of single cases: `pytest.param(…, marks=pytest.mark.NAME)`."""
    found: list[str] = []
    for decorator in function.decorator_list:
        for node in ast.walk(decorator) if _mark_name(decorator) == "parametrize" else ():
            if isinstance(node, ast.keyword) and node.arg == "marks":
                marks = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else [node.value]
                found += _marks(marks)
    return tuple(found)


def _mark_name(decorator: ast.expr) -> str | None:
    """`NAME` of `pytest.mark.NAME` or `pytest.mark.NAME(…)`."""
    mark = decorator.func if isinstance(decorator, ast.Call) else decorator
    is_mark = isinstance(mark, ast.Attribute) and isinstance(mark.value, ast.Attribute) and mark.value.attr == "mark"
    return mark.attr if is_mark and isinstance(mark, ast.Attribute) else None
