"""What the timing functions hand back, and how rows are counted and labelled."""

import inspect

import pytest
import triton.testing
from kernels import launch_add, launch_double, note
from triton.testing import do_bench, do_bench_cudagraph


class Tensor:
    grad = "old"


def test_shapes():
    quantiles = [0.5, 0.2, 0.8]
    answers = {
        "plain": do_bench(launch_add),
        "quantiles": do_bench(launch_add, quantiles=quantiles),
        "one_quantile": do_bench(launch_add, quantiles=[0.5]),
        "positional_quantiles": do_bench(launch_add, 25, 100, None, quantiles),
        "min": do_bench(launch_add, warmup=1, rep=1, return_mode="min"),
        "all": do_bench(launch_add, return_mode="all"),
        "graph": do_bench_cudagraph(launch_add),
        "by_module": triton.testing.do_bench(launch_add),
    }
    if "quantiles" in inspect.signature(do_bench_cudagraph).parameters:  # not in Triton 3.1
        assert do_bench_cudagraph(launch_add, quantiles=quantiles) == answers["quantiles"]
        assert do_bench_cudagraph(launch_add, 20, None, quantiles) == answers["quantiles"]
    note("answers", answers)


def test_gradients_are_dropped():
    tensor, seen = Tensor(), []
    do_bench(lambda: (seen.append(tensor.grad), launch_add()), grad_to_none=[tensor])
    note("gradients", seen)


@pytest.mark.parametrize("dtype", ["fp16", "fp32"])
@pytest.mark.parametrize("size", [(64, 2), 128])
def test_labels(size, dtype):
    do_bench(lambda: launch_double(dtype))
    do_bench(lambda: launch_double(dtype))


def test_other():
    do_bench(launch_add)
