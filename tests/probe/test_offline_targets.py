"""Target texts, without a device, torch or a compile."""

import pytest
from zl_probe.offline import FakePointer, NeedsDevice, TargetError, parse_target


@pytest.mark.parametrize(
    ("text", "backend", "arch", "warp_size", "shared"),
    [
        ("cuda:80", "cuda", 80, 32, 166912),
        ("cuda:90", "cuda", 90, 32, 232448),
        ("cuda:100", "cuda", 100, 32, 232448),
        ("hip:gfx942", "hip", "gfx942", 64, 65536),
        ("hip:gfx950", "hip", "gfx950", 64, 163840),
        ("hip:gfx1100", "hip", "gfx1100", 32, 65536),
    ],
)
def test_known_targets(text, backend, arch, warp_size, shared):
    target = parse_target(text)
    assert (target.backend, target.arch, target.warp_size) == (backend, arch, warp_size)
    assert target.limits.max_shared_mem == shared
    assert str(target) == text


@pytest.mark.parametrize(
    "text", ["", "cuda", "cuda:", ":90", "cuda:12345", "cuda:sm_90", "cuda:９０", "hip:942", "nobody:1", "nobody:1:32"]
)
def test_unknown_targets_are_value_errors_that_name_the_text(text):
    with pytest.raises(ValueError, match=r"target|known|back end") as caught:
        parse_target(text)
    assert type(caught.value) is TargetError
    assert text.split(":")[0] in str(caught.value)


def test_capability_follows_torch():
    assert parse_target("cuda:90").capability == (9, 0)
    assert parse_target("cuda:100").capability == (10, 0)
    assert parse_target("hip:gfx942").capability == (9, 4)
    assert parse_target("hip:gfx1100").capability == (11, 0)


def test_fake_pointers_are_aligned_apart_and_shifted_by_elements():
    first, second = FakePointer("fp32", (1000,)), FakePointer("fp32", (7, 5), offset=1)
    assert first.data_ptr() % 256 == 0
    assert second.data_ptr() % 256 == 4
    assert second.data_ptr() - first.data_ptr() >= 4000
    assert (second.numel(), second.stride(0), second.stride(1)) == (35, 5, 1)
    assert [FakePointer(name).element_size() for name in ("i1", "fp8e4nv", "bf16", "fp64", "u8")] == [1, 1, 2, 8, 1]


def test_needs_device_carries_its_operation():
    error = NeedsDevice("aten.nonzero.default")
    assert error.operation == "aten.nonzero.default"
    assert "aten.nonzero.default" in str(error)
