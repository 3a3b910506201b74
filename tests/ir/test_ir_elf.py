"""Machine code: what is loaded counts, what surrounds it does not."""

from __future__ import annotations

import struct

import pytest

from tests.ir.elf_builder import ALLOC, EXEC, NV_INFO, RELA, Part, build, symbols
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.fingerprint import fingerprint, normalise
from zl_bench.ir.unreadable import UnreadableStage

CODE = Part(".text.k", b"\x01\x02\x03\x04" * 8, flags=ALLOC | EXEC)
CONSTANTS = Part(".nv.constant0.k", b"\x07" * 16, flags=ALLOC)
DEBUG = Part(".debug_line", b"/some/path.py")


def same(first: bytes, second: bytes) -> bool:
    return fingerprint("cubin", first).digest == fingerprint("cubin", second).digest


def registers(symbol: int, count: int) -> Part:
    frame_size = struct.pack("<BBHII", 0x04, 0x11, 8, symbol, 0)
    maximum = struct.pack("<BBH", 0x02, 0x1C, 5)
    return Part(
        ".nv.info", frame_size + maximum + struct.pack("<BBHII", 0x04, 0x2F, 8, symbol, count), NV_INFO, 0, ".symtab"
    )


def relocation(symbol: int, addend: int = 0, offset: int = 8) -> Part:
    return Part(
        ".rela.text.k", struct.pack("<QQq", offset, symbol << 32 | 2, addend), RELA, 0, ".symtab", ".text.k", 24
    )


def test_debug_sections_and_section_numbers_do_not_matter() -> None:
    plain = build(CODE, CONSTANTS)
    assert same(plain, build(DEBUG, CODE, CONSTANTS))
    assert same(build(DEBUG, CODE), build(Part(".debug_line", b"/another.py"), CODE, Part(".comment", b"x")))


def test_code_and_constants_matter() -> None:
    plain = build(CODE, CONSTANTS)
    changed_code = build(Part(".text.k", b"\x01\x02\x03\x05" * 8, flags=ALLOC | EXEC), CONSTANTS)
    changed_constants = build(CODE, Part(".nv.constant0.k", b"\x08" * 16, flags=ALLOC))
    renamed = build(Part(".text.j", CODE.content, flags=ALLOC | EXEC), CONSTANTS)
    assert len({fingerprint("cubin", elf).digest for elf in (plain, changed_code, changed_constants, renamed)}) == 4


def test_relocations_count_by_symbol_name() -> None:
    first = build(CODE, relocation(1), *symbols("a", "b"))
    assert same(first, build(CODE, relocation(2), *symbols("b", "a")))
    assert not same(first, build(CODE, relocation(2), *symbols("a", "b")))
    assert not same(first, build(CODE, relocation(1, addend=4), *symbols("a", "b")))
    assert not same(first, build(CODE, *symbols("a", "b")))


def test_register_counts_are_read_by_symbol_name() -> None:
    first = build(CODE, registers(1, 32), *symbols("k", "z"))
    assert "registers: k 32\n" in normalise("cubin", first)
    assert same(first, build(CODE, registers(2, 32), *symbols("z", "k")))
    assert not same(first, build(CODE, registers(1, 40), *symbols("k", "z")))


def test_the_diff_names_the_sections_that_differ() -> None:
    diff = unified_diff(
        "cubin", build(CODE, CONSTANTS), build(CODE, Part(".nv.constant0.k", b"", flags=ALLOC)), "a", "b"
    )
    changed = [line for line in diff[2:] if line[0] in "+-"]
    assert [line[:17] for line in changed] == ["-.nv.constant0.k:", "+.nv.constant0.k:"]
    assert "16 bytes" in changed[0] and " 0 bytes" in changed[1]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"module {}", "not an ELF"),
        (b"\x7fELF", "damaged"),
        (build(CONSTANTS), "no executable section"),
        (build(Part(".text.k", b"", flags=ALLOC | EXEC)), "no executable section"),
    ],
)
def test_what_is_not_a_whole_elf_with_code_is_unreadable(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableStage, match=reason):
        fingerprint("hsaco", content)


def test_an_elf_cut_anywhere_is_unreadable() -> None:
    whole = build(DEBUG, CODE, CONSTANTS, registers(1, 32), relocation(1), *symbols("k"))
    fingerprint("cubin", whole)
    for cut in range(len(whole)):
        with pytest.raises(UnreadableStage):
            fingerprint("cubin", whole[:cut])


def test_damaged_tables_are_unreadable_or_read_and_never_a_crash() -> None:
    whole = build(DEBUG, CODE, CONSTANTS, registers(1, 32), relocation(1), *symbols("k"))
    for position in range(4, len(whole)):
        damaged = whole[:position] + bytes([whole[position] ^ 0xFF]) + whole[position + 1 :]
        try:
            fingerprint("cubin", damaged)
        except UnreadableStage:
            continue
