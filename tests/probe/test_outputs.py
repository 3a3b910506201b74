"""Sampling what a row's call returned. A tensor of the host stands in for the device's: `simulated_device_tensor`."""

import collections
import hashlib
import math
import random
import struct

import pytest
from zl_probe import wire
from zl_probe.outputs import (
    BLOCK_BYTES,
    BLOCKS,
    LONGEST_REASON,
    OUTPUTS,
    TENSOR_BYTES,
    CanNotSample,
    Outputs,
    pick,
    plan_blocks,
)
from zl_probe.recorder import Recorder

KEY = {"node": "t.py::t", "operator": "add", "dtype": "float32", "ordinal": 0, "detail": "64"}
DTYPES = [
    "float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e8m0fnu", "float4_e2m1fn_x2", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
    "complex32", "complex64", "complex128",
]  # fmt: skip


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs torch")


@pytest.fixture
def recorded(tmp_path):
    """Records one value; gives the event and what the files hold, output by output."""
    outputs = Outputs(Recorder(str(tmp_path)), str(tmp_path))

    def record(value):
        outputs.record(KEY, value)
        event = list(wire.read_events(str(tmp_path / wire.EVENTS_FILE)))[-1]
        contents = [(tmp_path / tensor["file"]).read_bytes() for tensor in event["tensors"]]
        for tensor, content in zip(event["tensors"], contents, strict=True):
            assert tensor["sha256"] == hashlib.sha256(content).hexdigest()
            assert tensor["file"] == f"outputs/{tensor['sha256']}.bin"
        return event, contents

    return record


def simulated_device_tensor(torch, shape, dtype="int32"):
    """Elements 0, 1, 2 … so that a sample tells which ones it took."""
    return torch.arange(math.prod(shape), dtype=getattr(torch, dtype)).reshape(shape)


def numbers(content):
    return struct.unpack(f"<{len(content) // 4}i", content)


def test_a_small_tensor_is_kept_whole(torch, recorded):
    event, (content,) = recorded(simulated_device_tensor(torch, (3, 5)))
    (tensor,) = event["tensors"]
    assert {name: event[name] for name in KEY} == KEY
    assert (event["event"], event["reason"]) == ("outputs", "")
    assert (tensor["dtype"], tensor["shape"], tensor["elements"], tensor["of"]) == ("int32", [3, 5], 15, 15)
    assert "strides" not in tensor
    assert numbers(content) == tuple(range(15))


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_is_kept_byte_for_byte(torch, recorded, dtype):
    if not hasattr(torch, dtype):
        pytest.skip(f"torch {torch.__version__} has no {dtype}")
    raw = bytes(range(256)) if dtype != "bool" else bytes([0, 1] * 128)
    values = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(getattr(torch, dtype))
    event, (content,) = recorded(values)
    assert event["reason"] == ""
    assert event["tensors"][0]["dtype"] == dtype
    assert event["tensors"][0]["elements"] == 256 // values.element_size()
    assert content == raw


@pytest.mark.parametrize("dtype", ["int8", "int32", "complex128"])
def test_a_huge_tensor_is_kept_in_blocks_from_its_start_to_its_end(torch, recorded, dtype):
    values = simulated_device_tensor(torch, (1_000_000,), "int32").to(getattr(torch, dtype))
    event, (content,) = recorded(values)
    (tensor,) = event["tensors"]
    size = values.element_size()
    assert len(content) == TENSOR_BYTES
    assert (tensor["elements"], tensor["of"]) == (TENSOR_BYTES // size, 1_000_000)
    block = BLOCK_BYTES // size
    starts = [number * (1_000_000 - block) // (BLOCKS - 1) for number in range(BLOCKS)]
    assert (starts[0], starts[-1]) == (0, 1_000_000 - block)
    expected = torch.cat([values[start : start + block] for start in starts])
    assert content == bytes(expected.view(torch.uint8).tolist())


def test_an_empty_tensor_is_an_output_with_nothing_in_it(torch, recorded):
    event, (content,) = recorded(torch.empty(0, 7))
    assert content == b""
    assert (event["tensors"][0]["shape"], event["tensors"][0]["of"], event["reason"]) == ([0, 7], 0, "")


def test_a_scalar_tensor(torch, recorded):
    event, (content,) = recorded(torch.tensor(7, dtype=torch.int32))
    assert (event["tensors"][0]["shape"], numbers(content)) == ([], (7,))


def test_a_view_that_starts_within_its_storage(torch, recorded):
    _, (content,) = recorded(simulated_device_tensor(torch, (4, 5))[2:])
    assert numbers(content) == tuple(range(10, 20))


@pytest.mark.parametrize(
    ("view", "expected"),
    [
        (lambda t: t.t(), list(range(24))),
        (lambda t: t[:, ::2], [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22]),
        (lambda t: t[:, 1], [1, 7, 13, 19]),
        (lambda t: t[:, 1:3], [1, 2, 7, 8, 13, 14, 19, 20]),
        (lambda t: t.reshape(2, 2, 6).permute(2, 0, 1)[::3], [0, 3, 6, 9, 12, 15, 18, 21]),
        (lambda t: t[1:2, :3].expand(5, 3), [6, 7, 8]),
    ],
)
def test_a_tensor_that_is_not_contiguous_is_kept_in_the_order_of_its_memory(torch, recorded, view, expected):
    values = view(simulated_device_tensor(torch, (4, 6)))
    event, (content,) = recorded(values)
    (tensor,) = event["tensors"]
    assert sorted(numbers(content)) == expected == list(numbers(content))
    assert tensor["elements"] == len(expected)
    assert (tensor["of"], tensor["strides"]) == (values.numel(), list(values.stride()))


def test_a_large_tensor_that_is_not_contiguous_is_kept_in_blocks(torch, recorded):
    values = simulated_device_tensor(torch, (512, 3000))[:, :1000]
    event, (content,) = recorded(values)
    found = numbers(content)
    assert event["tensors"][0]["elements"] == len(found) == len(set(found))
    assert 0 < len(content) <= TENSOR_BYTES
    assert all(number % 3000 < 1000 for number in found)
    assert (found[0], found[-1]) == (0, 511 * 3000 + 999)


def test_elements_that_share_memory_are_not_sampled(torch, recorded):
    event, contents = recorded(simulated_device_tensor(torch, (100,)).unfold(0, 50, 1))
    assert contents == []
    assert event["reason"] == "1 of 1 outputs not sampled: a tensor whose elements share memory"


def test_outputs_are_found_in_nested_tuples_lists_and_dicts(torch, recorded):
    pair = collections.namedtuple("pair", "values indices")
    one, two, three = (torch.full((2,), number, dtype=torch.int32) for number in (1, 2, 3))
    event, contents = recorded([pair(one, None), {"b": two, "a": ("text", [three])}, True, 5, 0.5, 1j])
    assert [numbers(content)[0] for content in contents[:3]] == [1, 2, 3]
    assert [tensor["dtype"] for tensor in event["tensors"]] == ["int32"] * 3 + [
        "bool", "int64", "float64", "complex128",
    ]  # fmt: skip
    assert contents[3:] == [b"\1", struct.pack("<q", 5), struct.pack("<d", 0.5), struct.pack("<2d", 0, 1)]


def test_a_container_that_holds_itself(torch, recorded):
    loop = [simulated_device_tensor(torch, (2,))]
    loop.append(loop)
    assert len(recorded(loop)[1]) == 1


@pytest.mark.parametrize("value", [None, "text", (), [None, {}]])
def test_a_call_that_returns_nothing_to_compare(recorded, value):
    event, contents = recorded(value)
    assert contents == []
    assert event["reason"] == f"the call returned no tensor and no number, but {type(value).__name__}"


def test_an_integer_that_no_dtype_holds(recorded):
    event, contents = recorded((2**63, -(2**63)))
    assert contents == [struct.pack("<q", -(2**63))]
    assert event["reason"] == "1 of 2 outputs not sampled: an integer of more than 64 bits"


def test_only_so_many_outputs_are_kept_and_that_is_said(torch, recorded):
    event, contents = recorded([simulated_device_tensor(torch, (40_000,))] * (OUTPUTS + 4))
    assert len(contents) == OUTPUTS
    assert sum(map(len, contents)) <= 1024 * 1024
    assert event["reason"] == f"4 of {OUTPUTS + 4} outputs not sampled: more than {OUTPUTS}"


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("sparse", "layout torch.sparse_coo"),
        ("csr", "layout torch.sparse_csr"),
        ("meta", "a tensor without values (meta)"),
        ("quantised", "a quantised tensor"),
        ("conjugate", "a lazily conjugated or negated view"),
        ("negated", "a lazily conjugated or negated view"),
        ("nested", "a nested tensor"),
        ("subclass", "a tensor of class Odd"),
        ("fake", "a tensor of class FakeTensor"),
    ],
)
def test_kinds_without_plain_memory_are_named_and_the_others_are_kept(torch, recorded, kind, reason):
    from torch._subclasses.fake_tensor import FakeTensorMode

    class Odd(torch.Tensor):
        pass

    whole = torch.eye(3)
    made = {
        "sparse": whole.to_sparse,
        "csr": whole.to_sparse_csr,
        "meta": lambda: torch.empty(3, device="meta"),
        "quantised": lambda: torch.quantize_per_tensor(whole, 0.1, 0, torch.qint8),
        "conjugate": lambda: torch.ones(3, dtype=torch.complex64).conj(),
        "negated": lambda: torch.ones(3, dtype=torch.complex64).conj().imag,
        "nested": lambda: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        "subclass": lambda: whole.as_subclass(Odd),
        "fake": lambda: FakeTensorMode().from_tensor(whole),
    }[kind]()
    event, contents = recorded((made, simulated_device_tensor(torch, (2,))))
    assert event["reason"] == f"1 of 2 outputs not sampled: {reason}"
    assert [numbers(content) for content in contents] == [(0, 1)]


def test_gradients_parameters_and_inference_are_no_obstacle(torch, recorded):
    leaf = torch.arange(4.0, requires_grad=True)
    with torch.inference_mode():
        inferred = torch.arange(4.0)
    result = leaf * 2
    event, contents = recorded((leaf, result, torch.nn.Parameter(torch.arange(4.0)), inferred))
    assert event["reason"] == ""
    assert [struct.unpack("<4f", content)[3] for content in contents] == [3.0, 6.0, 3.0, 3.0]
    result.sum().backward()  # the graph is as it was
    assert leaf.grad.tolist() == [2.0] * 4


def test_a_default_device_does_not_catch_the_copy(torch, recorded):
    values = simulated_device_tensor(torch, (4,))
    torch.set_default_device("meta")
    try:
        _, (content,) = recorded(values)
    finally:
        torch.set_default_device(None)
    assert numbers(content) == (0, 1, 2, 3)


def test_what_torch_can_not_copy_fails_no_row(torch, recorded):
    gone = simulated_device_tensor(torch, (4,))
    gone.untyped_storage().resize_(0)
    event, contents = recorded((simulated_device_tensor(torch, (2,)), gone))
    assert contents == []
    assert event["reason"].startswith("RuntimeError: ")
    assert "\n" not in event["reason"]
    assert len(event["reason"]) <= LONGEST_REASON


def test_a_full_disk_ends_the_run_visibly(torch, tmp_path):
    (tmp_path / wire.OUTPUTS_FOLDER).write_text("in the way")
    outputs = Outputs(Recorder(str(tmp_path)), str(tmp_path))
    with pytest.raises(OSError, match=wire.OUTPUTS_FOLDER):
        outputs.record(KEY, torch.ones(2))


def test_equal_samples_are_one_file(torch, recorded, tmp_path):
    recorded([torch.ones(3), torch.ones(3), torch.zeros(3)])
    recorded(torch.ones(3))
    assert len(list((tmp_path / wire.OUTPUTS_FOLDER).iterdir())) == 2


def test_the_device_sees_views_and_plain_copies_only(torch, recorded):
    """Anything else could be a kernel of the suite's library, which would be compiled and launched for the sample."""
    from torch.utils._python_dispatch import TorchDispatchMode

    copies = []

    class SimulatedLibrary(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert func.name() in ("aten::detach", "aten::as_strided", "aten::view.dtype", "aten::copy_")
            if func.name() == "aten::copy_":
                to, source = args[:2]
                assert to.is_contiguous() and source.is_contiguous()
                assert to.dtype == source.dtype == torch.uint8
                copies.append(source.numel())
            return func(*args, **(kwargs or {}))

    values = simulated_device_tensor(torch, (512, 3000))
    returned = (values, values.t(), values[:, ::7], values[:3, :3], values.float().requires_grad_(), values[0:0])
    before = torch.get_rng_state()
    with SimulatedLibrary():
        event, _ = recorded(returned)
    assert len(event["tensors"]) == len(returned)
    assert copies
    assert max(copies) <= TENSOR_BYTES
    assert torch.equal(torch.get_rng_state(), before)


def test_what_runs_on_other_streams_is_awaited(torch, recorded, monkeypatch):
    class SimulatedDevice:
        waited = 0

        def synchronize(self):
            self.waited += 1

    class SimulatedDeviceType:
        type = "privateuseone"

    device = SimulatedDevice()
    monkeypatch.setattr(torch, "privateuseone", device, raising=False)
    monkeypatch.setattr(torch.Tensor, "device", SimulatedDeviceType())
    _, contents = recorded(simulated_device_tensor(torch, (2,)))
    assert (len(contents), device.waited) == (1, 1)


def test_a_plan_keeps_to_the_limits_and_within_the_tensor():
    """Random shapes and orders of memory, with gaps: every block lies in the tensor, holds only its elements, and fits."""
    chance = random.Random(7)
    for _ in range(2000):
        shape = [chance.choice([1, 2, 3, 7, 64, 1000, 70_000]) for _ in range(chance.randint(0, 4))]
        order = chance.sample(range(len(shape)), len(shape))
        strides, step = [0] * len(shape), chance.choice([1, 1, 1, 2, 5])
        for place in order:
            strides[place] = step
            step *= shape[place] + chance.choice([0, 0, 0, 1, 9])
        size = chance.choice([1, 2, 4, 8, 16])
        end = sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
        blocks = plan_blocks(shape, strides, size)
        assert blocks[0].start == 0
        assert blocks[-1].start + blocks[-1].span - 1 == end
        assert len(blocks) <= BLOCKS
        assert sum(block.span for block in blocks) * size <= TENSOR_BYTES
        assert all(block.elements == len(pick(bytes(block.span), block.dimensions, 1)) for block in blocks)
        if (end + 1) * size <= TENSOR_BYTES:
            assert [block.elements for block in blocks] == [math.prod(shape)]


def test_a_plan_refuses_overlap_at_any_depth():
    for shape, strides in [([2, 1000, 1000], [10**9, 1, 1]), ([5, 5], [3, 1]), ([2, 2], [1, 1])]:
        with pytest.raises(CanNotSample, match="share memory"):
            plan_blocks(shape, strides, 4)
