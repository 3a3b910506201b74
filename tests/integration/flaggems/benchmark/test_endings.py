"""Tests that end otherwise than by passing."""

import os
import time

import flag_gems
import pytest
import torch

from . import base


@pytest.mark.not_on_cuda
@pytest.mark.skipif(flag_gems.device == "cuda", reason="Issue #1: wrong results on CUDA")
def test_not_on_cuda():
    base.Benchmark(op_name="not_on_cuda", torch_op=torch.abs).run()


def refuses_wide_rows(matrix):
    if matrix.shape[-1] > 512:
        raise RuntimeError("rows of 1024 are not supported")
    return torch.abs(matrix)


class ThreeShapes(base.Benchmark):
    def set_shapes(self, shape_file):
        self.shapes = [(16, 256), (16, 512), (16, 1024), (16, 2048)]


@pytest.mark.fails_third
def test_fails_third():
    ThreeShapes(op_name="fails_third", torch_op=refuses_wide_rows, dtypes=[torch.float16, torch.bfloat16]).run()


@pytest.mark.banned_here
@pytest.mark.banned
def test_banned():
    base.Benchmark(op_name="banned", torch_op=torch.abs).run()


if flag_gems.vendor_name == "mthreads":

    @pytest.mark.elsewhere
    def test_elsewhere():
        base.Benchmark(op_name="elsewhere", torch_op=torch.abs).run()


@pytest.mark.by_parameter
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_by_parameter(dtype):
    base.Benchmark(op_name="by_parameter", torch_op=torch.abs, dtypes=[dtype]).run()


def never_ends(matrix):
    time.sleep(1000)


@pytest.mark.hangs
def test_hangs():
    base.Benchmark(op_name="hangs", torch_op=never_ends).run()


def aborts(matrix):
    torch.abs(matrix)
    os.abort()


@pytest.mark.crashes
def test_crashes():
    base.Benchmark(op_name="crashes", torch_op=aborts).run()
