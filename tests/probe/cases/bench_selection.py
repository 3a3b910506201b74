"""Tests that run, and tests that decide not to."""

import pytest
from kernels import launch_add, launch_double
from triton.testing import do_bench


class Dtype:
    """Prints as torch's dtypes do."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return "torch." + self.name


@pytest.mark.parametrize("dtype", [Dtype("float16"), Dtype("float32")], ids=str)
def test_typed(dtype):
    do_bench(lambda: launch_double("fp16" if dtype.name == "float16" else "fp32"))


def test_untyped():
    do_bench(launch_add)


@pytest.mark.skip(reason="not on this card")
def test_marked():
    do_bench(launch_add)


def test_skips_itself():
    pytest.skip("the size does not fit")


def test_skips_late():
    do_bench(launch_add)
    pytest.skip("only one size fits")


@pytest.mark.xfail(reason="known to fail")
def test_expected_failure():
    raise AssertionError("as known")


@pytest.mark.xfail(reason="known to fail", strict=True)
def test_unexpected_success():
    do_bench(launch_add)
