"""Constants as plain values that are the same in every process."""

import enum
import functools
import json

import pytest
from zl_probe import kernels


def function(x):
    return x


class Thing:
    """Its text holds an address."""


class Dtype:
    def __str__(self):
        return "fp32"


class constexpr:
    def __init__(self, value):
        self.value = value


class Colour(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (1, 1),
        (-(2**70), -(2**70)),
        ("text", "text"),
        (0.1, "0.1"),
        (1.0, "1.0"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
        ((1, (2.5, None)), [1, ["2.5", None]]),
        ([], []),
        ({"b": 1, "a": (2,), 3: None}, {"3": None, "a": [2], "b": 1}),
        (constexpr(constexpr((1, 2))), [1, 2]),
        (function, "function"),
        (lambda: None, "<lambda>"),
        (int, "int"),
        (Dtype(), "fp32"),
        (Thing(), "Thing"),
        (functools.partial(function, 1), "partial"),
        (Colour.RED, 3),
    ],
)
def test_plain(value, expected):
    assert kernels.plain(value) == expected
    json.dumps(kernels.plain(value), allow_nan=False)


def test_truth_is_not_one():
    assert kernels.canonical(True) != kernels.canonical(1)
    assert kernels.canonical(1.0) != kernels.canonical(1)


def test_canonical_text_does_not_depend_on_the_order_of_a_dict():
    assert kernels.canonical({"b": 1, "a": {"d": 2, "c": 3}}) == kernels.canonical({"a": {"c": 3, "d": 2}, "b": 1})


def test_no_address_gets_into_canonical_text():
    value = {"things": [Thing(), functools.partial(function), {"inner": (Thing(), function)}]}
    assert "0x" not in kernels.canonical(value)
