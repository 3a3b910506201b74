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
            distances=sorted({two.data_ptr() - one.data_ptr() for one, two in zip(many, many[1:])}),
            reused=len({torch.empty(9, **half).data_ptr() for _ in range(50)}),
            kept=[tensor.data_ptr() for tensor in many] == [tensor.view(3, 3).data_ptr() for tensor in many],
            moved=many[0].data_ptr() != many[0].resize_(1 << 20).data_ptr(),
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


def test_addresses_follow_from_the_program_alone(facts):
    """A suite that compares addresses must find the same on both sides: a dead tensor's address never comes back."""
    assert facts["distances"] == [512]
    assert facts["reused"] == 50
    assert facts["kept"] is True
    assert facts["moved"] is True


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


@pytest.fixture(scope="module")
def vendor(tmp_path_factory):
    """What must come out alike whether torch was built for CUDA or for the host alone."""
    return run(
        tmp_path_factory.mktemp("vendor"),
        """
        install(TARGET)
        import torch, torch.nn.functional as F

        def called(function):
            take_operations()
            result = function()
            return [name for name, how in take_operations().items() if how != "view"], result

        def trained(kind, dtype=torch.float16, **options):
            network = kind(8, 16, batch_first=True, **options).to(device="cuda", dtype=dtype)
            data = torch.randn(2, 4, 8, device="cuda", dtype=dtype)
            forward, output = called(lambda: network(data)[0])
            backward, _ = called(lambda: output.sum().backward())
            weights = network._flat_weights
            return {
                "shape": list(output.shape), "stride": list(output.stride()),
                "forward": forward, "backward": backward,
                "storages": len({weight.untyped_storage().data_ptr() for weight in weights}),
                "aligned": all(weight.data_ptr() % 16 == 0 for weight in weights),
                "gradients": [list(weight.grad.shape) for weight in weights] == [list(w.shape) for w in weights],
            }

        say(
            lstm=trained(torch.nn.LSTM),
            deep=trained(torch.nn.LSTM, torch.float32, num_layers=2, bidirectional=True, proj_size=8),
            gru=trained(torch.nn.GRU),
            relu=trained(torch.nn.RNN, nonlinearity="relu"),
            odd=catch(lambda: torch.nn.RNN(8, 17).to("cuda")),
        )
        loose = [torch.randn(shape, device="cuda") for shape in ((16, 8), (16, 16), (16,), (16,))]
        sequence, state = torch.randn(4, 2, 8, device="cuda"), torch.randn(1, 2, 16, device="cuda")
        recurrent = lambda: torch.rnn_tanh(sequence, state, loose, True, 1, 0.0, False, False, False)
        say(loose=called(recurrent)[0])
        with torch.backends.cudnn.flags(enabled=False):
            say(without=called(recurrent)[0])

        image = torch.randn(4, 8, 16, 16, device="cuda")
        last, kernel = image.to(memory_format=torch.channels_last), torch.randn(8, 8, 3, 3, device="cuda")
        ones, zeros, grid = torch.ones(8, device="cuda"), torch.zeros(8, device="cuda"), torch.randn(4, 5, 5, 2, device="cuda")
        say(
            batch_norm=called(lambda: F.batch_norm(image, zeros, ones, ones, zeros))[0],
            plain_batch_norm=called(lambda: F.batch_norm(image, None, None, training=True))[0],
            grid=called(lambda: F.grid_sample(image, grid, align_corners=True))[0],
            other_grid=called(lambda: F.grid_sample(image, grid, align_corners=False))[0],
            convolution=list(F.conv2d(last, kernel).stride()),
            dense_weight="aten::copy_" in called(lambda: F.conv2d(last, kernel))[0],
            double=list(F.conv2d(last.double(), kernel.double()).stride()),
            choice=catch(lambda: torch._fused_sdp_choice(image, image, image)),
        )
        say(
            number=str(torch.ones(3).cuda(0).device),
            pinned=torch.ops.aten.empty.memory_format([3], pin_memory=True).numel(),
            recorded=image.record_stream(torch.cuda.current_stream()),
            raw_stream=torch._C._cuda_getCurrentRawStream(0),
            built=torch.backends.cuda.is_built(),
            mark=torch.cuda.nvtx.range_push("a"),
            stream=[torch.Stream("cuda").query(), isinstance(torch.cuda.current_stream(), torch.Stream)],
        )
        refused = {
            "torch.cuda.utilization": torch.cuda.utilization,
            "torch.cuda.cudart": torch.cuda.cudart,
            "torch.cuda.current_blas_handle": torch.cuda.current_blas_handle,
            "torch.to_dlpack": lambda: torch.to_dlpack(image),
            "Tensor.__cuda_array_interface__": lambda: image.__cuda_array_interface__,
        }
        say(refused={name: catch(call) for name, call in refused.items()})

        def fails(message):
            def relu(tensor):
                raise RuntimeError(message)
            return relu

        cardless = "CUDA error: no CUDA-capable device is detected", "Found no NVIDIA driver on your system."
        named = {}
        for message in (*cardless, "an error of the library's own"):
            library = torch.library.Library("aten", "IMPL")
            library.impl("relu", fails(message), "CUDA")
            named[message] = catch(lambda: torch.relu(image))
            library._destroy()
        say(named=named)
        """,
        with_torch=True,
    )


@pytest.mark.parametrize("network", ["lstm", "deep", "gru", "relu"])
def test_recurrent_networks_are_cudnns(vendor, network):
    seen = vendor[network]
    assert seen["shape"][:2] == [2, 4]
    assert seen["stride"][0] < seen["stride"][1]
    assert "aten::_cudnn_rnn" in seen["forward"]
    assert not any(name.endswith(".input") for name in seen["forward"])
    assert "aten::_cudnn_rnn_backward" in seen["backward"]
    assert seen["gradients"]


@pytest.mark.parametrize("network", ["lstm", "deep", "gru", "relu"])
def test_weights_of_a_recurrent_network_lie_in_one_buffer(vendor, network):
    assert vendor[network]["storages"] == 1
    assert vendor[network]["aligned"]


def test_a_buffer_whose_layout_matters_is_refused(vendor):
    assert vendor["odd"].startswith("NeedsDevice: aten::_cudnn_rnn_flatten_weight")


def test_loose_weights_are_copied_into_one_buffer(vendor):
    assert {"aten::copy_", "aten::fill_.Scalar", "aten::_cudnn_rnn"} <= set(vendor["loose"])


def test_without_cudnn_a_recurrent_network_is_made_of_cells(vendor):
    assert "aten::tanh" in vendor["without"]
    assert "aten::_cudnn_rnn" not in vendor["without"]


def test_normalisation_and_sampling_are_cudnns_where_it_takes_them(vendor):
    assert "aten::cudnn_batch_norm" in vendor["batch_norm"]
    assert "aten::native_batch_norm" in vendor["plain_batch_norm"]
    assert "aten::cudnn_grid_sampler" in vendor["grid"]
    assert "aten::grid_sampler_2d" in vendor["other_grid"]


def test_a_convolution_keeps_channels_last(vendor):
    assert vendor["convolution"] == [1568, 1, 112, 8]
    assert vendor["dense_weight"]
    assert vendor["double"] == [1568, 196, 14, 1]


def test_the_choice_of_an_attention_kernel_is_refused(vendor):
    assert vendor["choice"].startswith("NeedsDevice: aten::_fused_sdp_choice")


def test_what_asks_for_a_card_past_the_dispatcher_is_answered(vendor):
    assert vendor["number"] == "cuda:0"
    assert vendor["pinned"] == 3
    assert vendor["recorded"] is None
    assert (vendor["raw_stream"], vendor["built"], vendor["mark"]) == (0, True, 0)
    assert vendor["stream"] == [True, True]


def test_what_can_not_be_answered_names_itself(vendor):
    assert {name: text.split(" needs ")[0] for name, text in vendor["refused"].items()} == {
        name: f"NeedsDevice: {name}" for name in vendor["refused"]
    }


def test_an_error_about_a_missing_card_names_the_operator(vendor):
    *cardless, own = vendor["named"]
    for message in cardless:
        assert vendor["named"][message].startswith("NeedsDevice: aten::relu needs a device")
        assert message in vendor["named"][message]
    assert vendor["named"][own] == "RuntimeError: an error of the library's own"
