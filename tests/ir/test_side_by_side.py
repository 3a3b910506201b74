from __future__ import annotations

import time

import pytest

from tests.ir.made_ttgir import NARROW, WIDE, ttgir
from zl_bench.ir import side_by_side as module
from zl_bench.ir.side_by_side import Line, side_by_side
from zl_bench.ir.unreadable import UnreadableStage

CONVERT = f"    %y = ttg.convert_layout %x : tensor<64x64xf16, {WIDE}> -> tensor<64x64xf16, {NARROW}>\n"


def differing(lines: tuple[Line, ...]) -> list[tuple[str | None, str | None]]:
    return [(line.before, line.after) for line in lines if line.kind == "differs"]


def test_another_layout_is_what_differs() -> None:
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(NARROW))
    assert found.differing == 6
    assert all(
        before and after and "#blocked>" in before and "#blocked1>" in after for before, after in differing(found.lines)
    )
    assert [layout.name for layout in found.layouts] == ["#blocked", "#blocked1"]
    assert found.note == ""


def test_an_operation_more_stands_alone() -> None:
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(WIDE, extra=CONVERT))
    ((before, after),) = differing(found.lines)
    assert before is None
    assert after is not None and after.strip().startswith("%convert_layout.0 = ttg.convert_layout %load.0 : tensor")
    (line,) = [line for line in found.lines if line.kind == "differs"]
    assert (line.before_number, line.after_number) == (None, 6)


def test_values_that_are_numbered_otherwise_are_the_same() -> None:
    extra = f"    %z = arith.constant dense<7> : tensor<64x64xi32, {WIDE}>\n"
    used = (
        f"    %w = arith.constant dense<9> : tensor<64x64xi32, {WIDE}>\n"
        f"    %u = arith.addi %w, %w : tensor<64x64xi32, {WIDE}>\n"
    )
    found = side_by_side("ttgir", ttgir(WIDE, extra=used), ttgir(WIDE, extra=extra + used))
    assert len(differing(found.lines)) == 1
    renamed = [line for line in found.lines if line.kind == "same" and line.before != line.after]
    assert renamed and all(line.before is not None and "%constant.1" in line.before for line in renamed)
    assert all(line.after is not None and "%constant.2" in line.after for line in renamed)


def test_operands_that_change_places_differ() -> None:
    names = "    %z = arith.constant dense<7> : tensor<4xi32>\n    %w = arith.constant dense<9> : tensor<4xi32>\n"
    one, other = (names + f"    %d = arith.subi {pair} : tensor<4xi32>\n" for pair in ("%z, %w", "%w, %z"))
    found = side_by_side("ttgir", ttgir(WIDE, extra=one), ttgir(WIDE, extra=other))
    ((before, after),) = differing(found.lines)
    assert before is not None and before.strip() == "%subi.0 = arith.subi %constant.1, %constant.2 : tensor<4xi32>"
    assert after is not None and after.strip() == "%subi.0 = arith.subi %constant.2, %constant.1 : tensor<4xi32>"


def test_lines_stand_beside_those_of_their_operation_and_type() -> None:
    old = "    %z = arith.constant 4 : i32\n    %w = tt.splat %z : i32 -> tensor<8xi32, #ttg.slice<{dim = 1, parent = #L}>>\n"
    new = "    %w = tt.splat %c : i32 -> tensor<8xi32, #L>\n    %u = arith.constant dense<4> : tensor<8xi32, #L>\n"
    found = side_by_side("ttgir", *(ttgir(WIDE, extra=extra.replace("#L", WIDE)) for extra in (old, new)))
    assert [(a and a.partition(" = ")[2], b and b.partition(" = ")[2]) for a, b in differing(found.lines)] == [
        ("arith.constant 4 : i32", None),
        (
            "tt.splat %constant.1 : i32 -> tensor<8xi32, #ttg.slice<{dim = 1, parent = #blocked}>>",
            "tt.splat %constant.0 : i32 -> tensor<8xi32, #blocked>",
        ),
        (None, "arith.constant dense<4> : tensor<8xi32, #blocked>"),
    ]


def test_the_lines_of_each_side_are_numbered_without_a_gap() -> None:
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(NARROW, extra=CONVERT))
    for side, total in (("before", found.before_lines), ("after", found.after_lines)):
        number = 1
        for line in found.lines:
            if line.kind == "left out":
                number += line.count
            elif (own := getattr(line, f"{side}_number")) is not None:
                assert own == number
                number += 1
        assert number == total + 1


def test_equal_texts_have_no_lines() -> None:
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(WIDE))
    assert (found.lines, found.differing) == ((), 0)


def llvm(body: str) -> bytes:
    return f"define void @k(ptr %0) {{\n{body}  ret void\n}}\n".encode()


def test_numbers_of_llvm_values_follow_an_instruction_more() -> None:
    one = "  %2 = add i32 1, 2\n  %3 = mul i32 %2, %2\n"
    other = "  %2 = xor i32 5, 6\n  %3 = add i32 1, 2\n  %4 = mul i32 %3, %3\n"
    found = side_by_side("llir", llvm(one), llvm(other))
    assert differing(found.lines) == [(None, "%2 = xor i32 5, 6")]
    assert found.layouts == ()


def ptx(body: str) -> bytes:
    return f".version 8.4\n.target sm_90a\n.visible .entry k()\n{{\n{body}ret;\n}}\n".encode()


def test_another_kind_of_register_or_another_special_one_differs() -> None:
    for one, other in (("mov.u32 %r1, %tid.x;", "mov.u32 %r1, %ctaid.x;"), ("mov.b32 %r1, %r2;", "mov.b32 %f1, %r2;")):
        found = side_by_side("ptx", ptx(one + "\n"), ptx(other + "\n"))
        assert differing(found.lines) == [(one, other)]


def test_real_registers_of_assembly_are_no_mere_numbers() -> None:
    frame = (
        '.amdgcn_target "amdgcn-amd-amdhsa--gfx942"\nk:\n\tv_mov_b32 v{}, 0\n\ts_endpgm\n.amdhsa_kernel k\n.end_amdhsa_kernel\n'
        ".amdgpu_metadata\n---\n.end_amdgpu_metadata\n"
    )
    one, other = (frame.format(number).encode() for number in (1, 2))
    found = side_by_side("amdgcn", one, other)
    assert [(str(a).strip(), str(b).strip()) for a, b in differing(found.lines)] == [
        ("v_mov_b32 v1, 0", "v_mov_b32 v2, 0")
    ]


def test_a_difference_is_shown_even_if_only_numbers_tell_it() -> None:
    # Both name one value for the same operation, so that renaming alone would call every line the same.
    found = side_by_side("llir", llvm("  %2 = add i32 1, 2\n"), llvm("  %9 = add i32 1, 2\n"))
    assert found.differing == 1


def test_long_texts_are_not_aligned_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST", 5)
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(NARROW))
    assert found.lines == ()
    assert found.note == f"too long to be aligned here: {found.before_lines} lines before, {found.after_lines} after"


def test_only_so_many_lines_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SHOWN", 4)
    found = side_by_side("ttgir", ttgir(WIDE), ttgir(NARROW))
    assert len(found.lines) == 4
    assert found.note.startswith("the first 4 lines of ")
    assert found.differing == 6


def test_thousands_of_lines_take_seconds_at_most() -> None:
    lines = [f"  %{n} = add i32 {n % 7}, {n % 11}\n" for n in range(2, 5000)]
    others = [line for n, line in enumerate(lines) if n % 9]
    started = time.monotonic()
    found = side_by_side("llir", llvm("".join(lines)), llvm("".join(others)))
    assert time.monotonic() - started < 20
    assert found.differing > 0


def test_what_can_not_be_read_is_an_error() -> None:
    with pytest.raises(UnreadableStage):
        side_by_side("ttgir", b"", ttgir(WIDE))
