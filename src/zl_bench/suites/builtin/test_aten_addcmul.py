"""A product added to a tensor, left to torch: it launches no Triton kernel, which is its point."""

import pytest
import torch
import triton
from _inputs import values


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("shape", [(1048576,), (1000, 1000)])
def test_aten_addcmul(dtype, shape):
    x, y, z = values(shape, dtype), values(shape, dtype), values(shape, dtype)
    triton.testing.do_bench(lambda: torch.addcmul(x, y, z, value=0.5))
