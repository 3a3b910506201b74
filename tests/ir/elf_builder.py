"""Puts small ELF files together for tests: 64 bits, little-endian, sections only."""

from __future__ import annotations

import struct
from dataclasses import dataclass

PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, NV_INFO = 1, 2, 3, 4, 8, 0x70000000
ALLOC, EXEC = 0x2, 0x4


@dataclass(frozen=True)
class Part:
    name: str
    content: bytes
    kind: int = PROGBITS
    flags: int = 0
    link: str = ""
    info: str | int = 0
    entry_size: int = 0


def build(*parts: Part) -> bytes:
    """An ELF with the given sections in order and a name table after them."""
    everything = [Part("", b"", 0), *parts]
    names = b"\0" + b"".join(part.name.encode() + b"\0" for part in everything[1:]) + b".shstrtab\0"
    everything.append(Part(".shstrtab", names, STRTAB))
    index = {part.name: position for position, part in enumerate(everything)}
    body = bytearray(64)
    headers = []
    for part in everything:
        headers.append(
            struct.pack(
                "<IIQQQQIIQQ",
                names.find(b"\0" + part.name.encode() + b"\0") + 1 if part.name else 0,
                part.kind,
                part.flags,
                0,
                len(body),
                len(part.content),
                index[part.link] if part.link else 0,
                index[part.info] if isinstance(part.info, str) else part.info,
                1,
                part.entry_size,
            )
        )
        body += part.content
    identity = b"\x7fELF" + bytes([2, 1, 1]) + bytes(9)
    body[:64] = identity + struct.pack(
        "<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, len(body), 0, 64, 0, 0, 64, len(everything), len(everything) - 1
    )
    return bytes(body) + b"".join(headers)


def symbols(*names: str) -> tuple[Part, Part]:
    """A symbol table with the given names from index 1, and its strings."""
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in names)
    table = bytes(24)
    for name in names:
        table += struct.pack("<IBBHQQ", strings.find(b"\0" + name.encode() + b"\0") + 1, 0x12, 0, 0, 0, 0)
    return Part(".symtab", table, SYMTAB, 0, ".strtab", 1, 24), Part(".strtab", strings, STRTAB)
