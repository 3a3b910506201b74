"""A checkout of our own that follows FlagGems' contract: conftest, base class, dtype lists, marks; none can be imported."""

from __future__ import annotations

from pathlib import Path

BASE = """
import torch_that_is_nowhere
from . import consts

class Benchmark:
    DEFAULT_DTYPES = consts.FLOAT_DTYPES
    def __init__(self, op_name, torch_op, dtypes=None, is_backward=False, **kwargs):
        self.op_name = op_name

class UnaryBenchmark(Benchmark):
    pass

class ForwardingBenchmark(Benchmark):
    def __init__(self, *args, input_fn, **kwargs):
        super().__init__(*args, **kwargs)
        self.input_fn = input_fn
"""

CONSTS = """
import torch
FLOAT_DTYPES = [torch.float16, torch.float32, torch.bfloat16]
INT_DTYPES = [torch.int16, torch.int32]
BOOL_DTYPES = [torch.bool]
FP8_DTYPES = [find_out()]
"""

HEAD = """
import pytest
import torch_that_is_nowhere
import torch
from . import base, consts
from .consts import FLOAT_DTYPES as FLOATS
"""


def make_checkout(root: Path, **files: str) -> Path:
    """Write the checkout; `files` are benchmark files by name without `.py`, `__` for a folder."""
    folder = root / "benchmark"
    folder.mkdir(parents=True)
    (root / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text("import flag_gems\n")
    (folder / "base.py").write_text(BASE)
    (folder / "consts.py").write_text(CONSTS)
    for name, text in files.items():
        file = folder / (name.replace("__", "/") + ".py")
        file.parent.mkdir(exist_ok=True)
        file.write_text(HEAD + text)
    return root
