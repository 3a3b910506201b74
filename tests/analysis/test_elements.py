from __future__ import annotations

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.elements import COMPLEX_LETTERS, FLOAT8, LETTERS, POWERS_OF_TWO, UPPER_HALVES, decode

SIZES = {
    **{dtype: struct.calcsize(f"<{letter}") for dtype, letter in LETTERS.items()},
    **{dtype: 2 * struct.calcsize(f"<{letter}") for dtype, letter in COMPLEX_LETTERS.items()},
    **{dtype: size for dtype, (size, _) in UPPER_HALVES.items()},
    **dict.fromkeys((*FLOAT8, POWERS_OF_TWO), 1),
}


@pytest.mark.parametrize(
    ("dtype", "content", "expected"),
    [
        ("bool", b"\x00\x01\x02", [False, True, True]),
        ("int8", b"\xff\x7f", [-1, 127]),
        ("uint16", b"\xff\xff\x01\x00", [65535, 1]),
        ("int64", struct.pack("<q", -(2**63)), [-(2**63)]),
        ("uint64", b"\xff" * 8, [2**64 - 1]),
        ("float16", b"\x00\x3c\xff\x7b\x01\x00", [1.0, 65504.0, 2.0**-24]),
        ("bfloat16", b"\x80\x3f\x49\x40\x7f\x7f", [1.0, 3.140625, 3.3895313892515355e38]),
        ("float32", struct.pack("<2f", 1.5, -0.0), [1.5, -0.0]),
        ("float64", struct.pack("<d", 5e-324), [5e-324]),
        ("float8_e5m2", b"\x3c\x7b\x01\x7c\xbc", [1.0, 57344.0, 2.0**-16, math.inf, -1.0]),
        ("float8_e4m3fn", b"\x38\x7e\x01\x08\xb8", [1.0, 448.0, 2.0**-9, 2.0**-6, -1.0]),
        ("float8_e4m3fnuz", b"\x40\x7f\x01", [1.0, 240.0, 2.0**-10]),
        ("float8_e5m2fnuz", b"\x40\x7f\x01", [1.0, 57344.0, 2.0**-17]),
        ("float8_e8m0fnu", b"\x7f\x00\xfe", [1.0, 2.0**-127, 2.0**127]),
        ("complex32", b"\x00\x3c\x00\xbc", [1 - 1j]),
        ("complex64", struct.pack("<4f", 1, 2, 3, -4), [1 + 2j, 3 - 4j]),
        ("complex128", struct.pack("<2d", 0.1, 1e300), [0.1 + 1e300j]),
    ],
)
def test_known_values(dtype: str, content: bytes, expected: list[complex]) -> None:
    found = decode(dtype, content)
    assert found is not None
    assert list(found) == expected


@pytest.mark.parametrize(
    ("dtype", "code"),
    [("float8_e4m3fn", 0x7F), ("float8_e4m3fn", 0xFF), ("float8_e4m3fnuz", 0x80), ("float8_e5m2fnuz", 0x80),
     ("float8_e5m2", 0x7D), ("float8_e8m0fnu", 0xFF)],
)  # fmt: skip
def test_codes_that_are_no_number(dtype: str, code: int) -> None:
    found = decode(dtype, bytes([code]))
    assert found is not None
    assert math.isnan(abs(found[0]))


@pytest.mark.parametrize("dtype", [*FLOAT8, POWERS_OF_TWO, "float8_e5m2", "bfloat16", "float16"])
def test_every_code_is_what_torch_says(dtype: str) -> None:
    torch: Any = pytest.importorskip("torch", reason="needs torch, to compare with")
    if not hasattr(torch, dtype):
        pytest.skip(f"torch {torch.__version__} has no {dtype}")
    codes = range(256**2) if SIZES[dtype] == 2 else range(256)
    content = b"".join(code.to_bytes(SIZES[dtype], "little") for code in codes)
    values = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(getattr(torch, dtype))
    expected = values.to(torch.float32).tolist()
    found = decode(dtype, content)
    assert found is not None
    # A NaN has no sign that matters, a zero has one.
    told = ["nan" if math.isnan(abs(value)) else repr(value) for value in found]
    assert told == [repr(value) for value in expected]


@pytest.mark.parametrize("dtype", ["float4_e2m1fn_x2", "qint8", "", "float"])
def test_an_unknown_dtype(dtype: str) -> None:
    assert decode(dtype, b"\x00" * 16) is None


@given(st.sampled_from(sorted(SIZES)), st.binary(max_size=200))
def test_any_bytes_decode_to_as_many_elements_as_they_hold(dtype: str, content: bytes) -> None:
    found = decode(dtype, content)
    number, rest = divmod(len(content), SIZES[dtype])
    assert (None if found is None else len(found)) == (None if rest else number)
