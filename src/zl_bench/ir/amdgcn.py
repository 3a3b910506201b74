"""Normalise AMDGCN assembly: comments, line information and debug sections gone; code, descriptor, metadata kept.

Directives: LLVM's AMDGPU user guide and the assembler's `.cfi_*`, `.loc`, `.file`, `.section`.
"""

from __future__ import annotations

import re

from zl_bench.ir.text import Canonical, decode, fold_line, without_unused_labels
from zl_bench.ir.unreadable import UnreadableStage

_DROPPED = (".loc", ".file", ".cfi_", ".ident")
_SECTION = re.compile(r"\.(?:section|text|data|bss|pushsection|popsection|previous)\b")
_DEBUG_SECTION = re.compile(r'\.section\s+"?\.(?:debug_|comment)')
_DEBUG_LABEL = re.compile(r"\.L(?:tmp|func_begin|func_end|info_string|debug|cu_begin|line_table|sec_end)[A-Za-z_0-9]*")
_PAIRS = ((".amdhsa_kernel", ".end_amdhsa_kernel"), (".amdgpu_metadata", ".end_amdgpu_metadata"))


def canonical_amdgcn(stage: str, content: bytes) -> Canonical:
    """The canonical form of one assembly file. Raises UnreadableStage when it is cut short or holds no kernel."""
    kept = _kept_lines(decode(stage, content).split("\n"))
    first_words = [line.split(None, 1)[0] for line in kept]
    for opening, closing in _PAIRS:
        if first_words.count(opening) != first_words.count(closing):
            raise UnreadableStage(stage, f"it is cut short ({opening} is not closed)")
    for word in (".amdgcn_target", ".amdhsa_kernel", ".amdgpu_metadata"):
        if word not in first_words:
            raise UnreadableStage(stage, f"there is no {word} directive in it")
    text = "\n".join(without_unused_labels(kept, _DEBUG_LABEL)) + "\n"
    return Canonical(text=text, code=text)


def _kept_lines(lines: list[str]) -> list[str]:
    kept: list[str] = []
    in_metadata = in_debug_section = False
    for raw in lines:
        if in_metadata:  # YAML: indentation has meaning and `;` starts no comment
            line = raw.rstrip()
            in_metadata = line.strip() != ".end_amdgpu_metadata"
            if line:
                kept.append(line if in_metadata else line.strip())
            continue
        line = fold_line(raw, ";")
        if not line or line.startswith(_DROPPED):
            continue
        if _SECTION.match(line):
            in_debug_section = _DEBUG_SECTION.match(line) is not None
        in_metadata = line == ".amdgpu_metadata"
        if in_metadata or not in_debug_section:
            kept.append(line)
    return kept
