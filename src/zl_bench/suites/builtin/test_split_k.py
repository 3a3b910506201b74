"""Matrix product split along its inner dimension: partial products, then a kernel that adds them up."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values

SPLITS = 4


@triton.jit
def partial_product_kernel(
    a_ptr, b_ptr, partial_ptr, M, N, K, share, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    split = tl.program_id(2)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(split * share, tl.minimum((split + 1) * share, K), BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (inner[None, :] < K)
        b_mask = (inner[:, None] < K) & (columns[None, :] < N)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=b_mask, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
    offsets = (split * M + rows[:, None]) * N + columns[None, :]
    tl.store(partial_ptr + offsets, accumulator, mask=(rows[:, None] < M) & (columns[None, :] < N))


@triton.jit
def add_partials_kernel(partial_ptr, out_ptr, count, SPLITS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for split in range(SPLITS):
        total += tl.load(partial_ptr + split * count + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)


def split_k(a, b, partial, out):
    m, k = a.shape
    n = b.shape[1]
    share = triton.cdiv(triton.cdiv(k, SPLITS), 32) * 32
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 64), SPLITS)
    partial_product_kernel[grid](a, b, partial, m, n, k, share, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32, num_stages=3)
    add_partials_kernel[(triton.cdiv(m * n, 512),)](partial, out, m * n, SPLITS=SPLITS, BLOCK=512)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(64, 256, 8192), (33, 200, 5000)])
def test_split_k(dtype, shape):
    m, n, k = shape
    a, b = values((m, k), dtype), values((k, n), dtype)
    partial, out = empty((SPLITS, m, n), "float32"), empty((m, n), dtype)
    triton.testing.do_bench(lambda: split_k(a, b, partial, out))
