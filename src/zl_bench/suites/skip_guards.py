"""Checks a table of skip-guard overrides against a checkout: an override that fits no guard any more is stale."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from zl_bench.inside.zl_probe.compat.guards import SkipOverride
from zl_bench.suites.source_values import dotted


@dataclass(frozen=True)
class StaleOverride:
    """An override that matches nothing, and what is there instead."""

    override: SkipOverride
    finding: str


@dataclass(frozen=True)
class _Guard:
    reason: str
    condition: str


def stale_overrides(checkout: Path, overrides: Iterable[SkipOverride]) -> tuple[StaleOverride, ...]:
    """The overrides that no `skipif` on a test of their file fits, by the exact reason and by the condition's text."""
    found = []
    for override in overrides:
        finding = _finding(checkout / override.file, override)
        if finding:
            found.append(StaleOverride(override, finding))
    return tuple(found)


def _finding(file: Path, override: SkipOverride) -> str:
    """Empty when a guard fits."""
    try:
        tree = ast.parse(file.read_bytes(), filename=str(file))
    except FileNotFoundError:
        return "the file is gone"
    except (OSError, SyntaxError, ValueError) as error:
        return f"the file can not be read as Python: {error}"
    guards = list(_guards(tree))
    same_reason = [guard for guard in guards if guard.reason == override.reason]
    if not same_reason:
        reasons = ", ".join(repr(guard.reason) for guard in guards)
        return f"no test there has a skip guard with that reason (reasons there: {reasons or 'none'})"
    if not any(override.condition in guard.condition for guard in same_reason):
        return f"its condition is now {same_reason[0].condition!r}, which the override was not made for"
    return ""


def _guards(tree: ast.Module) -> Iterator[_Guard]:
    """Every `@pytest.mark.skipif(CONDITION, reason="…")` on a test function."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            continue
        for decorator in node.decorator_list:
            if not isinstance(decorator, ast.Call) or not dotted(decorator.func).endswith("mark.skipif"):
                continue
            reason = next((keyword.value for keyword in decorator.keywords if keyword.arg == "reason"), None)
            if decorator.args and isinstance(reason, ast.Constant) and isinstance(reason.value, str):
                yield _Guard(reason.value, ast.unparse(decorator.args[0]))
