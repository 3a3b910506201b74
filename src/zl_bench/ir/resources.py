"""What a kernel takes of a card, as far as machine code and assembly say, and the hash of what a card executes of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from zl_bench.ir.elf import LoadedPart, loaded_parts
from zl_bench.ir.stages import MACHINE_CODE_STAGES, StageKind, order_stages, stage_kind
from zl_bench.ir.unreadable import UnreadableStage

VECTOR_REGISTERS = re.compile(rb"^\s*\.vgpr_count:\s*(\d+)", re.MULTILINE)
SPILLED_VECTOR_REGISTERS = re.compile(rb"^\s*\.vgpr_spill_count:\s*(\d+)", re.MULTILINE)
"""In the metadata that AMD's assembly ends with (LLVM, "User Guide for AMDGPU Backend", code object metadata)."""


@dataclass(frozen=True)
class Resources:
    """None, or empty, where the code does not say."""

    registers: int | None = None
    """Per thread."""
    spills: int | None = None
    executable_sha256: str = ""
    """Of the contents of the executable sections, one after the other."""


def resources(kernel: str, stages: Mapping[str, bytes]) -> Resources:
    """What the stages of a kernel of that name say; of contents that can not be read, nothing."""
    registers, spills, executable = None, None, ""
    for stage in order_stages(stages):
        content = stages[stage]
        if stage_kind(stage) is StageKind.AMDGCN:
            registers, spills = _largest(VECTOR_REGISTERS, content), _largest(SPILLED_VECTOR_REGISTERS, content)
        elif stage in MACHINE_CODE_STAGES and stage_kind(stage) is StageKind.ELF:
            try:
                parts = loaded_parts(stage, content)
            except UnreadableStage:
                continue
            executable = _hash_of_code(parts)
            registers = registers if registers is not None else _noted_registers(kernel, parts)
    return Resources(registers, spills, executable)


def _largest(pattern: re.Pattern[bytes], content: bytes) -> int | None:
    return max(map(int, pattern.findall(content)), default=None)


def _hash_of_code(parts: tuple[LoadedPart, ...]) -> str:
    return hashlib.sha256(b"".join(part.content for part in parts if part.executable)).hexdigest()


def _noted_registers(kernel: str, parts: tuple[LoadedPart, ...]) -> int | None:
    """The register count that ptxas notes for the kernel; the largest one where its functions are called otherwise."""
    lines = [line for part in parts if part.name == "registers" for line in part.content.decode().splitlines()]
    counts = {name: int(count) for name, _, count in (line.rpartition(" ") for line in lines)}
    return counts.get(kernel, max(counts.values(), default=None))
