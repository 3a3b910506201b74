"""The stages of a kernel's code, as data: a vendor's stage is one more line in `STAGES`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class StageKind(Enum):
    """What language a stage is written in, and so how it is normalised."""

    MLIR = "mlir"
    LLVM = "llvm"
    PTX = "ptx"
    AMDGCN = "amdgcn"
    ELF = "elf"
    OPAQUE = "opaque"
    """Unknown to us: compared byte for byte."""


@dataclass(frozen=True)
class Stage:
    """One level of a kernel's code. `machine_code` marks what a card loads, the last stage of a pipeline."""

    name: str
    kind: StageKind
    machine_code: bool = False


STAGES: tuple[Stage, ...] = (
    Stage("source", StageKind.MLIR),  # the input of the first stage: recorded beside a kernel's stages
    Stage("ttir", StageKind.MLIR),
    Stage("ttxir", StageKind.MLIR),  # XPU
    Stage("ttadapter", StageKind.MLIR),  # Ascend
    Stage("linalg", StageKind.MLIR),  # Cambricon
    Stage("mluir", StageKind.MLIR),  # Cambricon
    Stage("mluiropt", StageKind.MLIR),  # Cambricon
    Stage("ttgir", StageKind.MLIR),
    Stage("mlir", StageKind.MLIR),  # MetaX
    Stage("gcuir", StageKind.MLIR),  # Enflame
    Stage("llir", StageKind.LLVM),
    Stage("ptx", StageKind.PTX),
    Stage("amdgcn", StageKind.AMDGCN),
    Stage("mlisa", StageKind.OPAQUE),  # Cambricon
    Stage("elf", StageKind.OPAQUE),  # XPU
    Stage("cubin", StageKind.ELF, machine_code=True),
    Stage("hsaco", StageKind.ELF, machine_code=True),
    Stage("mubin", StageKind.OPAQUE, machine_code=True),  # MThreads
    Stage("mcfatbin", StageKind.OPAQUE, machine_code=True),  # MetaX
    Stage("xpubin", StageKind.OPAQUE, machine_code=True),  # XPU
    Stage("cnbin", StageKind.OPAQUE, machine_code=True),  # Cambricon
    Stage("npubin", StageKind.OPAQUE, machine_code=True),  # Ascend
    Stage("fatbin", StageKind.OPAQUE, machine_code=True),  # Enflame
)
"""Every known stage in pipeline order.

Vendors' names are those that their public back ends give to `add_stages`; none of their files has been seen here, so
their binaries are opaque, which may report a difference that only debug information makes, and never hides one.
"""

MACHINE_CODE_STAGES: frozenset[str] = frozenset(stage.name for stage in STAGES if stage.machine_code)

_BY_NAME = {stage.name: stage for stage in STAGES}
_POSITION = {stage.name: position for position, stage in enumerate(STAGES)}


def stage_kind(name: str) -> StageKind:
    """The kind of a stage's content; OPAQUE for a name that is not in `STAGES`."""
    stage = _BY_NAME.get(name)
    return StageKind.OPAQUE if stage is None else stage.kind


def order_stages(names: Iterable[str]) -> tuple[str, ...]:
    """The distinct names in pipeline order; unknown ones come last but before machine code, alphabetically."""
    first_machine_code = min(_POSITION[name] for name in MACHINE_CODE_STAGES)

    def position(name: str) -> tuple[float, str]:
        return (_POSITION.get(name, first_machine_code - 0.5), name)

    return tuple(sorted(set(names), key=position))
