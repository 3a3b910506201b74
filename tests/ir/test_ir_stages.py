"""Stages as data, the opaque kind, and fingerprints in general."""

from __future__ import annotations

import pytest

from zl_bench.errors import ZlBenchError
from zl_bench.ir.fingerprint import Fingerprint, fingerprint, normalise
from zl_bench.ir.stages import MACHINE_CODE_STAGES, STAGES, StageKind, order_stages, stage_kind
from zl_bench.ir.unreadable import UnreadableStage


def test_stages_come_in_pipeline_order() -> None:
    assert order_stages(["cubin", "ptx", "ttir", "llir", "ttgir"]) == ("ttir", "ttgir", "llir", "ptx", "cubin")
    assert order_stages(["hsaco", "amdgcn", "ttir", "ttir"]) == ("ttir", "amdgcn", "hsaco")
    assert order_stages(["mcfatbin", "llir", "mlir", "ttgir"]) == ("ttgir", "mlir", "llir", "mcfatbin")


def test_an_unknown_stage_lies_before_the_machine_code() -> None:
    assert order_stages(["cubin", "zzz", "aaa", "ptx"]) == ("ptx", "aaa", "zzz", "cubin")


def test_names_are_unique_and_machine_code_is_known() -> None:
    assert len({stage.name for stage in STAGES}) == len(STAGES)
    assert {"cubin", "hsaco"} <= MACHINE_CODE_STAGES
    assert not MACHINE_CODE_STAGES & {"ttir", "ttgir", "llir", "ptx", "amdgcn"}
    assert stage_kind("no such stage") is StageKind.OPAQUE


def test_an_unknown_stage_is_compared_byte_for_byte() -> None:
    first, second = fingerprint("novel", b"\xff\x00 loc(1)"), fingerprint("novel", b"\xff\x00 loc(2)")
    assert first.digest != second.digest
    assert first == Fingerprint("novel", first.digest, first.digest, 0)
    assert normalise("novel", b"text loc(1)") == "text loc(1)"
    assert normalise("novel", b"\xff\x00").startswith("2 bytes, sha256 ")


@pytest.mark.parametrize("stage", [stage.name for stage in STAGES] + ["novel"])
def test_an_empty_stage_never_has_a_fingerprint(stage: str) -> None:
    with pytest.raises(UnreadableStage, match="empty") as caught:
        fingerprint(stage, b"")
    assert isinstance(caught.value, ZlBenchError)
    assert caught.value.stage == stage
