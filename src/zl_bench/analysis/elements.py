"""The elements of sampled tensors as Python numbers: raw little-endian bytes, decoded by the name of their dtype."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import cache
from math import ldexp, nan
from typing import Any

Number = complex | float | int
"""What an element decodes to; a bool is an integer."""

LETTERS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
}
"""How `struct` calls a dtype."""

COMPLEX_LETTERS = {"complex32": "e", "complex64": "f", "complex128": "d"}
"""How it calls each of the two parts."""

UPPER_HALVES = {"bfloat16": (2, "f"), "float8_e5m2": (1, "e")}
"""Types of that many bytes that are the upper half of another."""

FLOAT8 = {
    "float8_e4m3fn": (4, 7, (0x7F, 0xFF)),
    "float8_e4m3fnuz": (4, 8, (0x80,)),
    "float8_e5m2fnuz": (5, 16, (0x80,)),
}
"""Types of eight bits without infinity: bits and bias of the exponent, and the codes that are NaN."""

POWERS_OF_TWO = "float8_e8m0fnu"
"""Eight bits of exponent, without a sign."""


def decode(dtype: str, content: bytes) -> Sequence[Number] | None:
    """The elements in order, or None for a dtype that is not known here or content that is not a whole number of them."""
    if dtype in LETTERS:
        return _unpacked(LETTERS[dtype], content)
    if dtype in COMPLEX_LETTERS:
        parts = _unpacked(COMPLEX_LETTERS[dtype], content)
        if parts is None or len(parts) % 2:
            return None
        return [complex(real, imaginary) for real, imaginary in zip(parts[::2], parts[1::2], strict=True)]
    if dtype in UPPER_HALVES:
        size, letter = UPPER_HALVES[dtype]
        return None if len(content) % size else _unpacked(letter, _widened(content, size))
    if dtype in FLOAT8 or dtype == POWERS_OF_TWO:
        return [_float8_table(dtype)[code] for code in content]
    return None


def _unpacked(letter: str, content: bytes) -> tuple[Any, ...] | None:
    number, rest = divmod(len(content), struct.calcsize(f"<{letter}"))
    return None if rest else struct.unpack(f"<{number}{letter}", content)


def _widened(content: bytes, size: int) -> bytes:
    """Elements of `size` bytes with as many zero bytes below each."""
    wide = bytearray(2 * len(content))
    for byte in range(size):
        wide[size + byte :: 2 * size] = content[byte::size]
    return bytes(wide)


@cache
def _float8_table(dtype: str) -> tuple[float, ...]:
    """The value of each of the 256 codes."""
    if dtype == POWERS_OF_TWO:
        return tuple(nan if code == 0xFF else ldexp(1.0, code - 127) for code in range(256))
    exponent_bits, bias, not_numbers = FLOAT8[dtype]
    mantissa_bits = 7 - exponent_bits

    def value(code: int) -> float:
        exponent, mantissa = (code & 0x7F) >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        if exponent:
            mantissa |= 1 << mantissa_bits
        magnitude = ldexp(mantissa, max(exponent, 1) - bias - mantissa_bits)
        return -magnitude if code & 0x80 else magnitude

    return tuple(nan if code in not_numbers else value(code) for code in range(256))
