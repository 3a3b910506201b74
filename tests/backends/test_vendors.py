"""The table of vendors."""

from __future__ import annotations

import pytest

from zl_bench.backends.vendors import BACKENDS, backend_for_target, backend_named
from zl_bench.errors import UsageError
from zl_bench.running.switch import with_vendor

RLC = "FLAGTREE_{VENDOR}_RLC_ENHANCE"


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_every_vendor_is_found_by_name_and_by_its_targets(backend) -> None:
    assert backend_named(backend.name) is backend
    for kind in backend.target_kinds:
        assert backend_for_target(f"{kind}:1") is backend
        assert backend_for_target(kind) is backend


def test_no_two_vendors_share_a_name_or_a_target_kind() -> None:
    names = [backend.name for backend in BACKENDS]
    kinds = [kind for backend in BACKENDS for kind in backend.target_kinds]
    assert len(set(names)) == len(names)
    assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("vendor", "expected"), [("nvidia", "FLAGTREE_RLC_ENHANCE"), ("mthreads", "FLAGTREE_MUSA_RLC_ENHANCE")]
)
def test_one_command_line_serves_every_vendor(vendor: str, expected: str) -> None:
    assert with_vendor(RLC, backend_named(vendor).segment) == expected


def test_no_two_known_segments_give_one_switch() -> None:
    switches = [with_vendor(RLC, backend.segment) for backend in BACKENDS if backend.segment is not None]
    assert len(set(switches)) == len(switches)


def test_a_segment_that_nobody_told_is_not_guessed() -> None:
    assert backend_named("amd").segment is None
    with pytest.raises(UsageError, match="--vendor-segment"):
        with_vendor(RLC, backend_named("amd").segment)


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942", "musa:31"])
def test_a_compile_only_run_can_hide_the_target_s_cards(target: str) -> None:
    assert backend_for_target(target).mask_variables


def test_compat_plugins_do_not_leak_to_other_vendors() -> None:
    assert backend_named("nvidia").compat_plugins == ()


@pytest.mark.parametrize("target", ["", ":", "90", "CUDA:90", "cud:90", "cuda90", " cuda:90"])
def test_an_unknown_target_kind(target: str) -> None:
    with pytest.raises(UsageError, match="Known target kinds: cuda, hip") as error:
        backend_for_target(target)
    assert "cuda:90" in str(error.value)


@pytest.mark.parametrize("name", ["", "NVIDIA", "intel"])
def test_an_unknown_vendor(name: str) -> None:
    with pytest.raises(UsageError, match="Known vendors: nvidia, amd"):
        backend_named(name)
