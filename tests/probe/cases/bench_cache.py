"""A suite that has a mind of its own about Triton's cache: one folder for all of its runs."""

import os
import pathlib

import triton
from kernels import launch_transpose
from triton.testing import do_bench

SHARED = pathlib.Path(__file__).parent / "shared"
os.environ["TRITON_CACHE_DIR"] = str(SHARED / "environment")
if hasattr(triton, "knobs"):
    triton.knobs.cache.dir = str(SHARED / "knob")


def test_own_folder():
    do_bench(launch_transpose)


def test_own_manager():
    os.environ["TRITON_CACHE_MANAGER"] = "own_manager:Manager"
    do_bench(launch_transpose)


def test_forked_child():
    child = os.fork()
    if child == 0:
        launch_transpose()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    do_bench(lambda: None)
