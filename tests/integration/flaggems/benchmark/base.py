"""The benchmark classes: for each dtype and each input a baseline, the operator under FlagGems, and at last a table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import flag_gems
import pytest
import torch
import triton
import yaml

from . import conftest, consts


def tensor(shape: Any, dtype: torch.dtype, device: str) -> torch.Tensor:
    """Random values of any dtype."""
    if dtype.is_floating_point or dtype.is_complex:
        return torch.randn(shape, dtype=dtype, device=device)
    return torch.randint(-100, 100, shape, dtype=dtype, device="cpu").to(device)


def unary_input_fn(shape: Any, dtype: torch.dtype, device: str) -> Iterator[Any]:
    yield (tensor(shape, dtype, device),)


class Benchmark:
    device = flag_gems.device
    DEFAULT_DTYPES = consts.FLOAT_DTYPES
    DEFAULT_METRICS = consts.DEFAULT_METRICS
    DEFAULT_SHAPES = ((64, 64), (512, 512))

    def __init__(
        self,
        op_name: str,
        torch_op: Callable[..., Any],
        dtypes: list[torch.dtype] | None = None,
        is_backward: bool = False,
        input_fn: Callable[..., Iterator[Any]] = unary_input_fn,
    ) -> None:
        self.op_name = f"{op_name}_backward" if is_backward and "_backward" not in op_name else op_name
        self.torch_op, self.gems_op = torch_op, None
        self.dtypes = self.DEFAULT_DTYPES if dtypes is None else dtypes
        self.is_backward = is_backward
        self.input_fn = input_fn
        self.shapes: list[Any] = list(self.DEFAULT_SHAPES)
        self.to_bench_dtypes, self.to_bench_metrics = self.dtypes, self.DEFAULT_METRICS

    def set_gems(self, gems_op: Callable[..., Any]) -> None:
        self.gems_op = gems_op

    def set_more_metrics(self) -> list[str]:
        return []

    def set_dtypes(self, asked: list[torch.dtype] | None) -> None:
        refused = [str(dtype) for dtype in asked or () if dtype not in self.dtypes]
        if refused:
            raise ValueError(f"Given dtype(s) '{', '.join(refused)}'can't be supported by this op '{self.op_name}'")
        self.to_bench_dtypes = asked or self.dtypes

    def set_metrics(self, asked: list[str] | None) -> None:
        self.to_bench_metrics = asked or self.DEFAULT_METRICS
        if conftest.Config.bench_level is consts.BenchLevel.COMPREHENSIVE:
            self.to_bench_metrics.extend(self.set_more_metrics())

    def set_shapes(self, shape_file: str) -> None:
        table = yaml.safe_load(Path(shape_file).read_text(encoding="utf-8"))
        keys = (self.op_name, *(one.__name__ for one in type(self).__mro__))
        self.shapes = next((table[key]["shapes"] for key in keys if key in table), self.shapes)
        self.shapes = [tuple(shape) for shape in self.shapes]

    def init_user_config(self) -> None:
        self.set_dtypes(conftest.Config.user_desired_dtypes)
        self.set_metrics(conftest.Config.user_desired_metrics)
        self.set_shapes(conftest.Config.shape_file)

    def get_input_iter(self, dtype: torch.dtype) -> Iterator[Any]:
        for shape in self.shapes:
            yield from self.input_fn(shape, dtype, self.device)

    def unpack_to_args_kwargs(self, given: Any) -> tuple[list[Any], dict[str, Any]]:
        args = [item for item in given if not isinstance(item, dict)]
        kwargs = {name: value for item in given if isinstance(item, dict) for name, value in item.items()}
        if self.is_backward:
            args = [item.clone().requires_grad_() if torch.is_tensor(item) else item for item in args]
        return args, kwargs

    def record_shapes(self, *args: Any, **kwargs: Any) -> Any:
        def shape(item: Any) -> Any:
            if isinstance(item, (list, tuple)):
                return [shape(one) for one in item]
            return item.size() if torch.is_tensor(item) else item

        sizes, named = [shape(item) for item in args], {name: shape(item) for name, item in kwargs.items()}
        return (sizes, named) if sizes and named else sizes or named

    def get_latency(self, op: Callable[..., Any], *args: Any, **kwargs: Any) -> float:
        leaves = None
        if self.is_backward:
            out = op(*args, **kwargs)
            gradient = torch.randn_like(out)
            leaves = [item for item in args if torch.is_tensor(item)]

            def call() -> Any:
                return torch.autograd.grad((out,), leaves, grad_outputs=(gradient,), retain_graph=True)

        else:

            def call() -> Any:
                return op(*args, **kwargs)

        if conftest.Config.mode is consts.BenchMode.OPERATOR:  # timed by the host's clock, without do_bench
            call()
            flag_gems.runtime.torch_device_fn.synchronize()
            return 1.0
        latency: float = triton.testing.do_bench(call, return_mode="median", grad_to_none=leaves)
        return latency

    def run(self) -> None:
        self.init_user_config()
        for dtype in self.to_bench_dtypes:
            table = consts.Table(self.op_name, dtype)
            for given in self.get_input_iter(dtype):
                line = consts.Line()
                try:
                    self.measure(line, given)
                except Exception as error:  # noqa: BLE001  (as FlagGems does: nothing of the table is printed)
                    line.error = str(error)
                    pytest.fail(str(error))
                table.lines.append(line)
            print(table)

    def measure(self, line: consts.Line, given: Any) -> None:
        args, kwargs = self.unpack_to_args_kwargs(given)
        line.detail = self.record_shapes(*args, **kwargs)
        if "latency_base" in self.to_bench_metrics:
            line.latency_base = self.get_latency(self.torch_op, *args, **kwargs)
        if self.gems_op is not None:
            line.latency = self.get_latency(self.gems_op, *args, **kwargs)
        else:
            with flag_gems.use_gems(exclude=["zero_"]):
                line.latency = self.get_latency(self.torch_op, *args, **kwargs)


class NormBenchmark(Benchmark):
    """Shapes N, C, then what belongs to one channel."""


class UnaryPointwiseBenchmark(Benchmark):
    """Shapes of any rank."""


class BlasBenchmark(Benchmark):
    """Shapes B, M, N, K."""

    def set_more_metrics(self) -> list[str]:
        return ["tflops"]
