"""Benchmarks that misbehave, to be put into a checkout that follows FlagGems' contract. Each measures one row first."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from . import base

MIB = 1 << 20
MARKER = os.environ.get("ZL_TEST_MARKER", "zl-test-marker")


@triton.jit
def double_kernel(source, target, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(target + offsets, tl.load(source + offsets) * 2.0)


def double(given):
    target = torch.empty_like(given)
    double_kernel[(1,)](given, target, BLOCK=64)
    return target


class TwoShapes(base.Benchmark):
    """Two rows, which can be told apart."""

    def set_shapes(self, shape_file=None):
        self.shapes = [(64,), (128,)]


def measure(name, behave):
    """Two rows; before the second one's first call the operator does what it should not."""
    done = []

    def operator(given):
        if given.shape == (128,) and not done:
            done.append(behave())
        return double(given)

    bench = TwoShapes(op_name=name, torch_op=operator, dtypes=[torch.float32])
    bench.set_gems(operator)
    bench.run()


def fill(size=1200 * MIB):
    """Take memory, but never so much that a machine without a watch would suffer, and stay."""
    kept = [b"x" * (4 * MIB) for _ in range(size // (4 * MIB))]
    time.sleep(600)
    return kept


def started(script):
    """Another program, whose command line holds the marker."""
    return subprocess.Popen([sys.executable, "-c", f"import os, time\n{script}  # {MARKER}"])


FILL = f"kept = [b'x' * {4 * MIB} for _ in range(300)]\ntime.sleep(600)"
DAEMON = "if os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\ntime.sleep(600)"


@pytest.mark.orderly
def test_orderly():
    measure("orderly", lambda: None)


@pytest.mark.orderly_too
def test_orderly_too():
    measure("orderly_too", lambda: None)


@pytest.mark.aborts
def test_aborts():
    measure("aborts", os.abort)


@pytest.mark.hangs_here
def test_hangs_here():
    measure("hangs_here", lambda: time.sleep(600))


@pytest.mark.takes_memory
def test_takes_memory():
    measure("takes_memory", fill)


@pytest.mark.takes_memory_at_once
def test_takes_memory_at_once():
    fill()


@pytest.mark.child_takes_memory
def test_child_takes_memory():
    measure("child_takes_memory", lambda: started(FILL).wait())


@pytest.mark.grandchild_takes_memory
def test_grandchild_takes_memory():
    def fork_twice():
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                fill()
            os.wait()
        time.sleep(600)

    measure("grandchild_takes_memory", fork_twice)


@pytest.mark.leaves_daemon
def test_leaves_daemon():
    measure("leaves_daemon", lambda: started(DAEMON).wait())


@pytest.mark.leaves_children
def test_leaves_children():
    def leave():
        for _ in range(3):
            started("time.sleep(600)")
            if os.fork() == 0:
                time.sleep(600)

    measure("leaves_children", leave)


PROGRAM = """
import sys
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
sys.path.insert(0, sys.argv[1])
import kernel_elsewhere
triton.compile(
    ASTSource(kernel_elsewhere.scale_kernel, {"source": "*fp32", "BLOCK": "constexpr"}, {(1,): 64}),
    target=GPUTarget("cuda", 90, 32),
)
"""
KERNEL = """
import triton
import triton.language as tl

@triton.jit
def scale_kernel(source, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(source + offsets, tl.load(source + offsets) * 3.0)
"""


@pytest.mark.compiles_elsewhere
def test_compiles_elsewhere(tmp_path):
    """What another program compiles and would launch, no hook of this process sees; its cache does."""
    (tmp_path / "kernel_elsewhere.py").write_text(KERNEL)
    done = []

    def operator(given):
        if not done:
            done.append(subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True))
        return given

    bench = TwoShapes(op_name="compiles_elsewhere", torch_op=operator, dtypes=[torch.float32])
    bench.set_gems(operator)
    bench.run()


@pytest.mark.launches_in_child
def test_launches_in_child():
    def operator(given):
        child = os.fork()
        if child == 0:
            double(given)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        return given

    bench = TwoShapes(op_name="launches_in_child", torch_op=operator, dtypes=[torch.float32])
    bench.set_gems(operator)
    bench.run()


@pytest.mark.no_kernel
def test_no_kernel():
    bench = TwoShapes(op_name="no_kernel", torch_op=lambda given: given.view(-1), dtypes=[torch.float32])
    bench.set_gems(lambda given: given.view(-1))
    bench.run()


@pytest.mark.tells_environment
def test_tells_environment():
    notes = Path(os.environ["ZL_TEST_NOTES"]) / f"{os.environ['ZL_TEST_SIDE']}.json"
    notes.write_text(json.dumps(dict(os.environ)))
    measure("tells_environment", lambda: None)
