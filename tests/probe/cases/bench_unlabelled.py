"""Times something while it is imported."""

from kernels import launch_add, launch_double, note
from triton.testing import do_bench

note("answer", do_bench(launch_double))


def test_row():
    do_bench(launch_add)
