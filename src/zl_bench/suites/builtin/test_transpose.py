"""Matrix transpose, a tile at a time through registers: both sides coalesced, so the layout must change in between."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def transpose_kernel(x_ptr, out_ptr, rows, columns, BLOCK_ROWS: tl.constexpr, BLOCK_COLUMNS: tl.constexpr):
    row = tl.program_id(0) * BLOCK_ROWS + tl.arange(0, BLOCK_ROWS)
    column = tl.program_id(1) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    tile = tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=mask)
    out_mask = (column[:, None] < columns) & (row[None, :] < rows)
    tl.store(out_ptr + column[:, None] * rows + row[None, :], tl.trans(tile), mask=out_mask)


def transpose(x, out):
    rows, columns = x.shape
    block_rows, block_columns = (32, 64) if rows < columns else (64, 64)
    grid = (triton.cdiv(rows, block_rows), triton.cdiv(columns, block_columns))
    transpose_kernel[grid](x, out, rows, columns, BLOCK_ROWS=block_rows, BLOCK_COLUMNS=block_columns)
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32", "int8"])
@pytest.mark.parametrize("shape", [(1024, 1024), (512, 2048), (1000, 999)])
def test_transpose(dtype, shape):
    x, out = values(shape, dtype), empty((shape[1], shape[0]), dtype)
    triton.testing.do_bench(lambda: transpose(x, out))
