from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.hand_made import RULES, Workshop, row, run
from zl_bench.analysis.elements import Number
from zl_bench.analysis.numerics import (
    compare_outputs,
    compare_runs,
    describe_size,
    largest_difference,
    summarise_numerics,
)
from zl_bench.analysis.verdict import judge
from zl_bench.model import Numerics, OutputSample, Row, Verdict

INF, NAN = math.inf, math.nan


class Shelf:
    """Makes samples and hands out their contents."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes | None] = {}
        self.read: list[str] = []

    def sample(self, content: bytes, dtype: str = "float32", shape: tuple[int, ...] = (2,)) -> OutputSample:
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return OutputSample(dtype, shape, digest, Path(f"/run/outputs/{digest}.bin"), 2, 2)

    def floats(self, *values: float) -> OutputSample:
        return self.sample(struct.pack(f"<{len(values)}f", *values))

    def __call__(self, sample: OutputSample) -> bytes | None:
        self.read.append(sample.sha256)
        return self.contents[sample.sha256]


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def compared(shelf: Shelf, before: Sequence[OutputSample], after: Sequence[OutputSample]) -> Numerics:
    found = compare_outputs(before, after, shelf)
    assert found is not None
    return found


def test_equal_bytes_are_the_same_and_are_not_read(shelf: Shelf) -> None:
    sample = shelf.floats(1, NAN)
    assert compared(shelf, [sample, sample], [sample, sample]) == Numerics(True)
    assert shelf.read == []


@pytest.mark.parametrize(
    ("before", "after", "absolute", "relative"),
    [
        ((1.0, 4.0), (1.0, 5.0), 1.0, 0.25),
        ((1.0, 4.0), (1.5, 5.0), 1.0, 0.5),  # each the largest of its kind, whichever element has it
        ((-2.0, 1.0), (2.0, 1.0), 4.0, 2.0),
        ((0.0, 1.0), (-0.0, 1.0), 0.0, 0.0),
        ((0.0, 1.0), (0.5, 1.0), 0.5, INF),
        ((NAN, 1.0), (NAN, 2.0), 1.0, 1.0),
        ((NAN, 1.0), (1.0, 1.0), INF, INF),
        ((1.0, 1.0), (1.0, NAN), INF, INF),
        ((INF, 1.0), (INF, 2.0), 1.0, 1.0),
        ((INF, 1.0), (-INF, 1.0), INF, INF),
        ((1.0, 1.0), (INF, 1.0), INF, INF),
    ],
)
def test_differences_of_floats(
    shelf: Shelf, before: tuple[float, ...], after: tuple[float, ...], absolute: float, relative: float
) -> None:
    found = compared(shelf, [shelf.floats(*before)], [shelf.floats(*after)])
    assert found == Numerics(absolute == 0, absolute, relative)


def test_another_payload_of_a_nan_is_no_difference(shelf: Shelf) -> None:
    before, after = shelf.sample(b"\x00\x00\xc0\x7f" * 2), shelf.sample(b"\x01\x00\xc0\xff" * 2)
    assert compared(shelf, [before], [after]) == Numerics(True)


@pytest.mark.parametrize(
    ("dtype", "before", "after", "absolute", "relative"),
    [
        ("float16", b"\x00\x3c", b"\x00\x40", 1.0, 1.0),
        ("bfloat16", b"\x80\x3f", b"\x00\x40", 1.0, 1.0),
        ("float8_e4m3fn", b"\x38", b"\x40", 1.0, 1.0),
        ("bool", b"\x01", b"\x00", 1.0, 1.0),
        ("uint8", b"\xff", b"\x00", 255.0, 1.0),
        ("int64", struct.pack("<q", 2**62), struct.pack("<q", 2**62 + 1), 1.0, 2.0**-62),
        ("uint64", b"\xff" * 8, b"\x00" * 8, 2.0**64, 1.0),
        ("complex64", struct.pack("<2f", 3, 4), struct.pack("<2f", 6, 8), 5.0, 1.0),
        ("complex128", struct.pack("<2d", 1e308, 1e308), struct.pack("<2d", -1e308, 0), INF, INF),
        ("complex64", struct.pack("<2f", NAN, 1), struct.pack("<2f", NAN, 3), 2.0, 2.0),
        ("complex64", struct.pack("<2f", NAN, 1), struct.pack("<2f", 0, 1), INF, INF),
    ],
)
def test_differences_by_dtype(
    shelf: Shelf, dtype: str, before: bytes, after: bytes, absolute: float, relative: float
) -> None:
    samples = [shelf.sample(content, dtype) for content in (before, after)]
    assert compared(shelf, samples[:1], samples[1:]) == Numerics(False, absolute, relative)


def test_the_largest_of_several_outputs_counts(shelf: Shelf) -> None:
    before = [shelf.floats(1, 1), shelf.floats(2, 2), shelf.floats(3, 3)]
    after = [shelf.floats(1, 1), shelf.floats(2, 4), shelf.floats(3, 3.5)]
    assert compared(shelf, before, after) == Numerics(False, 2.0, 1.0)


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"dtype": "float16"}, "dtype of output 2: float32 before, float16 after"),
        ({"shape": (3,)}, "shape of output 2: (2,) before, (3,) after"),
    ],
)
def test_other_dtypes_and_shapes_differ_infinitely(shelf: Shelf, changed: dict[str, object], note: str) -> None:
    sample = shelf.floats(1, 2)
    other = replace(sample, **changed)  # type: ignore[arg-type]
    assert compared(shelf, [sample, sample], [sample, other]) == Numerics(False, INF, INF, note)


def test_another_number_of_outputs_differs_infinitely(shelf: Shelf) -> None:
    sample = shelf.floats(1, 2)
    assert compared(shelf, [sample, sample], [sample]) == Numerics(False, INF, INF, "2 outputs before, 1 after")


def test_what_can_not_be_decoded_differs_and_is_named(shelf: Shelf) -> None:
    before, after = shelf.sample(b"\x01", "float4_e2m1fn_x2"), shelf.sample(b"\x02", "float4_e2m1fn_x2")
    found = compared(shelf, [before], [after])
    assert (found.same, found.largest_absolute) == (False, INF)
    assert found.note == "the bytes differ, and float4_e2m1fn_x2 can not be decoded"


def test_what_one_side_does_not_have_is_not_compared(shelf: Shelf) -> None:
    sample, other = shelf.floats(1, 2), shelf.floats(1, 3)
    for before, after in [(None, [sample]), ([sample], None), ([], [sample]), (None, None)]:
        assert compare_outputs(before, after, shelf) is None
    shelf.contents[other.sha256] = None  # the file is gone
    assert compare_outputs([sample], [other], shelf) is None


@pytest.mark.parametrize("changed", [{"strides": (1, 2)}, {"elements": 1}])
def test_other_elements_of_a_tensor_are_not_compared(shelf: Shelf, changed: dict[str, object]) -> None:
    after = replace(shelf.floats(1, 3), **changed)  # type: ignore[arg-type]
    assert compare_outputs([shelf.floats(1, 2)], [after], shelf) is None


def with_outputs(plain: Row, *samples: OutputSample) -> Row:
    return replace(plain, outputs=samples)


def test_rows_are_compared_by_key_within_their_node(shelf: Shelf) -> None:
    shop = Workshop()
    kernel = shop.kernel()
    one, two = shelf.floats(1, 1), shelf.floats(1, 2)
    small, large, bare = row(kernel), row(kernel, detail="128"), row(kernel, detail="9")
    before = run("before", with_outputs(small, one), with_outputs(large, one), bare)
    after = run("after", with_outputs(large, two), with_outputs(small, one), bare)
    node = [(before, after)]
    numerics = compare_runs(node, shelf)
    judged = judge("op", None, node, shop.prints, RULES, numerics=numerics)
    (verdict,) = judged.nodes
    assert {found.key.detail: found.numerics for found in verdict.paired} == {
        "64": Numerics(True),
        "128": Numerics(False, 1.0, 1.0),
        "9": None,
    }
    assert judged.verdict.verdict is Verdict.NO_IR_DIFF  # told beside the verdict, never part of it
    assert judged.verdict.numerics == verdict.summary.numerics == "differs (largest absolute 1, relative 1)"


def test_rows_of_one_key_in_two_nodes_are_kept_apart(shelf: Shelf) -> None:
    shop = Workshop()
    one, two = shelf.floats(1, 1), shelf.floats(1, 2)
    bare = row(shop.kernel())
    nodes = [
        (run("before", with_outputs(bare, one), node=node), run("after", with_outputs(bare, sample), node=node))
        for node, sample in (("a.py::t[1]", one), ("a.py::t[2]", two))
    ]
    judged = judge("op", None, nodes, shop.prints, RULES, numerics=compare_runs(nodes, shelf))
    assert [node.summary.numerics.split()[0] for node in judged.nodes] == ["same", "differs"]


def test_without_outputs_there_is_nothing_to_say() -> None:
    shop = Workshop()
    judged = shop.judge((run("before", row(shop.kernel())), run("after", row(shop.kernel()))))
    assert judged.verdict.numerics == "n/a"


def test_the_word_for_an_operator() -> None:
    assert summarise_numerics([]) == summarise_numerics([None, None]) == "n/a"
    assert summarise_numerics([None, Numerics(True)]) == "same"
    several = [Numerics(True), Numerics(False, 1.23456e-5, 0.5), Numerics(False, 1e-6, 12345.0)]
    assert summarise_numerics(several) == "differs (largest absolute 1.23e-05, relative 1.23e+04)"
    assert summarise_numerics([Numerics(False, INF, INF)]) == "differs (largest absolute inf, relative inf)"
    assert describe_size(0.25, INF) == "largest absolute 0.25, relative inf"


anything = st.floats() | st.integers(-(2**63), 2**64 - 1) | st.complex_numbers(allow_nan=True)


@given(st.lists(st.tuples(anything, anything), max_size=8))
def test_differences_are_never_negative_or_undefined(pairs: list[tuple[Number, Number]]) -> None:
    before, after = [old for old, _ in pairs], [new for _, new in pairs]
    absolute, relative = largest_difference(before, after)
    assert absolute >= 0
    assert relative >= 0
    assert largest_difference(after, before)[0] == absolute
    assert largest_difference(before, before) == (0.0, 0.0)


@given(st.lists(st.tuples(st.floats(allow_nan=False), st.floats(allow_nan=False)), min_size=1, max_size=8))
def test_no_difference_means_that_every_element_is_equal(pairs: list[tuple[float, float]]) -> None:
    absolute, _ = largest_difference([old for old, _ in pairs], [new for _, new in pairs])
    assert (absolute == 0) == all(old == new for old, new in pairs)


@given(st.lists(st.floats(-1e100, 1e100), min_size=1, max_size=8), st.floats(1e-100, 1e100))
def test_the_largest_absolute_difference_is_that_of_one_element(values: list[float], step: float) -> None:
    moved = [*values[:-1], values[-1] + step]
    absolute, relative = largest_difference(values, moved)
    expected = abs(values[-1] - moved[-1])
    assert absolute == expected
    assert relative == (0 if not expected else expected / abs(values[-1]) if values[-1] else INF)


APART = Numerics(False, 1e-6, 1e-3)


@pytest.mark.parametrize(
    ("unordered", "code", "word"),
    [
        (1, "m", "n/a (floating-point atomics, whose order is free, in the same code)"),
        (0, "m", "differs (largest absolute 1e-06, relative 0.001)"),
        (1, "n", "differs (largest absolute 1e-06, relative 0.001)"),
    ],
)
def test_the_same_code_with_floating_point_atomics_may_differ_from_itself(unordered: int, code: str, word: str) -> None:
    shop = Workshop()
    before = row(shop.kernel(unordered=unordered, ttgir="g", cubin="m"), shop.kernel("other"))
    after = row(shop.kernel(unordered=unordered, ttgir="g", cubin=code), shop.kernel("other"))
    pair = run("before", before), run("after", after)
    compared = {pair[0].node: {before.key: APART}}
    judged = judge("op", None, [pair], shop.prints, RULES, numerics=compared)
    assert judged.verdict.numerics == word
    kept = judged.nodes[0].paired[0].numerics
    assert kept is not None
    assert kept.differ == word.startswith("differs")
    assert (kept.largest_absolute, kept.largest_relative) == (1e-6, 1e-3)


def test_rows_that_can_be_compared_speak_for_the_operator() -> None:
    free = replace(APART, unordered=True)
    assert summarise_numerics([free, Numerics(True)]) == "same"
    assert summarise_numerics([free, APART]) == "differs (largest absolute 1e-06, relative 0.001)"
    assert summarise_numerics([free, None]).startswith("n/a (floating-point atomics")
