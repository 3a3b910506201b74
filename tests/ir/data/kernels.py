"""Small kernels whose TTGIR exercises what the normaliser must see: layouts, loops, control flow, calls, atomics.

Nothing here is launched: `make.py` compiles them for targets that need not be present.
"""

from __future__ import annotations

from typing import Any

import triton
import triton.language as tl


@triton.jit
def vector_add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0, eviction_policy="evict_first")
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0, cache_modifier=".cg")
    tl.store(out_ptr + offsets, x - y * 2.5, mask=mask, eviction_policy="evict_last")


@triton.jit
def transpose(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tile = tl.load(x_ptr + row[:, None] * columns + column[None, :], mask=inside)
    back = (column[:, None] < columns) & (row[None, :] < rows)
    tl.store(out_ptr + column[:, None] * rows + row[None, :], tl.trans(tile), mask=back)


@triton.jit
def matmul(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in tl.range(0, k, BLOCK_K, num_stages=3):
        a = tl.load(a_ptr + row[:, None] * k + (start + depth)[None, :], mask=(start + depth)[None, :] < k, other=0.0)
        b = tl.load(
            b_ptr + (start + depth)[:, None] * n + column[None, :], mask=(start + depth)[:, None] < k, other=0.0
        )
        acc = tl.dot(a, b, acc)
    inside = (row[:, None] < m) & (column[None, :] < n)
    tl.store(c_ptr + row[:, None] * n + column[None, :], acc.to(tl.float16), mask=inside)


@triton.jit
def _combine(left, right):
    return left * 0.5 + right


@triton.jit(noinline=True)
def _helper(x, y):
    return tl.where(x > y, x - y, y * x)


@triton.jit
def scan_and_call(x_ptr, out_ptr, count_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    running = tl.associative_scan(x, 0, _combine)
    total = tl.sum(x, axis=0)
    scalar = _helper(total, 3.0)
    tl.atomic_add(count_ptr + (offsets % 7), 1, mask=offsets < n)
    tl.store(out_ptr + offsets, running + scalar, mask=offsets < n)


@triton.jit
def collatz(x_ptr, out_ptr, limit):
    value = tl.load(x_ptr + tl.program_id(0))
    steps = 0
    while value > 1:
        if value % 2 == 0:  # noqa: SIM108
            value = value // 2
        else:
            value = value * 3 + 1
        steps += 1
    if steps > limit:
        return
    tl.store(out_ptr + tl.program_id(0), steps)


VARIANTS: dict[str, tuple[Any, dict[str, str], dict[str, int]]] = {
    "vector_add": (vector_add, {"x_ptr": "*fp32", "y_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32"}, {"BLOCK": 1024}),
    "transpose": (transpose, {"x_ptr": "*fp16", "out_ptr": "*fp16", "rows": "i32", "columns": "i32"}, {"BLOCK": 64}),
    "matmul": (
        matmul,
        {"a_ptr": "*fp16", "b_ptr": "*fp16", "c_ptr": "*fp16", "m": "i32", "n": "i32", "k": "i32"},
        {"BLOCK_M": 64, "BLOCK_N": 64, "BLOCK_K": 32},
    ),
    "scan_and_call": (
        scan_and_call,
        {"x_ptr": "*fp32", "out_ptr": "*fp32", "count_ptr": "*i32", "n": "i32"},
        {"BLOCK": 512},
    ),
    "collatz": (collatz, {"x_ptr": "*i32", "out_ptr": "*i32", "limit": "i32"}, {}),
}
"""Kernel, signature and constants by name; pointers are divisible by 16 when a variant is compiled."""
