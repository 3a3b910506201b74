"""Row-wise softmax: a row per program, two reductions over registers."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def softmax_kernel(x_ptr, out_ptr, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * row_stride + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    exponentials = tl.exp(x - tl.max(x, axis=0))
    result = exponentials / tl.sum(exponentials, axis=0)
    tl.store(out_ptr + row * row_stride + offsets, result.to(out_ptr.dtype.element_ty), mask=mask)


def softmax(x, out):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    softmax_kernel[(rows,)](x, out, x.stride(0), columns, BLOCK=block, num_warps=8 if block >= 4096 else 4)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(4096, 256), (1024, 781), (512, 4096)])
def test_softmax(dtype, shape):
    x, out = values(shape, dtype), empty(shape, dtype)
    triton.testing.do_bench(lambda: softmax(x, out))
