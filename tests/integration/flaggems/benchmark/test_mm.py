import pytest
import torch

from . import base, consts


def mm_input_fn(shape, dtype, device):
    _, m, n, k = shape
    yield base.tensor([m, k], dtype, device), base.tensor([k, n], dtype, device)


@pytest.mark.mm
def test_mm():
    base.BlasBenchmark(op_name="mm", torch_op=torch.mm, dtypes=consts.FLOAT_DTYPES, input_fn=mm_input_fn).run()


def mm_out_input_fn(shape, dtype, device):
    _, m, n, k = shape
    out = torch.empty([m, n], dtype=dtype, device=device)
    yield base.tensor([m, k], dtype, device), base.tensor([k, n], dtype, device), {"out": out}


@pytest.mark.mm_out
def test_mm_out():
    base.BlasBenchmark(op_name="mm_out", torch_op=torch.mm, dtypes=consts.FLOAT_DTYPES, input_fn=mm_out_input_fn).run()


def transposed_input_fn(shape, dtype, device):
    m, k = shape
    yield (base.tensor([k, m], dtype, device).t(),)


def times_its_transpose(matrix):
    return torch.mm(matrix, matrix.t())


@pytest.mark.mm_self_transpose
def test_mm_self_transpose():
    base.Benchmark(
        op_name="mm_self_transpose",
        torch_op=times_its_transpose,
        dtypes=consts.FLOAT_DTYPES,
        input_fn=transposed_input_fn,
    ).run()


def addmm_input_fn(shape, dtype, device):
    _, m, n, k = shape
    bias = base.tensor([m, n], dtype, device)
    yield bias, base.tensor([m, k], dtype, device), base.tensor([k, n], dtype, device)


@pytest.mark.addmm
def test_addmm():
    base.BlasBenchmark(op_name="addmm", torch_op=torch.addmm, dtypes=consts.FLOAT_DTYPES, input_fn=addmm_input_fn).run()


def addmm_out_input_fn(shape, dtype, device):
    _, m, n, _ = shape
    for given in addmm_input_fn(shape, dtype, device):
        yield *given, {"out": torch.empty([m, n], dtype=dtype, device=device)}


@pytest.mark.addmm_out
def test_addmm_out():
    base.BlasBenchmark(
        op_name="addmm_out", torch_op=torch.addmm, dtypes=consts.FLOAT_DTYPES, input_fn=addmm_out_input_fn
    ).run()
