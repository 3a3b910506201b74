"""A made-up module, small enough to know by heart."""

from __future__ import annotations

WIDE = "#ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], order = [1, 0]}>"
NARROW = "#ttg.blocked<{sizePerThread = [1, 1], threadsPerWarp = [1, 32], warpsPerCTA = [4, 1], order = [1, 0]}>"


def ttgir(layout: str, *, extra: str = "", size: int = 64) -> bytes:
    """A module that loads and stores a tensor with that layout."""
    tensor = f"tensor<{size}x64xf16, {layout}>"
    return f"""module attributes {{"ttg.num-warps" = 4 : i32, ttg.target = "cuda:90"}} {{
  tt.func public @copy_kernel(%a: !tt.ptr<f16>, %b: !tt.ptr<f16>) attributes {{noinline = false}} {{
    %c = arith.constant dense<{size}> : tensor<{size}x64xi32, {layout}>
    %p = tt.splat %a : !tt.ptr<f16> -> tensor<{size}x64x!tt.ptr<f16>, {layout}>
    %x = tt.load %p : tensor<{size}x64x!tt.ptr<f16>, {layout}>
{extra}    %q = tt.splat %b : !tt.ptr<f16> -> tensor<{size}x64x!tt.ptr<f16>, {layout}>
    tt.store %q, %x : tensor<{size}x64x!tt.ptr<f16>, {layout}>
    %t = arith.addf %x, %x : {tensor}
    tt.return
  }}
}}
""".encode()
