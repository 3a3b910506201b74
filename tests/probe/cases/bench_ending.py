"""Sessions that end before their tests do."""

import pytest
from kernels import launch_add
from triton.testing import do_bench


def test_first():
    do_bench(launch_add)


@pytest.mark.parametrize("how", ["exit", "quiet_exit", "interrupt"])
def test_ends(how):
    do_bench(launch_add)
    if how == "interrupt":
        raise KeyboardInterrupt
    pytest.exit("enough", returncode=0 if how == "quiet_exit" else 3)


def test_last():
    do_bench(launch_add)
