"""What a card executes out of an ELF (cubin, hsaco), without the names, tables and notes around it.

Kept, each with its section's name: executable sections; initialised data that is loaded (constant banks, and `.rodata`,
which on AMD holds the kernel descriptor with its register counts); relocations of these; and the register count that
ptxas notes in `.nv.info`, since occupancy hangs on it. Constants count because code that reads other constants computes
something else, though its instructions are the same.

Left out: everything that is not loaded. ptxas looks up the source file that a PTX `.file` directive names and writes
its modification time and size into `.debug_line`, so that one and the same PTX gives another cubin once the source has
been rewritten or has gone. Shown with ptxas 12.8: mtime, size, path, line numbers and `.loc` itself change
debug sections, symbol tables and the numbering of sections, and never a byte of `.text` or of a constant bank.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import Section, SymbolTableSection

from zl_bench.ir.text import Canonical
from zl_bench.ir.unreadable import UnreadableStage

_ALLOCATED = 0x2
_EXECUTABLE = 0x4
_DAMAGE = (
    ELFError,
    ConstructError,
    struct.error,
    ValueError,
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
)
"""What pyelftools raises on a file whose tables point nowhere."""
_REGISTER_COUNT = (0x04, 0x2F)
"""Format and attribute of an EIATTR_REGCOUNT entry: its 8 bytes are a symbol's index and a number of registers."""


@dataclass(frozen=True)
class LoadedPart:
    """One thing that is compared: a section's bytes, its relocations or the register counts."""

    name: str
    content: bytes
    executable: bool = False
    readable: bool = False
    """The content is lines of text, shown as they are."""

    def describe(self) -> str:
        """Lines for a person to compare; equal exactly when name and content are."""
        if self.readable:
            return "".join(f"{self.name}: {line}\n" for line in self.content.decode().splitlines())
        return f"{self.name}: {len(self.content)} bytes, sha256 {hashlib.sha256(self.content).hexdigest()}\n"


def loaded_parts(stage: str, content: bytes) -> tuple[LoadedPart, ...]:
    """The parts of an ELF that matter, in file order. Raises UnreadableStage for anything but a whole ELF with code."""
    if not content:
        raise UnreadableStage(stage, "it is empty")
    if not content.startswith(b"\x7fELF"):
        raise UnreadableStage(stage, "it is not an ELF file")
    try:
        parts = tuple(_parts(stage, content))
    except _DAMAGE as error:
        raise UnreadableStage(stage, f"the ELF file is damaged ({type(error).__name__}: {error})") from None
    if not any(part.executable and part.content for part in parts):
        raise UnreadableStage(stage, "the ELF file has no executable section")
    return parts


def canonical_elf(stage: str, content: bytes) -> Canonical:
    """The canonical form of an ELF: a line per loaded section, with its size and SHA-256, relocation or kernel."""
    text = "".join(part.describe() for part in loaded_parts(stage, content))
    return Canonical(text=text, code=text)


def _parts(stage: str, content: bytes) -> Iterator[LoadedPart]:
    elf = ELFFile(BytesIO(content))
    _check_extent(stage, elf)
    sections: list[Section] = list(elf.iter_sections())
    kept: set[str] = set()
    for section in sections:
        flags = section["sh_flags"]
        if section["sh_type"] == "SHT_PROGBITS" and flags & _ALLOCATED:
            kept.add(section.name)
            yield LoadedPart(section.name, _whole_data(stage, content, section), bool(flags & _EXECUTABLE))
    for section in sections:
        if isinstance(section, RelocationSection) and sections[section["sh_info"]].name in kept and section["sh_size"]:
            _whole_data(stage, content, section)
            yield LoadedPart(section.name, _relocations(section, sections[section["sh_link"]]), readable=True)
        elif section.name == ".nv.info":
            registers = _register_counts(_whole_data(stage, content, section), sections[section["sh_link"]])
            yield LoadedPart("registers", registers, readable=True)


def _check_extent(stage: str, elf: ELFFile) -> None:
    header = elf.header
    sections_end = header["e_shoff"] + header["e_shnum"] * header["e_shentsize"]
    segments_end = header["e_phoff"] + header["e_phnum"] * header["e_phentsize"]
    if max(sections_end, segments_end) > elf.stream_len:
        raise UnreadableStage(stage, "the ELF file is cut short (in its tables)")


def _whole_data(stage: str, content: bytes, section: Section) -> bytes:
    start, size = section["sh_offset"], section["sh_size"]
    if start + size > len(content):
        raise UnreadableStage(stage, f"the ELF file is cut short (in {section.name})")
    return content[start : start + size]


def _relocations(section: RelocationSection, symbols: Section) -> bytes:
    """Offset, type, symbol and addend of each: by name, since a symbol's index moves with debug sections."""
    lines = []
    for relocation in section.iter_relocations():
        symbol = _symbol_name(symbols, relocation["r_info_sym"])
        addend = relocation["r_addend"] if relocation.is_RELA() else 0
        lines.append(f"{relocation['r_offset']:#x} {relocation['r_info_type']} {symbol} {addend}\n")
    return "".join(lines).encode()


def _symbol_name(symbols: Section, index: int) -> str:
    if not isinstance(symbols, SymbolTableSection):
        return str(index)
    return str(symbols.get_symbol(index).name)


def _register_counts(info: bytes, symbols: Section) -> bytes:
    lines = []
    position = 0
    while position + 4 <= len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, position)
        position += 4
        if form != 0x04:
            continue
        if (form, attribute) == _REGISTER_COUNT:
            symbol, registers = struct.unpack_from("<II", info, position)
            lines.append(f"{_symbol_name(symbols, symbol)} {registers}\n")
        position += size
    return "".join(sorted(lines)).encode()
