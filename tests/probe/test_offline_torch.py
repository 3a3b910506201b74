"""The torch part of the stand-in device. Skipped where this interpreter has no torch."""

import pytest
from offline_script import run

pytest.importorskip("torch")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    return run(
        tmp_path_factory.mktemp("torch"),
        """
        install(TARGET)
        import torch

        def aten_only(x, y):
            return torch.addcmul(x, y, y).softmax(-1).sum(0)

        half = dict(device="cuda", dtype=torch.float16)
        base = torch.randn(4096, **half)
        square = base.view(64, 64)
        out = torch.empty_like(base)
        host = torch.arange(3.0)
        large, large_copy = torch.empty(1 << 21, device="cuda"), torch.zeros(1 << 21)
        many = [torch.empty(9, **half) for _ in range(5)]
        made = [base, out, torch.tensor([1, 2], device="cuda"), host.cuda(), host.to("cuda"), base[3:], square.t()]
        say(
            devices=sorted({str(tensor.device) for tensor in made}),
            host=host.tolist(),
            host_sum=float((host * 2).sum()),
            aten=str(aten_only(square, square).shape),
            matmul=str((square @ square).dtype),
            aligned=arguments(add[(1,)](base, base[8:], out, 1000, BLOCK=128)),
            shifted=arguments(add[(1,)](base, base[1:], out, 1000, BLOCK=128)),
            same_storage=base[1:].data_ptr() - base.data_ptr(),
            base=base.data_ptr() % 256,
            empty=torch.empty(0, **half).data_ptr(),
            distinct=len({tensor.data_ptr() for tensor in many}),
        )
        say(
            numpy=catch(lambda: large.cpu().numpy()),
            stale=catch(lambda: large_copy.copy_(large)),
            elapsed=catch(lambda: torch.cuda.Event().elapsed_time(None)),
            graph=catch(lambda: torch.cuda.CUDAGraph()),
            copied=large_copy[:3].tolist(),
            host_pointer=catch(lambda: add[(1,)](base, host.half(), out, 3, BLOCK=128)),
        )
        torch.manual_seed(1234)
        torch.cuda.synchronize()
        with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda.current_stream().synchronize()
        properties = torch.cuda.get_device_properties(0)
        say(
            available=torch.cuda.is_available(),
            count=torch.cuda.device_count(),
            current=torch.cuda.current_device(),
            seed=torch.cuda.initial_seed(),
            capability=torch.cuda.get_device_capability(),
            name=torch.cuda.get_device_name(),
            processors=properties.multi_processor_count,
            shared=properties.shared_memory_per_block_optin,
            memory=torch.cuda.mem_get_info()[1],
            allocated=torch.cuda.memory_allocated(),
        )
        import os
        child = os.fork()
        if child == 0:
            device = str(torch.empty(2, device="cuda").device)
            open(TARGET.replace(":", "_"), "w").write(device)
            os._exit(0)
        os.waitpid(child, 0)
        say(forked=open(TARGET.replace(":", "_")).read())
        files = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd") if number.isdigit()
                 and os.path.exists(f"/proc/self/fd/{number}")]
        say(card_files=[name for name in files if name.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri"))])
        """,
        with_torch=True,
    )


def test_accelerator_tensors_lie_on_the_accelerator(facts):
    assert facts["devices"] == ["cuda:0"]


def test_host_tensors_keep_their_values(facts):
    assert facts["host"] == [0.0, 1.0, 2.0]
    assert facts["host_sum"] == 6.0


def test_an_aten_only_function_runs(facts):
    assert facts["aten"] == "torch.Size([64])"
    assert facts["matmul"] == "torch.float16"


def test_pointer_alignment_is_that_of_storage_and_offset(facts):
    assert facts["aligned"] == [True, True, True]
    assert facts["shifted"] == [True, False, True]
    assert facts["same_storage"] == 2
    assert facts["base"] == 0
    assert facts["empty"] == 0
    assert facts["distinct"] == 5


@pytest.mark.parametrize(
    ("question", "operation"),
    [
        ("numpy", "Tensor.numpy"),
        ("stale", "aten::copy_ to the host"),
        ("elapsed", "torch.cuda.Event.elapsed_time"),
        ("graph", "torch.cuda.CUDAGraph"),
    ],
)
def test_values_are_refused_not_guessed(facts, question, operation):
    assert facts[question].startswith("NeedsDevice: " + operation)


def test_a_refused_write_leaves_the_host_tensor_alone(facts):
    assert facts["copied"] == [0.0, 0.0, 0.0]


def test_a_host_tensor_is_no_kernel_argument(facts):
    """On a card its launch fails; here it must not pass for a launch."""
    assert facts["host_pointer"].startswith("ValueError: Pointer argument (at 1)")


def test_torch_cuda_answers_from_the_same_table(facts):
    assert facts["available"] is True
    assert (facts["count"], facts["current"], facts["seed"]) == (1, 0, 1234)
    assert facts["capability"] == [9, 0]
    assert facts["name"] == "NVIDIA H200"
    assert (facts["processors"], facts["shared"]) == (132, 232448)
    assert facts["memory"] > facts["allocated"] == 0


def test_no_card_is_opened(facts):
    """Neither by torch nor by Triton, also where the machine has one and torch was built for it."""
    assert facts["card_files"] == []


def test_a_forked_child_keeps_the_device(facts):
    assert facts["forked"] == "cuda:0"


def test_amd_specialises_small_tensors(tmp_path):
    """Buffer operations need the storage size, which Triton asks of the tensor itself."""
    triton = pytest.importorskip("triton")
    if tuple(int(part) for part in triton.__version__.split(".")[:2]) < (3, 4):
        pytest.skip("older Tritons want an installed ROCm linker")
    facts = run(
        tmp_path,
        """
        install(TARGET)
        import torch
        x = torch.randn(1000, device="cuda")
        kernel = add[(1,)](x, x, torch.empty_like(x), 1000, BLOCK=128)
        say(ranged="tt.pointer_range = 32" in kernel.asm["ttir"], buffer="buffer_load" in kernel.asm["amdgcn"])
        say(warp=torch.cuda.get_device_properties(0).warp_size)
        """,
        "hip:gfx942",
        with_torch=True,
    )
    assert facts == {"ranged": True, "buffer": True, "warp": 64}
