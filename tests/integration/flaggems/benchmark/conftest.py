"""The options of FlagGems' benchmarks and the one configuration that all of them share."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flag_gems
import pytest
import torch

from . import consts

SHAPES = Path(__file__).with_name("core_shapes.yaml")
Config: Any = None


def pytest_addoption(parser: Any) -> None:
    mode = "--fg_mode" if flag_gems.vendor_name == "kunlunxin" else "--mode"
    parser.addoption(mode, dest="bench_mode", default="kernel", choices=[one.value for one in consts.BenchMode])
    parser.addoption("--level", default="comprehensive", choices=[one.value for one in consts.BenchLevel])
    parser.addoption("--warmup", default=1000)
    parser.addoption("--iter", default=100)
    parser.addoption("--metrics", action="append", choices=consts.METRICS)
    parser.addoption("--dtypes", action="append", choices=consts.CHOOSABLE_DTYPES)
    parser.addoption("--shape_file", default=str(SHAPES))
    parser.addoption("--record", default="none", choices=["none", "log", "json"])
    parser.addoption("--output", default="benchmark_result.json")
    parser.addoption("--parallel", type=int, default=0)


def pytest_configure(config: Any) -> None:
    global Config  # noqa: PLW0603  (FlagGems' own way, which one process per node has to bear)
    asked = config.getoption("--dtypes")
    Config = SimpleNamespace(
        mode=consts.BenchMode(config.getoption("bench_mode")),
        bench_level=consts.BenchLevel(config.getoption("--level")),
        user_desired_dtypes=[getattr(torch, name) for name in asked] if asked else None,
        user_desired_metrics=config.getoption("--metrics"),
        shape_file=config.getoption("--shape_file"),
    )


@pytest.fixture(autouse=True)
def clear_function_cache() -> Any:
    yield
    flag_gems.runtime.torch_device_fn.empty_cache()


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Take out what a vendor's list bans, as a checkout's conftest may."""
    banned = [item for item in items if item.get_closest_marker("banned_here")]
    if banned:
        config.hook.pytest_deselected(items=banned)
        items[:] = [item for item in items if item not in banned]
