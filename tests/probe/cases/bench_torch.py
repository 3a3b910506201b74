"""What a row launches on tensors of torch."""

import pytest
from kernels import add
from triton.testing import do_bench


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    x, y, out = (torch.empty(1000, device="cuda", dtype=torch.float16) for _ in range(3))
    do_bench(lambda: add[(1,)](x, y[1:], out, 999, BLOCK=128))
