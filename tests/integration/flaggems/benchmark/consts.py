"""Dtype lists, modes, levels and the table of one dtype's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

FLOAT_DTYPES = [torch.float16, torch.float32]
BOTH_HALVES = [torch.float16, torch.bfloat16]
COMPLEX_DTYPES = [torch.complex64]
CHOOSABLE_DTYPES = ["float16", "float32", "bfloat16", "int16", "int32", "bool", "complex64"]

DEFAULT_METRICS = ["latency_base", "latency", "speedup"]
"""One list for all classes, which `set_more_metrics` adds to: a global that leaks from test to test."""
METRICS = [*DEFAULT_METRICS, "gbps", "tflops"]

WIDTH = 20


class BenchMode(Enum):
    KERNEL = "kernel"
    OPERATOR = "operator"


class BenchLevel(Enum):
    COMPREHENSIVE = "comprehensive"
    CORE = "core"


@dataclass
class Line:
    detail: Any = None
    latency_base: float | None = None
    latency: float | None = None
    error: str = ""

    def __str__(self) -> str:
        speedup = self.latency_base / self.latency if self.latency_base and self.latency else None
        numbers = (self.latency_base, self.latency, speedup)
        cells = ["N/A" if number is None else f"{number:.6f}" for number in numbers]
        status = "FAILED" if self.error else "SUCCESS"
        return status.ljust(10) + "".join(cell.rjust(WIDTH) for cell in cells) + " " * 10 + str(self.detail)


@dataclass
class Table:
    op_name: str
    dtype: torch.dtype
    lines: list[Line] = field(default_factory=list)

    def __str__(self) -> str:
        names = ("Torch Latency (ms)", "Gems Latency (ms)", "Gems Speedup", "Size Detail")
        head = "Status".ljust(10) + "".join(name.rjust(WIDTH) for name in names)
        return "\n".join([f"\nOperator: {self.op_name}  (dtype={self.dtype})", head, *map(str, self.lines)])
