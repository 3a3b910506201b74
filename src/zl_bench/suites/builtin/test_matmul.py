"""Matrix product with an autotuner. The dot's precision is left to the compiler's default."""

import itertools

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


def configurations():
    """36 configurations, from small tiles to large ones.

    The first one fits every target (64 KiB of shared memory) and has three stages, so that software pipelining acts on it.
    """
    tiles = [(64, 64, 32), (64, 128, 32), (128, 64, 32), (128, 128, 32), (128, 128, 64), (128, 256, 64)]
    depths = [(3, 4), (2, 4), (4, 4), (3, 8), (2, 8), (4, 8)]
    return [
        triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP_M": 8}, num_stages=stages, num_warps=warps)
        for (m, n, k), (stages, warps) in itertools.product(tiles, depths)
    ]


@triton.autotune(configs=configurations(), key=["M", "N", "K"])
@triton.jit
def matmul_kernel(
    a_ptr,
    b_ptr,
    c_ptr,
    M,
    N,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    stride_cn,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP_M: tl.constexpr,
):
    program = tl.program_id(0)
    programs_m = tl.cdiv(M, BLOCK_M)
    programs_n = tl.cdiv(N, BLOCK_N)
    group = program // (GROUP_M * programs_n)
    first_m = group * GROUP_M
    group_size = min(programs_m - first_m, GROUP_M)
    program_m = first_m + (program % (GROUP_M * programs_n)) % group_size
    program_n = (program % (GROUP_M * programs_n)) // group_size
    rows = (program_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (program_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_ptrs = b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        left = K - step * BLOCK_K
        a = tl.load(a_ptrs, mask=inner[None, :] < left, other=0.0)
        b = tl.load(b_ptrs, mask=inner[:, None] < left, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_K * stride_ak
        b_ptrs += BLOCK_K * stride_bk
    rows = program_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = program_n * BLOCK_N + tl.arange(0, BLOCK_N)
    c_ptrs = c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (columns[None, :] < N))


def matmul(a, b, c):
    m, k = a.shape
    n = b.shape[1]
    matmul_kernel[lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, m, n, k, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1)
    )
    return c


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(512, 512, 512), (1000, 1000, 1000)])
def test_matmul(dtype, shape):
    m, n, k = shape
    a, b, c = values((m, k), dtype), values((k, n), dtype), empty((m, n), dtype)
    triton.testing.do_bench(lambda: matmul(a, b, c))
