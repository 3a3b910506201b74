"""A benchmark that helps itself when a kernel does not fit."""

from kernels import dot
from triton.runtime.errors import OutOfResources
from triton.testing import do_bench
from zl_probe.offline import FakePointer


def launch(stages):
    pointers = (FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp32"))
    dot[(1,)](*pointers, 4096, M=64, N=32, BLOCK_K=256, num_stages=stages)


def test_falls_back():
    def call():
        try:
            launch(6)
        except OutOfResources:
            launch(2)

    do_bench(call)
