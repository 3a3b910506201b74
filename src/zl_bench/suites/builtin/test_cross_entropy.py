"""Cross entropy of rows of logits against class indices, with a running logarithm of the sum of exponentials."""

import pytest
import triton
import triton.language as tl
from _inputs import empty, indices, values


@triton.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, classes, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * classes
    target = tl.load(target_ptr + row)
    maximum = tl.full((BLOCK,), -1e30, dtype=tl.float32)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, classes, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        logits = tl.load(logits_ptr + offsets, mask=offsets < classes, other=-float("inf")).to(tl.float32)
        new_maximum = tl.maximum(maximum, logits)
        total = total * tl.exp(maximum - new_maximum) + tl.exp(logits - new_maximum)
        maximum = new_maximum
    overall = tl.max(maximum, axis=0)
    log_sum = tl.log(tl.sum(total * tl.exp(maximum - overall), axis=0)) + overall
    chosen = tl.load(logits_ptr + target).to(tl.float32)
    tl.store(loss_ptr + row, log_sum - chosen)


def cross_entropy(logits, target, loss):
    rows, classes = logits.shape
    block = min(triton.next_power_of_2(classes), 1024)
    cross_entropy_kernel[(rows,)](logits, target, loss, classes, BLOCK=block)
    return loss


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(4096, 128), (1024, 1000), (256, 32000)])
def test_cross_entropy(dtype, shape):
    rows, classes = shape
    logits, target, loss = values(shape, dtype), indices(rows, classes), empty((rows,), "float32")
    triton.testing.do_bench(lambda: cross_entropy(logits, target, loss))
