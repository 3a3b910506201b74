"""Tuners of one qualified name, which differ in what they capture, in their candidates, or in their order of use."""

import os
import pathlib

import triton
import triton.language as tl
from kernels import note
from triton.testing import do_bench
from zl_probe.offline import FakePointer

SIDE = pathlib.Path(os.environ.get("ZL_CASE_SIDE", "before")).name


def make(blocks, limit=1024, **options):
    @triton.autotune(configs=[triton.Config({"BLOCK": block}, num_stages=2) for block in blocks], key=["n"], **options)
    @triton.jit
    def copy(x, out, n, MOST: tl.constexpr, BLOCK: tl.constexpr):
        tl.static_assert(BLOCK <= MOST, "too large a block")
        offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

    return lambda: copy[(1,)](FakePointer("fp32"), FakePointer("fp32"), 1000, MOST=limit)


def test_factory():
    wide, narrow = make([256, 64]), make([256, 64], limit=64)
    do_bench(wide)
    do_bench(narrow)
    do_bench(wide)


def test_order():
    small, large = make([16, 32]), make([256, 512])
    launches = [large, small] if SIDE == "after" else [small, large]
    do_bench(lambda: [launch() for launch in launches])


def test_shrinks():
    do_bench(make([512] if SIDE == "after" else [64, 128]))


def test_same_choice_left():
    do_bench(make([64] if SIDE == "after" else [64, 128]))


def test_grows():
    do_bench(make([256, 64, 128] if SIDE == "after" else [64, 128]))


def test_reordered():
    do_bench(make([128, 64] if SIDE == "after" else [64, 128]))


def test_fixed_beside_tuned():
    fixed, tuned = make([32]), make([64, 128])
    do_bench(lambda: (fixed(), tuned()))


def test_tuned_within_the_timed_call():
    timed = []

    def timing(call, quantiles):
        call()
        timed.append(1)
        return [1.0 / len(timed)] * 3

    def call():
        make([64, 128], do_bench=timing)()  # anew each time

    do_bench(call)
    note("timed", len(timed))
