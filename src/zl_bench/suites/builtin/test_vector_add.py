"""Vector addition: one load of each operand, one store, no reuse."""

import pytest
import triton
import triton.language as tl
from _inputs import values


@triton.jit
def vector_add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)


def vector_add(x, y, out):
    count = x.numel()
    block = 1024 if count >= 65536 else 256
    vector_add_kernel[(triton.cdiv(count, block),)](x, y, out, count, BLOCK=block)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32"])
@pytest.mark.parametrize("shape", [(4096,), (1048576,), (1000003,)])
def test_vector_add(dtype, shape):
    x, y, out = values(shape, dtype), values(shape, dtype), values(shape, dtype)
    triton.testing.do_bench(lambda: vector_add(x, y, out))
