import flag_gems
import pytest
import torch

from . import base, consts


def layer_norm_input_fn(shape, dtype, device):
    weight, bias = (base.tensor(shape[1:], dtype, device) for _ in range(2))
    yield base.tensor(shape, dtype, device), shape[1:], weight, bias


@pytest.mark.layer_norm
def test_layer_norm():
    base.NormBenchmark(
        op_name="layer_norm", torch_op=torch.layer_norm, dtypes=consts.FLOAT_DTYPES, input_fn=layer_norm_input_fn
    ).run()


def group_norm_input_fn(shape, dtype, device):
    weight, bias = (base.tensor([shape[1]], dtype, device) for _ in range(2))
    yield base.tensor(shape, dtype, device), shape[1] // 2, weight, bias


@pytest.mark.group_norm
def test_group_norm():
    base.NormBenchmark(
        op_name="group_norm",
        torch_op=torch.nn.functional.group_norm,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=group_norm_input_fn,
    ).run()


def instance_norm_input_fn(shape, dtype, device):
    weight, bias = (base.tensor([shape[1]], dtype, device) for _ in range(2))
    yield base.tensor(shape, dtype, device), weight, bias, None, None, True, 0.1, 1e-5, True


@pytest.mark.instance_norm
def test_instance_norm():
    bench = base.NormBenchmark(
        op_name="instance_norm",
        torch_op=torch.instance_norm,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=instance_norm_input_fn,
    )
    bench.set_gems(flag_gems.instance_norm)
    bench.run()
