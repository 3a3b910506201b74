"""Sum over the middle dimension of three: a reduction across rows, batch by batch."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def batched_sum_kernel(x_ptr, out_ptr, length, columns, BLOCK_LENGTH: tl.constexpr, BLOCK_COLUMNS: tl.constexpr):
    batch = tl.program_id(0)
    column = tl.program_id(1) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    total = tl.zeros((BLOCK_LENGTH, BLOCK_COLUMNS), dtype=tl.float32)
    for start in range(0, length, BLOCK_LENGTH):
        step = start + tl.arange(0, BLOCK_LENGTH)
        mask = (step[:, None] < length) & (column[None, :] < columns)
        offsets = (batch * length + step[:, None]) * columns + column[None, :]
        total += tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    result = tl.sum(total, axis=0).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + batch * columns + column, result, mask=column < columns)


def batched_sum(x, out):
    batches, length, columns = x.shape
    block_columns = 128 if columns >= 512 else 32
    grid = (batches, triton.cdiv(columns, block_columns))
    batched_sum_kernel[grid](x, out, length, columns, BLOCK_LENGTH=32, BLOCK_COLUMNS=block_columns)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(16, 512, 1024), (64, 100, 72)])
def test_batched_sum(dtype, shape):
    x, out = values(shape, dtype), empty((shape[0], shape[2]), dtype)
    triton.testing.do_bench(lambda: batched_sum(x, out))
