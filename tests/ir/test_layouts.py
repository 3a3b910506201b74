from __future__ import annotations

import pytest

from zl_bench.ir.layouts import explain, name_layouts

BLOCKED = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
OTHER = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"
MMA = "#ttg.nvidia_mma<{versionMajor = 3, versionMinor = 0, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}>"


def test_both_sides_share_their_names() -> None:
    (before, after), layouts = name_layouts(
        [f"tensor<8xf32, {BLOCKED}>", f"tensor<8xf32, {OTHER}> tensor<8xf32, {BLOCKED}>"]
    )
    assert before == "tensor<8xf32, #blocked>"
    assert after == "tensor<8xf32, #blocked1> tensor<8xf32, #blocked>"
    assert [(layout.name, layout.definition) for layout in layouts] == [("#blocked", BLOCKED), ("#blocked1", OTHER)]


def test_what_is_made_of_others_keeps_its_form() -> None:
    nested = f"#ttg.slice<{{dim = 1, parent = #ttg.slice<{{dim = 0, parent = {BLOCKED}}}>}}>"
    operand = f"#ttg.dot_op<{{opIdx = 0, parent = {MMA}, kWidth = 2}}>"
    (text,), layouts = name_layouts([f"{nested} {operand}"])
    assert text == (
        "#ttg.slice<{dim = 1, parent = #ttg.slice<{dim = 0, parent = #blocked}>}> "
        "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>"
    )
    assert [layout.name for layout in layouts] == ["#blocked", "#mma", "#ttg.slice", "#ttg.dot_op"]
    assert all(layout.meaning for layout in layouts)


@pytest.mark.parametrize(
    ("definition", "name"),
    [
        ("#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>", "#shared"),
        ("#ttg.nvmma_shared<{swizzlingByteWidth = 128, transposed = false, elementBitWidth = 16}>", "#shared"),
        ("#triton_gpu.shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0, 1]}>", "#shared"),
        ("#ttg.amd_mfma<{version = 3, warpsPerCTA = [2, 2], instrShape = [32, 32], isTransposed = true}>", "#mma"),
        ("#ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = [], block = []}>", "#linear"),
        ("#ttg.padded_shared<[256:+16] {order = [1, 0], shape = [64, 64]}>", "#shared"),
        ("#ttng.tensor_memory_encoding<blockM = 128, blockN = 64, unpacked = true>", "#tmem"),
        ("#vendor.tiled<{rows = 4, columns = 8}>", "#tiled"),
    ],
)
def test_names_as_tritons_printer_has_them(definition: str, name: str) -> None:
    (text,), (layout,) = name_layouts([f"memref<{definition}>"])
    assert (text, layout.name, layout.definition) == (f"memref<{name}>", name, definition)
    assert layout.meaning.endswith(".")


def test_attributes_without_parameters_are_no_layouts() -> None:
    text = (
        "arith.addf %a, %b fastmath<contract>, !ttg.memdesc<64xf16, #ttg.shared_memory, mutable>, #arith.fastmath<fast>"
    )
    assert name_layouts([text]) == ((text,), ())


def test_a_blocked_layout_in_words() -> None:
    body = "{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}"
    assert explain("blocked", body) == (
        "Elements lie in registers: 1 × 4 per thread, 8 × 4 threads per warp, 4 × 1 warps. Together they cover 32 × 16 "
        "elements; larger tensors repeat that, smaller ones are held in copies. Dimension 1 is the contiguous one."
    )
    assert "Dimension" not in explain(
        "blocked", "{sizePerThread = [8], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}"
    )


def test_other_layouts_in_words() -> None:
    assert "Hopper, wgmma" in explain(
        "nvidia_mma", "{versionMajor = 3, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}"
    )
    assert "16 × 64 × 16" in explain(
        "nvidia_mma", "{versionMajor = 3, warpsPerCTA = [4, 1], instrShape = [16, 64, 16]}"
    )
    assert "without swizzling" in explain("swizzled_shared", "{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}")
    assert "groups of 8" in explain("swizzled_shared", "{vec = 8, perPhase = 2, maxPhase = 4, order = [1, 0]}")
    assert "swizzled over 128 bytes, transposed" in explain(
        "nvmma_shared", "{swizzlingByteWidth = 128, transposed = true}"
    )
    assert explain("tiled", "{rows = 4}") == "A layout of the kind tiled; see its parameters."
