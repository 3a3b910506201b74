"""Histogram by atomic additions to global memory."""

import pytest
import triton
import triton.language as tl
from _inputs import values, zeros


@triton.jit
def histogram_kernel(x_ptr, counts_ptr, count, bins, low, width, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask, other=0)
    position = ((x.to(tl.float32) - low) / width).to(tl.int32)
    inside = mask & (position >= 0) & (position < bins)
    tl.atomic_add(counts_ptr + position, 1, mask=inside)


def histogram(x, counts, low, high):
    count, bins = x.numel(), counts.numel()
    block = 1024 if count >= 65536 else 256
    histogram_kernel[(triton.cdiv(count, block),)](x, counts, count, bins, low, (high - low) / bins, BLOCK=block)
    return counts


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("shape", [(16384,), (1000003,)])
def test_histogram(dtype, shape):
    x, counts = values(shape, dtype), zeros((100,), "int32")
    triton.testing.do_bench(lambda: histogram(x, counts, -4.0, 96.0))
