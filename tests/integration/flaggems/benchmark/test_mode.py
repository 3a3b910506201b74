"""Changes the shared mode while it is imported, so that nothing in it is timed by do_bench."""

import pytest
import torch

from . import base, conftest, consts

conftest.Config.mode = consts.BenchMode.OPERATOR


@pytest.mark.host_timed
def test_host_timed():
    base.Benchmark(op_name="host_timed", torch_op=torch.abs, dtypes=[torch.float16]).run()
