"""The stand-in device, with whatever Triton (and torch) this interpreter has.

Each script runs in a process of its own, because a stand-in device lasts as long as its process.
"""

from importlib.util import find_spec

import pytest
from offline_script import run

triton = pytest.importorskip("triton")
VERSION = tuple(int(part) for part in triton.__version__.split(".")[:2])
NO_HIP = "older Tritons want an installed ROCm linker" if VERSION < (3, 4) else ""
if find_spec("torch") is None:
    NO_HIP = "Triton's AMD back end imports torch"
pytestmark = pytest.mark.integration


def target_params():
    hip = pytest.param("hip:gfx942", marks=pytest.mark.skipif(bool(NO_HIP), reason=NO_HIP))
    new = pytest.param(
        "cuda:100", marks=pytest.mark.skipif(VERSION < (3, 6), reason="cuda up to 90 only with older Tritons")
    )
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
        target = active.get_current_target()
        say(stages=sorted(kernel.asm), ttgir=kernel.asm["ttgir"], target=[target.backend, target.arch])
        say(binary=len(kernel.kernel), name=type(active).__name__, properties=active.utils.get_device_properties(0))
        """,
        target,
        with_torch=target.startswith("hip"),
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
        say(aligned=arguments(add[(1,)](*pointers(0), 1000, BLOCK=128)))
        say(shifted=arguments(add[(1,)](*pointers(1), 1000, BLOCK=128)))
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
