"""Operators that misbehave, for the tests of what survives them. Each measures one row first where it can."""

import os
import subprocess
import sys
import time

import pytest
import torch
import triton
import triton.language as tl
import triton.testing

MARKER = os.environ.get("ZL_TEST_MARKER", "zl-test-marker")


@triton.jit
def double_kernel(source, target, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(target + offsets, tl.load(source + offsets) * 2.0)


def measure(block=128):
    source = torch.randn((block,), device="cuda")
    target = torch.empty_like(source)
    triton.testing.do_bench(lambda: double_kernel[(1,)](source, target, BLOCK=block))


def only_after():
    return os.environ.get("ZL_TEST_SIDE") == "after"


def test_plain():
    measure()


def test_aborts():
    measure()
    os.abort()


def test_hangs():
    measure()
    while True:
        time.sleep(1)


def test_hangs_after():
    measure()
    while only_after():
        time.sleep(1)
    measure(256)


def test_leaves_early():
    measure()
    os._exit(0)


def test_prints_binary():
    os.write(1, bytes(range(256)) * 10)
    sys.stderr.write("\x1b[31m\udcff")
    measure()


def test_leaves_child():
    measure()
    # A daemon: its own session, its parent gone, its standard streams still the run's.
    subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(600)  # {MARKER}",
        ]
    ).wait()


@pytest.mark.parametrize("count", [128, 256, 512])
def test_fails_late(count):
    if count == 512:
        raise ValueError("no such count")
    measure(count)


def test_raises_only_after():
    measure()
    if only_after():
        raise RuntimeError("wrong side\nof the river")
    measure(256)


def test_slow():
    measure()
    time.sleep(float(os.environ.get("ZL_TEST_SLOW", "0")))
