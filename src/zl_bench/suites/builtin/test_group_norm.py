"""Group normalisation in three launches: partial sums, statistics, and their application."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values

BLOCK = 1024


@triton.jit
def partial_sums_kernel(x_ptr, sum_ptr, square_ptr, size, chunks, BLOCK: tl.constexpr):
    group, chunk = tl.program_id(0), tl.program_id(1)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + group * size + offsets, mask=offsets < size, other=0.0).to(tl.float32)
    tl.store(sum_ptr + group * chunks + chunk, tl.sum(x, axis=0))
    tl.store(square_ptr + group * chunks + chunk, tl.sum(x * x, axis=0))


@triton.jit
def statistics_kernel(sum_ptr, square_ptr, mean_ptr, inverse_ptr, size, chunks, epsilon, CHUNKS: tl.constexpr):
    group = tl.program_id(0)
    chunk = tl.arange(0, CHUNKS)
    mask = chunk < chunks
    mean = tl.sum(tl.load(sum_ptr + group * chunks + chunk, mask=mask, other=0.0), axis=0) / size
    square = tl.sum(tl.load(square_ptr + group * chunks + chunk, mask=mask, other=0.0), axis=0) / size
    tl.store(mean_ptr + group, mean)
    tl.store(inverse_ptr + group, 1 / tl.sqrt(square - mean * mean + epsilon))


@triton.jit
def normalise_kernel(
    x_ptr, mean_ptr, inverse_ptr, weight_ptr, bias_ptr, out_ptr, size, groups, channel_size, BLOCK: tl.constexpr
):
    group, chunk = tl.program_id(0), tl.program_id(1)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < size
    channel = (group % groups) * (size // channel_size) + offsets // channel_size
    x = tl.load(x_ptr + group * size + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + channel, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + channel, mask=mask, other=0.0).to(tl.float32)
    result = (x - tl.load(mean_ptr + group)) * tl.load(inverse_ptr + group) * weight + bias
    tl.store(out_ptr + group * size + offsets, result.to(out_ptr.dtype.element_ty), mask=mask)


def group_norm(x, weight, bias, out, groups, epsilon=1e-5):
    batch, channels, height, width = x.shape
    size = channels // groups * height * width
    chunks = triton.cdiv(size, BLOCK)
    sums, squares = empty((batch * groups, chunks), "float32"), empty((batch * groups, chunks), "float32")
    mean, inverse = empty((batch * groups,), "float32"), empty((batch * groups,), "float32")
    grid = (batch * groups, chunks)
    partial_sums_kernel[grid](x, sums, squares, size, chunks, BLOCK=BLOCK)
    statistics_kernel[(batch * groups,)](
        sums, squares, mean, inverse, size, chunks, epsilon, CHUNKS=triton.next_power_of_2(chunks)
    )
    normalise_kernel[grid](x, mean, inverse, weight, bias, out, size, groups, height * width, BLOCK=BLOCK)
    return out


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(8, 64, 32, 32), (4, 96, 15, 15)])
def test_group_norm(dtype, shape):
    channels = shape[1]
    x, weight, bias, out = (
        values(shape, dtype),
        values((channels,), dtype),
        values((channels,), dtype),
        empty(shape, dtype),
    )
    triton.testing.do_bench(lambda: group_norm(x, weight, bias, out, 8))
