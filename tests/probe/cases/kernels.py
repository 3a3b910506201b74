"""Small kernels that the benchmark files of this folder share."""

import json
import os
import pathlib

import triton
import triton.language as tl
from zl_probe.offline import FakePointer


def note(name, value):
    """Leave what the benchmark saw itself for the test that ran it."""
    pathlib.Path(os.environ["ZL_CASE_NOTES"], name + ".json").write_text(json.dumps(value))


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)


@triton.jit
def double(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets) * 2)


@triton.jit
def negate(x, out, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, -tl.load(x + offsets))


@triton.jit
def transpose(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows, columns = tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    tile = tl.load(x + rows[:, None] * COLUMNS + columns[None, :])
    tl.store(out + columns[:, None] * ROWS + rows[None, :], tl.trans(tile))


@triton.jit
def dot(a, b, out, inner_size, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, inner_size, BLOCK_K):
        left = tl.load(a + rows[:, None] * inner_size + start + inner[None, :])
        right = tl.load(b + (start + inner)[:, None] * N + columns[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(out + rows[:, None] * N + columns[None, :], acc)


def launch_add(offset=0, block=128):
    return add[(1,)](FakePointer("fp32"), FakePointer("fp32", offset=offset), FakePointer("fp32"), 1000, BLOCK=block)


def launch_double(dtype="fp32"):
    return double[(1,)](FakePointer(dtype), FakePointer(dtype), BLOCK=128)


def launch_negate():
    return negate[(1,)](FakePointer("fp32"), FakePointer("fp32"), BLOCK=128)


def launch_transpose():
    return transpose[(1,)](FakePointer("fp32"), FakePointer("fp32"), ROWS=64, COLUMNS=64)


def launch_dot():
    return dot[(1,)](FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp32"), 512, M=64, N=64, BLOCK_K=32)
