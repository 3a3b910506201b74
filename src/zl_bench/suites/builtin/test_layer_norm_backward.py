"""Layer normalisation, backward: a kernel for the input's gradient, one for the parameters' gradients."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, values


@triton.jit
def input_gradient_kernel(x_ptr, weight_ptr, mean_ptr, inverse_ptr, grad_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < columns
    x = tl.load(x_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    grad = tl.load(grad_ptr + row * columns + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.load(mean_ptr + row)
    inverse = tl.load(inverse_ptr + row)
    normalised = tl.where(mask, (x - mean) * inverse, 0.0)
    weighted = weight * grad
    along = tl.sum(normalised * weighted, axis=0) / columns
    offset = tl.sum(weighted, axis=0) / columns
    result = (weighted - (normalised * along + offset)) * inverse
    tl.store(out_ptr + row * columns + offsets, result.to(out_ptr.dtype.element_ty), mask=mask)


@triton.jit
def parameter_gradient_kernel(
    x_ptr,
    mean_ptr,
    inverse_ptr,
    grad_ptr,
    weight_grad_ptr,
    bias_grad_ptr,
    rows,
    columns,
    BLOCK_ROWS: tl.constexpr,
    BLOCK_COLUMNS: tl.constexpr,
):
    column = tl.program_id(0) * BLOCK_COLUMNS + tl.arange(0, BLOCK_COLUMNS)
    weight_grad = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
    bias_grad = tl.zeros((BLOCK_ROWS, BLOCK_COLUMNS), dtype=tl.float32)
    for start in range(0, rows, BLOCK_ROWS):
        row = start + tl.arange(0, BLOCK_ROWS)
        mask = (row[:, None] < rows) & (column[None, :] < columns)
        offsets = row[:, None] * columns + column[None, :]
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        grad = tl.load(grad_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        mean = tl.load(mean_ptr + row, mask=row < rows, other=0.0)
        inverse = tl.load(inverse_ptr + row, mask=row < rows, other=0.0)
        weight_grad += grad * (x - mean[:, None]) * inverse[:, None]
        bias_grad += grad
    element = weight_grad_ptr.dtype.element_ty
    tl.store(weight_grad_ptr + column, tl.sum(weight_grad, axis=0).to(element), mask=column < columns)
    tl.store(bias_grad_ptr + column, tl.sum(bias_grad, axis=0).to(element), mask=column < columns)


def layer_norm_backward(x, weight, mean, inverse, grad, x_grad, weight_grad, bias_grad):
    rows, columns = x.shape
    block = triton.next_power_of_2(columns)
    input_gradient_kernel[(rows,)](x, weight, mean, inverse, grad, x_grad, columns, BLOCK=block)
    block_columns = 64 if columns > 512 else 32
    parameter_gradient_kernel[(triton.cdiv(columns, block_columns),)](
        x, mean, inverse, grad, weight_grad, bias_grad, rows, columns, BLOCK_ROWS=32, BLOCK_COLUMNS=block_columns
    )
    return x_grad, weight_grad, bias_grad


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(2048, 512), (1000, 1001)])
def test_layer_norm_backward(dtype, shape):
    rows, columns = shape
    x, grad, weight = values(shape, dtype), values(shape, dtype), values((columns,), dtype)
    mean, inverse = values((rows,), "float32"), values((rows,), "float32")
    x_grad, weight_grad, bias_grad = empty(shape, dtype), empty((columns,), dtype), empty((columns,), dtype)
    triton.testing.do_bench(lambda: layer_norm_backward(x, weight, mean, inverse, grad, x_grad, weight_grad, bias_grad))
