import flag_gems
import pytest
import torch

from . import base, consts


def topk_input_fn(shape, dtype, device):
    yield ({"input": base.tensor(shape, dtype, device), "k": 5, "dim": -1},)


@pytest.mark.topk
def test_topk():
    base.Benchmark(op_name="topk", torch_op=torch.topk, dtypes=[torch.float16], input_fn=topk_input_fn).run()


@pytest.mark.conj_physical
@pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA is not available")
def test_conj_physical():
    bench = base.Benchmark(op_name="conj_physical", torch_op=torch.conj_physical, dtypes=consts.COMPLEX_DTYPES)
    bench.set_gems(flag_gems.conj_physical)
    bench.run()


@pytest.mark.nonzero
def test_nonzero():
    base.Benchmark(op_name="nonzero", torch_op=torch.nonzero, dtypes=[torch.float16, torch.int32]).run()


@pytest.mark.absolute
def test_absolute():
    base.Benchmark(op_name="abs", torch_op=torch.abs, dtypes=consts.BOTH_HALVES).run()


@pytest.mark.transpose
def test_transpose():
    base.Benchmark(op_name="t", torch_op=torch.t, dtypes=[torch.float16]).run()


def cross_entropy_loss_input_fn(shape, dtype, device):
    yield base.tensor(shape, dtype, device), torch.randint(0, shape[-1], (shape[0],), device=device)


@pytest.mark.cross_entropy_loss
def test_cross_entropy_loss():
    bench = base.Benchmark(
        op_name="cross_entropy_loss",
        torch_op=torch.nn.functional.cross_entropy,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=cross_entropy_loss_input_fn,
    )
    bench.set_gems(flag_gems.cross_entropy_loss)
    bench.run()


@pytest.mark.log_softmax
def test_log_softmax():
    base.Benchmark(op_name="log_softmax", torch_op=torch.nn.functional.log_softmax, dtypes=consts.FLOAT_DTYPES).run()


def log_softmax_backward_input_fn(shape, dtype, device):
    output = torch.nn.functional.log_softmax(base.tensor(shape, dtype, device), dim=-1)
    yield torch.randn_like(output), output, -1, dtype


@pytest.mark.log_softmax_backward_data
def test_log_softmax_backward_data():
    base.Benchmark(
        op_name="log_softmax_backward_data",
        torch_op=torch.ops.aten._log_softmax_backward_data,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=log_softmax_backward_input_fn,
    ).run()


def upsample_input_fn(shape, dtype, device):
    _, _, height, width = shape
    options = {"output_size": (2 * height, 2 * width), "scales_h": None, "scales_w": None}
    yield ({"input": base.tensor(shape, dtype, device), **options},)


@pytest.mark.upsample_nearest2d
def test_upsample_nearest2d():
    base.Benchmark(
        op_name="upsample_nearest2d",
        torch_op=torch._C._nn.upsample_nearest2d,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=upsample_input_fn,
    ).run()
