"""Runs a script in a process of its own that may have a stand-in device, and hands back what it says."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[2] / "src" / "zl_bench" / "inside"

HIDE_TORCH = """
from importlib.machinery import PathFinder

find_spec = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest, **named: None if name == "torch" else find_spec(name, *rest, **named)
"""
KERNELS = """
import json, sys
import triton, triton.language as tl
from zl_probe.offline import *

def say(**facts):
    print("FACTS " + json.dumps(facts))

def catch(function):
    try:
        return repr(function())
    except Exception as error:
        return type(error).__name__ + ": " + str(error)

def arguments(kernel):
    line = next(line for line in kernel.asm["ttir"].splitlines() if "tt.func" in line)
    return ["tt.divisibility" in part for part in line.split("!tt.ptr")[1:]]

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out + offsets, tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask), mask=mask)

@triton.jit
def dot(a, b, out, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    acc = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        left = tl.load(a + rows[:, None] * K + start + inner[None, :])
        right = tl.load(b + (start + inner)[:, None] * N + columns[None, :])
        acc = tl.dot(left, right, acc)
    tl.store(out + rows[:, None] * N + columns[None, :], acc)

def overflow(stages):
    pointers = [FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp32")]
    return dot[(1,)](*pointers, 4096, M=128, N=128, BLOCK_K=64, num_warps=4, num_stages=stages)
"""


def run(tmp_path, body, target="cuda:90", with_torch=False):
    """The facts that a script prints, merged. Torch, which takes seconds to import, is hidden from it unless asked for."""
    script = tmp_path / "script.py"
    script.write_text(("" if with_torch else HIDE_TORCH) + KERNELS + f"TARGET = {target!r}\n" + textwrap.dedent(body))
    environment = {**os.environ, "PYTHONPATH": str(INSIDE), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=str(tmp_path),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    facts = {}
    for line in done.stdout.splitlines():
        if line.startswith("FACTS "):
            facts.update(json.loads(line[len("FACTS ") :]))
    return facts
