"""The stand-in device, with whatever Triton (and torch) this interpreter has.

Each script runs in a process of its own, because a stand-in device lasts as long as its process.
"""

import json
import os
import subprocess
import sys
import textwrap
from importlib.util import find_spec
from pathlib import Path

import pytest

triton = pytest.importorskip("triton")
INSIDE = Path(__file__).resolve().parents[2] / "src" / "zl_bench" / "inside"
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
NO_HIP = "older Tritons want an installed ROCm linker" if VERSION < (3, 4) else ""
if find_spec("torch") is None:
    NO_HIP = "Triton's AMD back end imports torch"
pytestmark = pytest.mark.integration

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


def run(tmp_path, body, target="cuda:90"):
    """The facts that a script prints, merged."""
    script = tmp_path / "script.py"
    script.write_text(KERNELS + "TARGET = {!r}\n".format(target) + textwrap.dedent(body))
    environment = {**os.environ, "PYTHONPATH": str(INSIDE), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run([sys.executable, "-W", "ignore", str(script)], env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    facts = {}
    for line in done.stdout.splitlines():
        if line.startswith("FACTS "):
            facts.update(json.loads(line[len("FACTS ") :]))
    return facts


def target_params():
    hip = pytest.param("hip:gfx942", marks=pytest.mark.skipif(bool(NO_HIP), reason=NO_HIP))
    new = pytest.param("cuda:100", marks=pytest.mark.skipif(VERSION < (3, 6), reason="cuda up to 90 only with older Tritons"))
    return ["cuda:80", "cuda:90", new, hip]


@pytest.mark.parametrize("target", target_params())
def test_a_kernel_compiles_and_launches_for_the_target(tmp_path, target):
    facts = run(
        tmp_path,
        """
        install(TARGET)
        install(TARGET)
        kernel = add[(4,)](FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp16"), 1000, BLOCK=256)
        active = triton.runtime.driver.active
        kernel[(4, 1, 1)](FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp16"), 1000)
        say(stages=sorted(kernel.asm), ttgir=kernel.asm["ttgir"], target=[active.get_current_target().backend, active.get_current_target().arch],
            binary=len(kernel.kernel), name=type(active).__name__, properties=active.utils.get_device_properties(0))
        """,
        target,
    )
    backend, arch = target.split(":")
    assert facts["target"] == [backend, int(arch) if arch.isdigit() else arch]
    assert target in facts["ttgir"]
    assert {"ttir", "ttgir", "llir"} < set(facts["stages"])
    assert ("cubin" if backend == "cuda" else "hsaco") in facts["stages"]
    assert facts["binary"] > 500
    assert facts["name"] == "StandInDriver"
    assert facts["properties"]["max_shared_mem"] == {"80": 166912, "90": 232448, "100": 232448, "gfx942": 65536}[arch]


def test_pointer_alignment_is_specialised(tmp_path):
    facts = run(
        tmp_path,
        """
        install(TARGET)
        pointers = lambda offset: [FakePointer("fp16"), FakePointer("fp16", offset=offset), FakePointer("fp16")]
        say(aligned=arguments(add[(1,)](*pointers(0), 1000, BLOCK=128)), shifted=arguments(add[(1,)](*pointers(1), 1000, BLOCK=128)))
        """,
    )
    assert facts == {"aligned": [True, True, True], "shifted": [True, False, True]}


def test_the_target_limits_are_checked_as_a_load_would(tmp_path):
    facts = run(
        tmp_path,
        """
        install(TARGET)
        from triton.runtime.errors import OutOfResources
        def fits(stages):
            try:
                return overflow(stages).metadata.shared
            except OutOfResources as error:
                return [error.name, error.required, error.limit]
        def threads(warps):
            pointers = [FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp16")]
            try:
                add[(1,)](*pointers, 4096, BLOCK=4096, num_warps=warps)
                return "fits"
            except OutOfResources as error:
                return [error.name, error.required, error.limit]
        say(small=fits(2), large=fits(8), warps_32=threads(32), warps_64=threads(64))
        """,
    )
    assert 0 < facts["small"] <= 232448
    name, required, limit = facts["large"]
    assert name == "shared memory"
    assert required > limit == 232448
    assert facts["warps_32"] == "fits"
    assert facts["warps_64"] == ["threads", 2048, 1024]


def test_another_target_is_refused(tmp_path):
    facts = run(
        tmp_path,
        """
        install("cuda:80")
        say(other=catch(lambda: install("cuda:90")), unknown=catch(lambda: install("cuda:1")))
        """,
    )
    assert facts["other"].startswith("AlreadyInstalled: ")
    assert "cuda:80" in facts["other"]
    assert facts["unknown"].startswith("TargetError: ")


@pytest.mark.skipif(VERSION >= (3, 2), reason="newer Tritons know cuda:100")
def test_a_target_that_would_abort_the_interpreter_is_refused(tmp_path):
    facts = run(tmp_path, 'say(refused=catch(lambda: install("cuda:100")))')
    assert facts["refused"].startswith("TargetError: ")


def test_no_native_driver_is_opened(tmp_path):
    """The stand-in must do without libcuda and libamdhip64, also where there is one."""
    facts = run(
        tmp_path,
        """
        install(TARGET)
        add[(4,)](FakePointer("fp16"), FakePointer("fp16"), FakePointer("fp16"), 1000, BLOCK=256)
        maps = open("/proc/self/maps").read()
        say(native=[name for name in ("libcuda.so", "libamdhip64", "cuda_utils", "hip_utils") if name in maps],
            modules=[name for name in sys.modules if name.endswith("cuda_utils")])
        """,
    )
    assert facts == {"native": [], "modules": []}
