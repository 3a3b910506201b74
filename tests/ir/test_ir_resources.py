"""Registers, spills and the hash of executed code, from the stages of a kernel."""

from __future__ import annotations

from pathlib import Path

from zl_bench.ir.resources import Resources, resources

RECORDED = Path(__file__).parents[1] / "reports/data/recorded_screen/vector_add_before/ir"
AMDGCN = b"""
  - .args: []
    .sgpr_count:     16
    .vgpr_count:     24
    .vgpr_spill_count: 3
"""


def test_a_cubin_notes_its_registers_and_no_spills() -> None:
    (cubin,) = RECORDED.glob("*.cubin")
    found = resources("vector_add_kernel", {"cubin": cubin.read_bytes()})
    assert found.registers is not None and 8 <= found.registers <= 255
    assert found.spills is None
    assert len(found.executable_sha256) == 64


def test_amd_assembly_notes_both() -> None:
    assert resources("k", {"amdgcn": AMDGCN}) == Resources(registers=24, spills=3)


def test_what_can_not_be_read_says_nothing() -> None:
    assert resources("k", {"cubin": b"", "ptx": b"//"}) == Resources()
    assert resources("k", {"amdgcn": b"nothing"}) == Resources()
