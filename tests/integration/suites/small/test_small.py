"""A suite of seconds: one plain operator, one tuned, one that reads a switch at import, one without a kernel."""

import os

import pytest
import torch
import triton
import triton.language as tl
import triton.testing

READ_AT_IMPORT = int(os.environ.get("ZL_TEST_READ_AT_IMPORT", "0"))
ALIGN = 64 if READ_AT_IMPORT else 128


@triton.jit
def scale_kernel(source, target, count, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=inside) * FACTOR, mask=inside)


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block in (256, 512) for warps in (2, 4)],
    key=["count"],
)
@triton.jit
def tuned_kernel(source, target, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    tl.store(target + offsets, tl.load(source + offsets, mask=inside) + 1.0, mask=inside)


def tensors(dtype, count):
    source = torch.randn((count,), device="cuda").to(getattr(torch, dtype))
    return source, torch.empty_like(source)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("count", [1024, 4096])
def test_scale(dtype, count):
    source, target = tensors(dtype, count)
    triton.testing.do_bench(lambda: scale_kernel[(4,)](source, target, count, FACTOR=2.0, BLOCK=1024))


@pytest.mark.parametrize("dtype", ["float32"])
def test_tuned(dtype):
    source, target = tensors(dtype, 2048)
    triton.testing.do_bench(lambda: tuned_kernel[(8,)](source, target, 2048))


@pytest.mark.parametrize("dtype", ["float32"])
def test_import_time(dtype):
    source, target = tensors(dtype, 2048)
    triton.testing.do_bench(lambda: scale_kernel[(8,)](source, target, 2048, FACTOR=1.5, BLOCK=ALIGN))


@pytest.mark.parametrize("dtype", ["float32"])
def test_aten(dtype):
    source, target = tensors(dtype, 2048)
    triton.testing.do_bench(lambda: torch.add(source, target))


def test_skipped():
    pytest.skip("this suite says so")
