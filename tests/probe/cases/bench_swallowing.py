"""Tests that make something of their own of a row's failure, and rows within rows."""

import contextlib

import pytest
from kernels import launch_add, launch_double, note
from triton.testing import do_bench
from zl_probe.offline import NeedsDevice


class Fault(RuntimeError):
    pass


def fail():
    raise Fault("no such operator")


def test_catches():
    do_bench(launch_add)
    with contextlib.suppress(Fault):
        do_bench(fail)
    do_bench(launch_double)


def test_skips():
    try:
        do_bench(fail)
    except Fault:
        pytest.skip("not here")


@pytest.mark.xfail(reason="known to fail")
def test_expects():
    do_bench(fail)


def test_raises_it_late():
    try:
        do_bench(fail)
    except Fault as error:
        kept = error
    do_bench(launch_add)
    raise kept


def test_fails_for_another_reason():
    with contextlib.suppress(Fault):
        do_bench(fail)
    raise LookupError("no such file")


def test_fails_by_hand():
    do_bench(lambda: pytest.fail("wrong result"))


def test_skips_within():
    do_bench(lambda: pytest.skip("not this size"))


def test_catches_a_refusal():
    def refuse():
        raise NeedsDevice("aten.nonzero")

    with contextlib.suppress(NeedsDevice):
        do_bench(refuse)


def test_nested():
    answers = []

    def call():
        launch_add()
        answers.append(do_bench(launch_double, quantiles=[0.5, 0.2]))
        launch_add()

    do_bench(call)
    do_bench(launch_add)
    note("nested", answers)


def test_nested_failure():
    with contextlib.suppress(Fault):
        do_bench(lambda: do_bench(fail))
    do_bench(launch_add)


class Shape:
    """Prints with its address."""

    def __init__(self, size):
        self.size = size


class Spelled(Shape):
    def __repr__(self):
        return f"<Spelled 0x{id(self):x}>"


def shape():
    """A function prints with its address too."""


@pytest.mark.parametrize("size", [Shape(1), Shape(2), Spelled(3), shape])
@pytest.mark.parametrize("count", [1, 2])
def test_addresses(size, count):
    do_bench(launch_add)
