import pytest
import torch

from . import base, consts


@pytest.mark.dropout
def test_dropout():
    base.UnaryPointwiseBenchmark(op_name="dropout", torch_op=torch.nn.Dropout(p=0.5), dtypes=consts.FLOAT_DTYPES).run()


def dropout_backward_input_fn(shape, dtype, device):
    mask = torch.randint(0, 2, shape, dtype=torch.bool, device=device)
    yield base.tensor(shape, dtype, device), mask, {"scale": 2.0}


@pytest.mark.native_dropout_backward
def test_native_dropout_backward():
    base.Benchmark(
        op_name="native_dropout_backward",
        torch_op=torch.ops.aten.native_dropout_backward,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=dropout_backward_input_fn,
    ).run()
