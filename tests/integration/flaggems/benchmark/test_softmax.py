import pytest
import torch

from . import base, consts


@pytest.mark.softmax
def test_softmax():
    base.Benchmark(
        op_name="softmax", torch_op=torch.nn.functional.softmax, dtypes=consts.FLOAT_DTYPES, input_fn=rows
    ).run()


@pytest.mark.softmax_backward
def test_softmax_backward():
    base.Benchmark(
        op_name="softmax",
        torch_op=torch.nn.functional.softmax,
        dtypes=consts.FLOAT_DTYPES,
        is_backward=True,
        input_fn=rows,
    ).run()


def rows(shape, dtype, device):
    yield base.tensor(shape, dtype, device), 1
