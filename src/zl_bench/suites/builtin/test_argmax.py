"""Index of each row's largest value: a reduction of pairs."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def argmax_kernel(x_ptr, out_ptr, rows, columns, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, BLOCK)
    mask = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=mask, other=-float("inf"))
    tl.store(out_ptr + row, tl.argmax(x.to(tl.float32), axis=1), mask=row < rows)


def argmax(x, out):
    rows, columns = x.shape
    argmax_kernel[(triton.cdiv(rows, 4),)](x, out, rows, columns, ROWS=4, BLOCK=triton.next_power_of_2(columns))
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(4096, 128), (1000, 500)])
def test_argmax(dtype, shape):
    x, out = values(shape, dtype), empty((shape[0],), "int32")
    triton.testing.do_bench(lambda: argmax(x, out))
