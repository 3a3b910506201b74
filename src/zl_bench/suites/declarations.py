"""What a FlagGems benchmark function declares: the operator names that it prints and the dtypes that it takes.

FlagGems' contract, as far as it is read here: a test makes an object of a class below `Benchmark` with `op_name` and
`dtypes`, directly, in a helper function of its file, or in the `__init__` of a class of its own; without `dtypes` the
class attribute DEFAULT_DTYPES counts; with `is_backward=True`, `_backward` is appended to a name that does not have it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zl_bench.suites.source_values import (
    Choice,
    Module,
    Modules,
    Unreadable,
    assigned,
    dotted,
    flattened,
    is_dtype,
    top_level,
)

BACKWARD = "_backward"
DEEPEST_CALL = 4
LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator)


@dataclass(frozen=True)
class Declared:
    """Names and dtypes, each empty when they can not be read. `dtypes` is None when only some of them can."""

    names: tuple[str, ...] = ()
    dtypes: tuple[str, ...] | None = ()


@dataclass(frozen=True)
class _Arguments:
    """A call's arguments, evaluated; an argument that can not be read is the class `Unreadable`."""

    positional: tuple[Any, ...]
    named: Mapping[str, Any]


def declared(function: ast.FunctionDef, module: Module, modules: Modules) -> Declared:
    """What that test function declares."""
    reader = _Reader(modules)
    names: list[str] = []
    dtypes: list[str] = []
    complete = True
    for name, types in reader.benchmarks(function, module, parametrised_values(function, module, modules), 0):
        names += [text for text in flattened(name) if isinstance(text, str)]
        if types is Unreadable:
            complete = False
        else:
            read = list(flattened(types))
            complete = complete and all(isinstance(dtype, str) and is_dtype(dtype) for dtype in read)
            dtypes += read
    return Declared(tuple(dict.fromkeys(names)), tuple(dict.fromkeys(dtypes)) if complete else None)


def parametrised_values(function: ast.FunctionDef, module: Module, modules: Modules) -> dict[str, Any]:
    """The values of `@pytest.mark.parametrize` by parameter name."""
    values: dict[str, Any] = {}
    for decorator in function.decorator_list:
        if not (isinstance(decorator, ast.Call) and dotted(decorator.func).endswith("mark.parametrize")):
            continue
        if len(decorator.args) < 2:
            continue
        names, cases = _parameter_names(decorator.args[0]), _cases(decorator.args[1], module, modules)
        for position, name in enumerate(names):
            column = [case if len(names) == 1 else _element(case, position) for case in cases]
            read = tuple(_value(modules, cell, module) for cell in column)
            values[name] = Choice(read) if read and Unreadable not in read else Unreadable
    return values


def _value(
    modules: Modules, expression: ast.expr | None, module: Module, local: Mapping[str, Any] | None = None
) -> Any:
    if expression is None:
        return Unreadable
    try:
        return modules.evaluate(expression, module, local or {})
    except Unreadable:
        return Unreadable


def _parameter_names(expression: ast.expr) -> list[str]:
    try:
        names = ast.literal_eval(expression)
    except ValueError:
        return []
    return [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)


def _cases(expression: ast.expr, module: Module, modules: Modules) -> list[ast.expr]:
    found = modules.find(module, expression) if isinstance(expression, ast.Name | ast.Attribute) else None
    if found is not None:
        expression = found[0].values.get(found[1], expression)
    return list(expression.elts) if isinstance(expression, ast.List | ast.Tuple) else []


def _element(case: ast.expr, position: int) -> ast.expr | None:
    if isinstance(case, ast.Call) and dotted(case.func).endswith("param"):
        return case.args[position] if position < len(case.args) else None
    if isinstance(case, ast.Tuple | ast.List):
        return case.elts[position] if position < len(case.elts) else None
    return None


class _Reader:
    """Follows calls from a test function to the class that takes name and dtypes."""

    def __init__(self, modules: Modules):
        self._modules = modules

    def benchmarks(
        self, function: ast.FunctionDef, module: Module, local: Mapping[str, Any], depth: int
    ) -> Iterator[tuple[Any, Any]]:
        """(name, dtypes) of each benchmark object that the function's body makes."""
        known = self._with_body(function, module, dict(local))
        for node in calls_in(function.body):
            found = self._modules.find(module, node.func)
            if found is not None and found[1] in found[0].classes:
                declared_here = self._constructed(found, self._arguments(node, module, known))
                if declared_here is not None:
                    yield declared_here
            elif found is not None and found[0] is module and found[1] in module.functions and depth < DEEPEST_CALL:
                helper = module.functions[found[1]]
                if helper is not function:
                    local = _bound(helper.args, self._arguments(node, module, known), 0)
                    yield from self.benchmarks(helper, module, local, depth + 1)
            elif any(keyword.arg == "op_name" for keyword in node.keywords):  # a class that is itself a parameter
                named = self._arguments(node, module, known).named
                yield named["op_name"], named.get("dtypes", Unreadable)

    def _constructed(self, start: tuple[Module, str], arguments: _Arguments) -> tuple[Any, Any] | None:
        """(name, dtypes) of an object of that class; None for a class that is no benchmark."""
        chain = self._chain(start)
        if not any(definition.name == "Benchmark" for _, definition in chain):
            return None
        name: Any = Unreadable
        dtypes: Any = None
        for module, definition in chain:
            init = next((part for part in definition.body if _is_init(part)), None)
            if not isinstance(init, ast.FunctionDef):
                continue
            local = self._with_body(init, module, _bound(init.args, arguments, 1))
            if definition.name == "Benchmark":
                name, dtypes = local.get("op_name", Unreadable), local.get("dtypes")
                if local.get("is_backward") is True:
                    name = _backward(name)
                break
            above = next((call for call in calls_in(init.body) if _is_super_init(call)), None)
            if above is None:
                return Unreadable, Unreadable
            arguments = self._arguments(above, module, local)
        if dtypes is None:
            dtypes = self._default_dtypes(chain)
        return name, dtypes

    def _default_dtypes(self, chain: list[tuple[Module, ast.ClassDef]]) -> Any:
        for module, definition in chain:
            for name, value in (pair for statement in definition.body for pair in assigned(statement)):
                if name == "DEFAULT_DTYPES":
                    return _value(self._modules, value, module)
        return Unreadable

    def _chain(self, start: tuple[Module, str]) -> list[tuple[Module, ast.ClassDef]]:
        """The class and those above it, depth first and each once, as far as their files are in the checkout."""
        chain: list[tuple[Module, ast.ClassDef]] = []
        waiting = [start]
        while waiting and len(chain) < 32:
            module, name = waiting.pop(0)
            definition = module.classes.get(name)
            if definition is None or any(definition is known for _, known in chain):
                continue
            chain.append((module, definition))
            found = [self._modules.find(module, base) for base in definition.bases]
            waiting = [place for place in found if place is not None] + waiting
        return chain

    def _arguments(self, call: ast.Call, module: Module, local: Mapping[str, Any]) -> _Arguments:
        positional: list[Any] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                more = local.get(dotted(argument.value))
                positional += more if isinstance(more, list) else [Unreadable]
            else:
                positional.append(_value(self._modules, argument, module, local))
        named: dict[str, Any] = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                more = local.get(dotted(keyword.value))
                named |= more if isinstance(more, dict) else {}
            else:
                named[keyword.arg] = _value(self._modules, keyword.value, module, local)
        return _Arguments(tuple(positional), named)

    def _with_body(self, function: ast.FunctionDef, module: Module, local: dict[str, Any]) -> dict[str, Any]:
        """`local` with the names that the body binds: once to a value, or as a loop's variable."""
        bound: dict[str, int] = {}
        for node in top_level(function.body):
            if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
                values = _value(self._modules, node.iter, module, local)
                local[node.target.id] = Choice(tuple(values)) if isinstance(values, list) else Unreadable
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name = node.targets[0].id
                bound[name] = bound.get(name, 0) + 1
                once = bound[name] == 1 and name not in function_parameters(function)
                local[name] = _value(self._modules, node.value, module, local) if once else Unreadable
        return local


def function_parameters(function: ast.FunctionDef) -> set[str]:
    """The names of a function's parameters."""
    given = function.args
    return {argument.arg for argument in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _bound(parameters: ast.arguments, arguments: _Arguments, skip: int) -> dict[str, Any]:
    """The values of a function's parameters, its first `skip` (self) left out, for those arguments."""
    names = [argument.arg for argument in (*parameters.posonlyargs, *parameters.args)][skip:]
    local: dict[str, Any] = {}
    only_named = [argument.arg for argument in parameters.kwonlyargs]
    defaults = list(zip(reversed(names), reversed(parameters.defaults), strict=False))
    for name, default in (*defaults, *zip(only_named, parameters.kw_defaults, strict=True)):
        if default is not None:
            local[name] = default.value if isinstance(default, ast.Constant) else Unreadable
    local |= dict(zip(names, arguments.positional, strict=False))
    every = {*names, *only_named}
    local |= {name: value for name, value in arguments.named.items() if name in every}
    if parameters.vararg:
        local[parameters.vararg.arg] = list(arguments.positional[len(names) :])
    if parameters.kwarg:
        local[parameters.kwarg.arg] = {name: value for name, value in arguments.named.items() if name not in every}
    return local


def _backward(name: Any) -> Any:
    if isinstance(name, Choice):
        return Choice(tuple(_backward(value) for value in name.values))
    return name + BACKWARD if isinstance(name, str) and BACKWARD not in name else name


def _is_init(part: ast.stmt) -> bool:
    return isinstance(part, ast.FunctionDef) and part.name == "__init__"


def calls_in(body: Sequence[ast.stmt]) -> Iterator[ast.Call]:
    """The calls in these statements, from the outside in; names, constants and operators are not looked into."""
    waiting: list[Any] = list(reversed(body))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                waiting += [inner for inner in reversed(value) if isinstance(inner, ast.AST)]
            elif isinstance(value, ast.AST) and not isinstance(value, LEAVES):
                waiting.append(value)


def _is_super_init(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "__init__"
        and isinstance(function.value, ast.Call)
        and dotted(function.value.func) == "super"
    )
