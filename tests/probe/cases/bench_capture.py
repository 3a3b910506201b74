"""What a row launches."""

import hashlib
from functools import partial

import pytest
import triton
import triton.language as tl
from kernels import add, launch_add, launch_double, launch_negate, note
from triton.testing import do_bench
from zl_probe.offline import FakePointer


def test_order():
    def call():
        launch_add()
        launch_double()
        launch_add()
        launch_add(block=256)
        launch_double()

    do_bench(call)


def test_only_the_timed_call():
    calls = []

    def call():
        calls.append(1)
        if len(calls) == 1:
            launch_negate()
        launch_add()

    launch_double()
    do_bench(call)
    launch_double()


def test_two_rows():
    do_bench(lambda: (launch_add(), launch_double()))
    do_bench(launch_add)
    do_bench(lambda: None)


def test_direct_launch():
    arguments = (FakePointer("fp32"), FakePointer("fp32"), FakePointer("fp32"), 1000, 128)
    compiled = launch_add()
    do_bench(lambda: compiled[(1, 1, 1)](*arguments))
    do_bench(lambda: (compiled[(1, 1, 1)](*arguments), add[(1,)](*arguments), launch_negate()))


def test_stages():
    compiled = launch_add()
    contents = {name: text if isinstance(text, bytes) else text.encode() for name, text in compiled.asm.items()}
    note("sha256", {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()})
    do_bench(launch_add)


def test_alignment():
    do_bench(lambda: launch_add(0))
    do_bench(lambda: launch_add(1))


def test_dtypes():
    do_bench(lambda: launch_double("fp16"))
    do_bench(lambda: launch_double("fp32"))


@triton.jit
def with_constants(
    x,
    out,
    SIZE: tl.constexpr,
    FACTOR: tl.constexpr,
    NOTHING: tl.constexpr,
    DTYPE: tl.constexpr,
    FLAG: tl.constexpr,
    TEXT: tl.constexpr,
):
    offsets = tl.arange(0, SIZE)
    value = tl.load(x + offsets)
    if NOTHING is None:
        value = value * FACTOR
    tl.store(out + offsets, value.to(DTYPE))


def test_constants():
    def call():
        with_constants[(1,)](
            FakePointer("fp32"),
            FakePointer("fp16"),
            SIZE=128,
            FACTOR=0.25,
            NOTHING=None,
            DTYPE=tl.float16,
            FLAG=True,
            TEXT="evict",
        )

    do_bench(call)


@triton.jit
def scaled(x):
    return x * 2


@triton.jit
def with_kernel(x, out, SIZE: tl.constexpr, FUNCTION: tl.constexpr):
    offsets = tl.arange(0, SIZE)
    tl.store(out + offsets, FUNCTION(tl.load(x + offsets)))


@pytest.mark.skipif(triton.__version__.startswith("3.1."), reason="Triton 3.1 takes no function as a constant")
def test_function_constant():
    do_bench(lambda: with_kernel[(1,)](FakePointer("fp32"), FakePointer("fp32"), SIZE=128, FUNCTION=scaled))


@triton.jit
def with_tuple(x, out, SHAPE: tl.constexpr):
    size: tl.constexpr = SHAPE[0]
    offsets = tl.arange(0, size)
    tl.store(out + offsets, tl.load(x + offsets))


@pytest.mark.skipif(triton.__version__ < "3.6", reason="Triton before 3.6 can not subscript a constant")
def test_tuple_constant():
    do_bench(lambda: with_tuple[(1,)](FakePointer("fp32"), FakePointer("fp32"), SHAPE=(64, 2.5)))


constexpr_function = getattr(triton, "constexpr_function", None)
if constexpr_function is not None:

    @constexpr_function
    def half(size):
        return size // 2

    @triton.jit
    def with_function(x, out, SIZE: tl.constexpr, FUNCTION: tl.constexpr):
        offsets = tl.arange(0, FUNCTION(SIZE))
        tl.store(out + offsets, tl.load(x + offsets))


@pytest.mark.skipif(constexpr_function is None, reason="this Triton has no constexpr_function")
def test_constexpr_function():
    do_bench(lambda: with_function[(1,)](FakePointer("fp32"), FakePointer("fp32"), SIZE=128, FUNCTION=half))


def test_options():
    def call():
        for warps, stages in ((4, 3), (8, 3), (8, 2)):
            add[(1,)](
                FakePointer("fp32"),
                FakePointer("fp32"),
                FakePointer("fp32"),
                1000,
                BLOCK=256,
                num_warps=warps,
                num_stages=stages,
            )

    do_bench(call)


def test_specialised_integers():
    for n in (1, 16, 17):
        pointers = (FakePointer("fp32"), FakePointer("fp32"), FakePointer("fp32"))
        do_bench(partial(add[(1,)], *pointers, n, BLOCK=128))
