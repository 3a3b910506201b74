"""Tests that fail, each in its own way."""

import pytest
import triton
import triton.language as tl
from kernels import launch_add, launch_dot, launch_transpose
from triton.testing import do_bench
from zl_probe.offline import FakePointer, NeedsDevice


@triton.jit
def misspelt(x, out, SIZE: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    tl.store(out + offsets, tl.load(x + offsett))  # noqa: F821


def test_frontend():
    do_bench(launch_add)
    do_bench(lambda: misspelt[(1,)](FakePointer("fp32"), FakePointer("fp32"), SIZE=64))
    do_bench(launch_add)


def test_wrapped_compiler_error():
    try:
        do_bench(lambda: misspelt[(1,)](FakePointer("fp32"), FakePointer("fp32"), SIZE=64))
    except Exception as error:
        raise ValueError("the operator failed") from error


def test_dot():
    do_bench(launch_dot)


def test_run():
    do_bench(launch_add)
    do_bench(lambda: {}["missing"])


def test_needs_device():
    def call():
        raise NeedsDevice("aten.nonzero")

    do_bench(call)


@pytest.fixture
def broken():
    raise LookupError("no such data")


def test_fixture(broken):
    do_bench(launch_add)


def test_transpose():
    do_bench(launch_transpose)


def test_bystander():
    do_bench(launch_add)
