"""Dropout with a counter-based generator (Philox): integer arithmetic beside the memory traffic."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values

SEED = 20240229


@triton.jit
def dropout_kernel(x_ptr, out_ptr, count, probability, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    x = tl.load(x_ptr + offsets, mask=mask)
    kept = tl.rand(seed, offsets) > probability
    tl.store(out_ptr + offsets, tl.where(kept, x / (1 - probability), 0.0).to(x.dtype), mask=mask)


def dropout(x, out, probability=0.5):
    count = x.numel()
    block = 256 if count < 65536 else 512
    dropout_kernel[(triton.cdiv(count, block),)](x, out, count, probability, SEED, BLOCK=block)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(8192,), (1000003,)])
def test_dropout(dtype, shape):
    x, out = values(shape, dtype), empty(shape, dtype)
    triton.testing.do_bench(lambda: dropout(x, out))
