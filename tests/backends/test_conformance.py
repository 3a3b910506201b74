"""What every backend must hold to, those of third parties included."""

from __future__ import annotations

import ast
import importlib
import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

import zl_bench
from zl_bench.backends import vendors
from zl_bench.backends.base import CAPABILITIES, DeviceBackend, Standing
from zl_bench.backends.vendors import BACKENDS, all_backends, backend_named, backend_of_environment, registered
from zl_bench.errors import UsageError
from zl_bench.ir.stages import StageKind, stage_kind
from zl_bench.running.switch import VARIABLE

PROJECT = Path(__file__).resolve().parents[2]
FLAGGEMS_VENDORS = {
    "nvidia",
    "amd",
    "mthreads",
    "ascend",
    "cambricon",
    "metax",
    "hygon",
    "iluvatar",
    "kunlunxin",
    "tsingmicro",
    "sunrise",
    "enflame",
    "thead",
    "aipu",
    "arm",
    "spacemit",
}
every_backend = pytest.mark.parametrize("backend", all_backends(), ids=lambda backend: backend.name)


def test_every_vendor_of_flaggems_has_a_backend() -> None:
    assert {backend.name for backend in BACKENDS} == FLAGGEMS_VENDORS
    assert len(BACKENDS) == len(FLAGGEMS_VENDORS)


@every_backend
def test_names_are_what_they_must_be(backend: DeviceBackend) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]*", backend.name)
    assert backend.segment is None or re.fullmatch(r"[A-Z0-9_]*", backend.segment)
    assert backend.torch_device
    assert backend.dispatch_key in (backend.torch_device.upper(), "PrivateUse1")
    assert all(re.fullmatch(r"[a-z0-9_]+", kind) for kind in backend.target_kinds)
    for variable in (*backend.mask_variables, *backend.selected_by, *backend.environment):
        assert VARIABLE.fullmatch(variable)
    assert backend.environment == {"GEMS_VENDOR": backend.name}


@every_backend
def test_a_device_without_a_mask_is_a_processor_or_said_to_be_unknown(backend: DeviceBackend) -> None:
    assert backend.mask_variables or backend.torch_device == "cpu" or backend.name == "aipu"


@every_backend
def test_the_criterion_is_a_stage_that_can_be_normalised(backend: DeviceBackend) -> None:
    assert stage_kind(backend.criterion_stage) is StageKind.MLIR


@every_backend
def test_a_status_that_is_read_has_a_command_and_nonsense_has_no_cards(backend: DeviceBackend) -> None:
    if backend.read_status is None:
        return
    assert backend.status_command
    for text in ("", "command not found", "{", "{}", "[]", '{"card0": 1}', "1, 2", "\x00\xff", "MiB / MiB"):
        assert backend.read_status(text) == ()


@every_backend
def test_lists_that_are_read_have_a_command_and_nonsense_has_nothing_in_it(backend: DeviceBackend) -> None:
    for command, reader in (
        (backend.list_command, backend.read_list),
        (backend.processes_command, backend.read_processes),
    ):
        assert bool(command) == (reader is not None)
        for text in ("", "No devices were found", "{}", "1, 2", ",,,,", "a, b, c, d", "\x00\xff") if reader else ():
            assert reader is not None
            assert reader(text) == ()


@every_backend
def test_graph_is_the_default_only_where_graphs_are_not_said_to_be_missing(backend: DeviceBackend) -> None:
    assert backend.default_timing in ("graph", "direct")
    assert backend.default_timing != "graph" or "graphs" not in backend.timing_lacks


def test_graph_is_the_default_where_cards_are_known_to_bear_it() -> None:
    """R12. Measured on an H200; replay is reported to wedge on cards of others."""
    assert [backend.name for backend in BACKENDS if backend.default_timing == "graph"] == ["nvidia"]


@every_backend
def test_inner_masks_leave_a_mask_to_choose_a_card_by(backend: DeviceBackend) -> None:
    assert set(backend.inner_masks) <= set(backend.mask_variables)
    assert len(backend.inner_masks) < len(backend.mask_variables) or not backend.mask_variables
    if backend.number_order is not None:
        assert VARIABLE.fullmatch(backend.number_order[0])


@every_backend
def test_capabilities_claim_no_more_than_stands_behind_them(backend: DeviceBackend) -> None:
    """`run` names a result that this project holds, `simulated` a test; what is unknown has nothing to show."""
    assert set(backend.capabilities) <= set(CAPABILITIES)
    for capability in CAPABILITIES:
        evidence = backend.evidence(capability)
        if evidence.standing is Standing.UNKNOWN:
            assert not evidence.by
            continue
        folder = "benchmarks/results/" if evidence.standing is Standing.RUN else "tests/"
        assert evidence.by.startswith(folder)
        assert (PROJECT / evidence.by).is_file()


@every_backend
def test_compat_plugins_are_probe_modules_with_the_entry_that_the_probe_calls(backend: DeviceBackend) -> None:
    for name in backend.compat_plugins:
        assert name.startswith("zl_probe.")
        assert callable(importlib.import_module("zl_bench.inside." + name).compat_plugin)
    assert bool(backend.skip_overrides) <= bool(backend.compat_plugins)


def test_only_moore_threads_has_compat_plugins() -> None:
    assert [backend.name for backend in BACKENDS if backend.compat_plugins or backend.skip_overrides] == ["mthreads"]


@every_backend
def test_options_are_renamed_and_nothing_else(backend: DeviceBackend) -> None:
    arguments = ("-c", "/x/pytest.ini", "--level", "core", "--mode", "kernel", "--mode=operator", "--modes")
    name = "--fg_mode" if backend.name == "kunlunxin" else "--mode"
    assert backend.named_options(arguments) == (*arguments[:4], name, "kernel", f"{name}=operator", "--modes")


def test_nothing_outside_the_backends_tests_a_vendor_s_name() -> None:
    """R9. Documentation and examples may name one; a comparison or a dictionary of names may not."""
    source = Path(zl_bench.__file__).parent
    offenders = []
    for file in source.rglob("*.py"):
        if file.is_relative_to(source / "backends") or file.is_relative_to(source / "inside" / "zl_probe" / "compat"):
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            compared = [node.left, *node.comparators] if isinstance(node, ast.Compare) else []
            compared += [key for key in node.keys if key] if isinstance(node, ast.Dict) else []
            for value in compared:
                if any(isinstance(part, ast.Constant) and part.value in FLAGGEMS_VENDORS for part in ast.walk(value)):
                    offenders.append(f"{file.relative_to(source)}:{node.lineno}")
    assert offenders == []


@pytest.mark.parametrize(
    ("environment", "vendor"),
    [
        ({"GEMS_VENDOR": "mthreads"}, "mthreads"),
        ({"FLAGGEMS_BACKEND": "METAX"}, "metax"),
        ({"FLAGGEMS_VENDOR": "amd", "GEMS_VENDOR": "nvidia"}, "nvidia"),
        ({"PPU_SDK": "", "GEMS_VENDOR": "nvidia"}, "thead"),
    ],
)
def test_the_vendor_that_flaggems_would_take(environment: dict[str, str], vendor: str) -> None:
    assert backend_of_environment(environment) is backend_named(vendor)


def test_without_a_word_from_the_environment_there_is_no_vendor() -> None:
    assert backend_of_environment({"PATH": "/bin"}) is None
    with pytest.raises(UsageError, match="no vendor 'acme'"):
        backend_of_environment({"GEMS_VENDOR": "Acme"})


ACME = DeviceBackend(name="acme", segment="ACME", target_kinds=("acme",))
NAMESAKE = DeviceBackend(name="nvidia", segment="")
RIVAL = DeviceBackend(name="rival", segment="", target_kinds=("musa",))
NO_BACKEND = "acme"


def point(value: str) -> EntryPoint:
    return EntryPoint("acme", f"{__name__}:{value}", vendors.ENTRY_POINTS)


def test_a_third_party_registers_a_backend_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vendors, "entry_points", lambda group: [point("ACME")] if group == "zl_bench.backends" else [])
    assert vendors.backend_named("acme") is ACME
    assert vendors.backend_for_target("acme:1") is ACME
    assert vendors.all_backends() == (*BACKENDS, ACME)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["NAMESAKE"], "share 'nvidia'"),
        (["RIVAL"], "'rival' of entry point .* and 'mthreads' share 'musa'"),
        (["ACME", "ACME"], "share 'acme'"),
        (["NO_BACKEND"], "is no DeviceBackend but a str"),
        (["NOWHERE"], "can not be loaded"),
    ],
)
def test_a_third_party_can_not_take_over_or_break_the_tool(values: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        registered([point(value) for value in values])


def test_a_third_party_whose_module_is_missing() -> None:
    with pytest.raises(UsageError, match="can not be loaded"):
        registered([EntryPoint("gone", "no_such_module_here:BACKEND", vendors.ENTRY_POINTS)])
