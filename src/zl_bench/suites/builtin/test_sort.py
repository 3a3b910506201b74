"""Sorting of short rows, wholly in registers."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def sort_kernel(x_ptr, out_ptr, columns, DESCENDING: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    filler = -float("inf") if DESCENDING else float("inf")
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=filler)
    tl.store(out_ptr + row * columns + offsets, tl.sort(x, descending=DESCENDING), mask=mask)


def sort(x, out, descending):
    rows, columns = x.shape
    sort_kernel[(rows,)](x, out, columns, DESCENDING=descending, BLOCK=triton.next_power_of_2(columns), num_warps=1)
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(4096, 32), (2048, 60)])
@pytest.mark.parametrize("descending", [False, True])
def test_sort(dtype, shape, descending):
    x, out = values(shape, dtype), empty(shape, dtype)
    triton.testing.do_bench(lambda: sort(x, out, descending))
