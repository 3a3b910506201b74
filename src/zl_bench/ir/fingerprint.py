"""The one fingerprint by which two compiles of a kernel are compared (R5, R6)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from zl_bench.ir.amdgcn import canonical_amdgcn
from zl_bench.ir.llvm import canonical_llvm
from zl_bench.ir.mlir import canonical_mlir, readable_mlir
from zl_bench.ir.ptx import canonical_ptx
from zl_bench.ir.stages import StageKind, stage_kind
from zl_bench.ir.text import Canonical
from zl_bench.ir.unreadable import UnreadableStage


@dataclass(frozen=True)
class Fingerprint:
    """What one stage of one kernel amounts to. Two contents of a stage are the same exactly when `digest` is equal."""

    stage: str
    digest: str
    """SHA-256, in hexadecimal, of everything that matters."""
    body_digest: str
    """The same without the module's attributes; equal to `digest` where a stage has none."""
    converts: int
    """The number of convert_layout operations; 0 for other than MLIR."""
    unordered: int = 0
    """The number of operations whose free order can show in floating-point results; 0 for other than MLIR."""


def fingerprint(stage: str, content: bytes) -> Fingerprint:
    """The fingerprint of a stage's content, as the compiler made it.

    Raises UnreadableStage when the content is empty, cut short or not what the stage holds: it then equals nothing.
    """
    canonical = canonical_form(stage, content)
    body_digest = _digest(canonical.code)
    digest = _digest(f"{body_digest}\n{canonical.attributes}") if canonical.attributes else body_digest
    return Fingerprint(stage, digest, body_digest, canonical.converts, canonical.unordered)


def attributes_only(before: Fingerprint, after: Fingerprint) -> bool:
    """Whether the two differ, and only in the module's attributes."""
    return before.digest != after.digest and before.body_digest == after.body_digest


def normalise(stage: str, content: bytes) -> str:
    """The content without what does not matter, laid out in lines for reading. Raises UnreadableStage as above.

    Equal texts have equal fingerprints; of two texts that differ in spacing and line breaks alone, so do MLIR's.
    """
    if stage_kind(stage) is StageKind.MLIR:
        return readable_mlir(stage, content)
    return canonical_form(stage, content).text


def canonical_form(stage: str, content: bytes) -> Canonical:
    """The canonical form by the stage's kind. Raises UnreadableStage."""
    return _CANONICAL[stage_kind(stage)](stage, content)


def _canonical_elf(stage: str, content: bytes) -> Canonical:
    """Its reader is imported when it is needed: a repro has no pyelftools where it has only Triton."""
    from zl_bench.ir.elf import canonical_elf

    return canonical_elf(stage, content)


def _canonical_opaque(stage: str, content: bytes) -> Canonical:
    if not content:
        raise UnreadableStage(stage, "it is empty")
    code = f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n"
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = code
    return Canonical(text=text, code=code)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_CANONICAL: dict[StageKind, Callable[[str, bytes], Canonical]] = {
    StageKind.MLIR: canonical_mlir,
    StageKind.LLVM: canonical_llvm,
    StageKind.PTX: canonical_ptx,
    StageKind.AMDGCN: canonical_amdgcn,
    StageKind.ELF: _canonical_elf,
    StageKind.OPAQUE: _canonical_opaque,
}
