"""Layer normalisation, forward: three sweeps over a row in blocks."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def layer_norm_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, inverse_ptr, columns, epsilon, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * columns
    out_ptr += row * columns
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < columns, other=0.0).to(tl.float32)
        centred = tl.where(offsets < columns, x - mean, 0.0)
        squares += centred * centred
    inverse = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    tl.store(mean_ptr + row, mean)
    tl.store(inverse_ptr + row, inverse)
    for start in range(0, columns, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < columns
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask).to(tl.float32)
        bias = tl.load(bias_ptr + offsets, mask=mask).to(tl.float32)
        result = (x - mean) * inverse * weight + bias
        tl.store(out_ptr + offsets, result.to(out_ptr.dtype.element_ty), mask=mask)


def layer_norm(x, weight, bias, out, mean, inverse, epsilon=1e-5):
    rows, columns = x.shape
    block = min(triton.next_power_of_2(columns), 1024)
    layer_norm_kernel[(rows,)](x, weight, bias, out, mean, inverse, columns, epsilon, BLOCK=block)
    return out


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("shape", [(2048, 512), (1024, 1000), (512, 4096)])
def test_layer_norm(dtype, shape):
    rows, columns = shape
    x, weight, bias = values(shape, dtype), values((columns,), dtype), values((columns,), dtype)
    out, mean, inverse = empty(shape, dtype), empty((rows,), "float32"), empty((rows,), "float32")
    triton.testing.do_bench(lambda: layer_norm(x, weight, bias, out, mean, inverse))
