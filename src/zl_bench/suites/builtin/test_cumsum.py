"""Cumulative sum along rows: a scan within a block, and a carry from block to block."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def plus(a, b):
    return a + b


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr, ACCUMULATOR: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    carry = tl.zeros((ROWS,), dtype=ACCUMULATOR)
    for start in range(0, columns, BLOCK):
        column = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        offsets = row[:, None] * columns + column[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0).to(ACCUMULATOR)
        result = tl.associative_scan(x, 1, plus) + carry[:, None]
        tl.store(out_ptr + offsets, result.to(out_ptr.dtype.element_ty), mask=mask)
        carry = tl.sum(tl.where(column[None, :] == start + BLOCK - 1, result, 0), axis=1)


def cumsum(x, out):
    rows, columns = x.shape
    block = min(triton.next_power_of_2(columns), 512)
    per_program = 4 if block <= 256 else 1
    accumulator = tl.float32 if x.dtype.is_floating_point else tl.int32
    cumsum_kernel[(triton.cdiv(rows, per_program),)](
        x, out, rows, columns, ROWS=per_program, BLOCK=block, ACCUMULATOR=accumulator
    )
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
@pytest.mark.parametrize("shape", [(1024, 256), (512, 4096), (333, 1001)])
def test_cumsum(dtype, shape):
    x, out = values(shape, dtype), empty(shape, dtype)
    triton.testing.do_bench(lambda: cumsum(x, out))
