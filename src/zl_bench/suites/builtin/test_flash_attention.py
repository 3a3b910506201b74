"""Attention in one sweep over keys and values with a running maximum; two dots in a loop."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def flash_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    length,
    scale,
    CAUSAL: tl.constexpr,
    HEAD: tl.constexpr,
    BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    base = tl.program_id(1).to(tl.int64) * length * HEAD
    query = tl.program_id(0) * BLOCK_Q + tl.arange(0, BLOCK_Q)
    key = tl.arange(0, BLOCK_K)
    feature = tl.arange(0, HEAD)
    q_offsets = base + query[:, None] * HEAD + feature[None, :]
    q = tl.load(q_ptr + q_offsets, mask=query[:, None] < length, other=0.0)
    maximum = tl.full((BLOCK_Q,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_Q,), dtype=tl.float32)
    accumulator = tl.zeros((BLOCK_Q, HEAD), dtype=tl.float32)
    end = tl.minimum((tl.program_id(0) + 1) * BLOCK_Q, length) if CAUSAL else length
    for start in range(0, end, BLOCK_K):
        valid = start + key < length
        k = tl.load(k_ptr + base + (start + key)[None, :] * HEAD + feature[:, None], mask=valid[None, :], other=0.0)
        scores = tl.dot(q, k) * scale
        allowed = (query[:, None] >= (start + key)[None, :]) if CAUSAL else (query[:, None] >= 0)
        scores = tl.where(allowed & valid[None, :], scores, -float("inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, axis=1))
        weights = tl.exp2(scores - new_maximum[:, None])
        correction = tl.exp2(maximum - new_maximum)
        total = total * correction + tl.sum(weights, axis=1)
        v = tl.load(v_ptr + base + (start + key)[:, None] * HEAD + feature[None, :], mask=valid[:, None], other=0.0)
        accumulator = tl.dot(weights.to(v.dtype), v, accumulator * correction[:, None])
        maximum = new_maximum
    result = accumulator / total[:, None]
    tl.store(out_ptr + q_offsets, result.to(out_ptr.dtype.element_ty), mask=query[:, None] < length)


def flash_attention(q, k, v, out, causal):
    batch, heads, length, head = q.shape
    # The scores' logarithm is to base 2: 1.4427 is log2(e).
    scale = 1.4426950408889634 / head**0.5
    flash_attention_kernel[(triton.cdiv(length, 64), batch * heads)](
        q, k, v, out, length, scale, CAUSAL=causal, HEAD=head, BLOCK_Q=64, BLOCK_K=32, num_stages=3
    )
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("shape", [(4, 16, 1024, 32), (2, 8, 1000, 64)])
@pytest.mark.parametrize("causal", [False, True])
def test_flash_attention(dtype, shape, causal):
    q, k, v, out = values(shape, dtype), values(shape, dtype), values(shape, dtype), empty(shape, dtype)
    triton.testing.do_bench(lambda: flash_attention(q, k, v, out, causal))
