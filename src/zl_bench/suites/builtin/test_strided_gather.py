"""Rows picked by index out of a matrix that need not be contiguous."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, indices, values


@triton.jit
def gather_kernel(
    x_ptr,
    index_ptr,
    out_ptr,
    picked,
    columns,
    row_stride,
    column_stride,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.program_id(1) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    index = tl.load(index_ptr + row, mask=row < picked, other=0)
    mask = (row[:, None] < picked) & (column[None, :] < columns)
    tile = tl.load(x_ptr + index[:, None] * row_stride + column[None, :] * column_stride, mask=mask)
    tl.store(out_ptr + row[:, None] * columns + column[None, :], tile, mask=mask)


def strided_gather(x, index, out):
    picked, columns = out.shape
    grid = (triton.cdiv(picked, 16), triton.cdiv(columns, 64))
    gather_kernel[grid](x, index, out, picked, columns, x.stride(0), x.stride(1), BLOCK_ROWS=16, BLOCK_COLUMNS=64)
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(4096, 256), (1000, 200)])
@pytest.mark.parametrize("order", ["rows", "columns"])
def test_strided_gather(dtype, shape, order):
    rows, columns = shape
    x = values(shape, dtype) if order == "rows" else values((columns, rows), dtype).t()
    index, out = indices(rows // 2, rows), empty((rows // 2, columns), dtype)
    triton.testing.do_bench(lambda: strided_gather(x, index, out))
