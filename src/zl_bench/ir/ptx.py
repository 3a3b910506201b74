"""Normalise PTX: comments, line information and debug sections gone, instructions and directives kept.

Grammar: the PTX ISA's "Debugging Directives" (`.loc`, `.file`, `.section`, `@@dwarf`).
"""

from __future__ import annotations

import re

from zl_bench.ir.text import Canonical, decode, fold_line, without_unused_labels
from zl_bench.ir.unreadable import UnreadableStage

_STRING = re.compile(r'"[^"\n]*"')
_STRING_OR_BLOCK_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_DROPPED = (".loc", ".file", "@@dwarf")
_DEBUG_LABEL = re.compile(r"\$L__(?:tmp|func_begin|func_end|info_string|debug|cu_begin|section|sec)[A-Za-z_0-9]*")


def canonical_ptx(stage: str, content: bytes) -> Canonical:
    """The canonical form of one PTX module. Raises UnreadableStage when it is cut short or holds no function."""
    code = decode(stage, content)
    if "/*" in code:
        code = _STRING_OR_BLOCK_COMMENT.sub(_blank_block_comment, code)
    lines = [fold_line(line, "//") for line in code.split("\n")]
    kept = list(_without_debug_sections(stage, [line for line in lines if line and not line.startswith(_DROPPED)]))
    if not any(line.startswith(".version") for line in kept):
        raise UnreadableStage(stage, "there is no .version directive in it")
    if not any(word in (".entry", ".func") for line in kept for word in line.split()):
        raise UnreadableStage(stage, "there is no function in it")
    text = "\n".join(without_unused_labels(kept, _DEBUG_LABEL)) + "\n"
    return Canonical(text=text, code=text)


def _blank_block_comment(match: re.Match[str]) -> str:
    return " " if match.group().startswith("/*") else match.group()


def _without_debug_sections(stage: str, lines: list[str]) -> list[str]:
    """Drop `.section .debug_… { … }`; everything within other braces stays."""
    kept: list[str] = []
    depth = 0
    section_depth: int | None = None
    for line in lines:
        starts_section = section_depth is None and line.startswith(".section")
        if starts_section:
            section_depth = depth
        if section_depth is None:
            kept.append(line)
        bare = _STRING.sub("", line) if '"' in line else line
        depth += bare.count("{") - bare.count("}")
        if depth < 0:
            raise UnreadableStage(stage, "its braces do not match")
        if section_depth is not None and "}" in bare and depth == section_depth:
            section_depth = None
    if depth or section_depth is not None:
        raise UnreadableStage(stage, "it is cut short (a brace is left open)")
    return kept
