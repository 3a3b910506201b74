"""Normalise LLVM IR text: debug information gone, metadata and attribute groups renumbered, code kept to the byte.

Reference: https://llvm.org/docs/LangRef.html. Local values keep their names: LLVM numbers them by position, and nothing
that is stripped here takes a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from zl_bench.ir.text import Canonical, decode, fold_line
from zl_bench.ir.unreadable import UnreadableStage

_STRING = r'"[^"]*"'
_DROPPED_LINE = re.compile(
    r"source_filename\b|#dbg_|(?:tail )?call void @llvm\.dbg\.|declare void @llvm\.dbg\.|!llvm\.(?:dbg\.cu|ident)\b"
)
_DEBUG_ATTACHMENT = re.compile(rf"({_STRING})|,? !dbg !(?:[0-9]+|DILocation\((?:{_STRING}|[^\"()])*\))")
_DEFINITION = re.compile(r"(![0-9]+|attributes #[0-9]+) = (.*)")
_REFERENCE = re.compile(rf"({_STRING})|(?<![\w$.!%@])[!#][0-9]+\b")
_DEBUG_NODE = re.compile(r"(?:distinct )?!DI[A-Z]\w*\(")
_DEBUG_FLAG = re.compile(r'!\{i32 [0-9]+, !"(?:Debug Info Version|Dwarf Version)"')
_BRACES = re.compile(rf"({_STRING})|[{{}}]")


def canonical_llvm(stage: str, content: bytes) -> Canonical:
    """The canonical form of one LLVM module. Raises UnreadableStage when it is cut short or defines no function."""
    lines = [fold_line(line, ";") for line in decode(stage, content).split("\n")]
    lines = [line for line in lines if line and not _DROPPED_LINE.match(line)]
    _check_braces(stage, lines)
    definitions: dict[str, str] = {}
    code: list[str] = []
    for line in lines:
        definition = _DEFINITION.match(line) if line[0] in "!a" else None
        if definition:
            definitions[definition[1].removeprefix("attributes ")] = definition[2]
        else:
            code.append(_without_debug_attachment(line))
    if not any(line.startswith("define ") for line in code):
        raise UnreadableStage(stage, "there is no function defined in it")
    text = "\n".join(_Renumbering(stage, definitions).run(code)) + "\n"
    return Canonical(text=text, code=text)


def _check_braces(stage: str, lines: Iterable[str]) -> None:
    depth = 0
    for line in lines:
        if "{" in line or "}" in line:
            braces = [match.group() for match in _BRACES.finditer(line)]
            depth += braces.count("{") - braces.count("}")
        if depth < 0:
            raise UnreadableStage(stage, "its braces do not match")
    if depth:
        raise UnreadableStage(stage, "it is cut short (a brace is left open)")


def _without_debug_attachment(line: str) -> str:
    if " !dbg " not in line:
        return line
    return _DEBUG_ATTACHMENT.sub(lambda match: match[1] or "", line)


class _Renumbering:
    """Numbers `!3` and `#2` by first use and writes out the definitions in use, debug nodes left out."""

    def __init__(self, stage: str, definitions: dict[str, str]) -> None:
        self._stage = stage
        self._definitions = {name: _without_debug_operands(value, definitions) for name, value in definitions.items()}
        self._numbers: dict[str, str] = {}
        self._counts = {"!": 0, "#": 0}

    def run(self, code: Iterable[str]) -> list[str]:
        lines = [
            self._rename(_without_debug_operands(line, self._definitions) if line[0] == "!" else line) for line in code
        ]
        lines = [line for line in lines if line != "!llvm.module.flags = !{}"]
        written = 0
        while written < len(self._numbers):
            name = list(self._numbers)[written]
            lines.append(f"{self._numbers[name]} = {self._rename(self._definitions[name])}")
            written += 1
        return lines

    def _rename(self, line: str) -> str:
        if "!" not in line and "#" not in line:
            return line
        return _REFERENCE.sub(self._reference, line)

    def _reference(self, match: re.Match[str]) -> str:
        if match[1] is not None:
            return match[1]
        name = match.group()
        if name not in self._definitions:
            raise UnreadableStage(self._stage, f"it is cut short ({name} is used and not defined)")
        if name not in self._numbers:
            self._numbers[name] = f"{name[0]}{self._counts[name[0]]}"
            self._counts[name[0]] += 1
        return self._numbers[name]


def _without_debug_operands(value: str, definitions: dict[str, str]) -> str:
    """A tuple of metadata without the operands that are debug nodes, such as a loop's start and end line."""
    prefix, brace, rest = value.partition("!{")
    if not brace or "!" not in rest:
        return value
    body, close, tail = rest.rpartition("}")
    operands = _operands(body)
    kept = [operand for operand in operands if not _is_debug(definitions.get(operand, ""))]
    return prefix + brace + ", ".join(kept) + close + tail


def _operands(body: str) -> list[str]:
    """Split at the commas that stand outside strings, brackets and parentheses."""
    parts: list[str] = []
    depth, start = 0, 0
    for match in re.finditer(rf"{_STRING}|[,(){{}}<>\[\]]", body):
        mark = match.group()
        if mark in "({<[":
            depth += 1
        elif mark in ")}>]":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(body[start : match.start()].strip())
            start = match.end()
    parts.append(body[start:].strip())
    return parts


def _is_debug(definition: str) -> bool:
    return _DEBUG_NODE.match(definition) is not None or _DEBUG_FLAG.match(definition) is not None
