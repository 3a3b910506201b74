"""What of a backend reaches a run: compat plugins before anything else, and of no other backend (R10)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import BACKENDS, backend_named
from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.switch import parse_switch
from zl_bench.suites.base import Entry, Suite
from zl_bench.suites.base import TestNode as Node
from zl_bench.workflow.pair import PairSettings, screen_operator

NODE = "benchmark/test_fft.py::test_perf_fft"


class RecordingServers:
    """Servers whose runs end at once without having done anything."""

    def __init__(self) -> None:
        self.plans = {side: SimpleNamespace(environment={}) for side in ("before", "after")}
        self.inputs: dict[str, dict] = {}

    async def run(self, side: Side, input_file: Path, timeout: float) -> ProcessOutcome:
        self.inputs[side] = json.loads(input_file.read_text())
        return ProcessOutcome("exited", 0)


def planned(root: Path, backend: DeviceBackend, dtype: str | None = None, option: str | None = None) -> dict[str, dict]:
    """The input.json of both sides of a pair on that backend."""
    suite = Suite("any", root, (Node(NODE, "fft"),), pytest_args=("--mode", "kernel"), dtype_option=option)
    settings = PairSettings(
        root=root / "runs",
        suite=suite,
        switch=parse_switch("A"),
        target="cuda:90",
        stages="all",
        configs="first",
        criterion="ttgir",
        timeout=1,
        self_check=False,
        backend=backend,
    )
    servers = RecordingServers()
    asyncio.run(screen_operator(Entry("fft", dtype, (NODE,)), settings, servers, None))  # type: ignore[arg-type]
    return servers.inputs


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: backend.name)
def test_both_sides_get_the_backend_s_compat_plugins_and_no_other_s(tmp_path: Path, backend: DeviceBackend) -> None:
    inputs = planned(tmp_path, backend)
    assert set(inputs) == {"before", "after"}
    for given in inputs.values():
        assert given.get("compat_plugins", []) == list(backend.compat_plugins)
        assert given["pytest_args"] == ["--fg_mode" if backend.name == "kunlunxin" else "--mode", "kernel"]


def test_moore_threads_plans_its_plugin_alone() -> None:
    assert backend_named("mthreads").compat_plugins == ("zl_probe.compat.mthreads",)


def test_a_suite_s_dtype_option_is_passed_only_when_a_dtype_is_asked_for(tmp_path: Path) -> None:
    nvidia = backend_named("nvidia")
    asked = planned(tmp_path / "asked", nvidia, "complex64", "--dtypes")["after"]
    assert asked["pytest_args"][-2:] == ["--dtypes", "complex64"]
    assert (asked["dtype"], asked["dtype_by"]) == ("complex64", "option")
    own = planned(tmp_path / "own", nvidia, None, "--dtypes")["after"]
    assert "--dtypes" not in own["pytest_args"]
    by_parameter = planned(tmp_path / "parameter", nvidia, "complex64")["after"]
    assert "--dtypes" not in by_parameter["pytest_args"]
    assert "dtype_by" not in by_parameter
