"""Rows of a suite that follows FlagGems' contract: named by its benchmark objects, one by one, the baseline left out."""

import json

import pytest

pytestmark = pytest.mark.integration

BASE = """
import pytest
from enum import Enum
from triton.testing import do_bench

class Mode(Enum):
    KERNEL = "kernel"
    OPERATOR = "operator"
    WRAPPER = "wrapper"
    CUDAGRAPH = "cudagraph"

class Config:
    mode = Mode.KERNEL

class Benchmark:
    def __init__(self, op_name, torch_op, gems_op, dtypes):
        self.op_name, self.torch_op, self.gems_op, self.dtypes = op_name, torch_op, gems_op, dtypes
        self.to_bench_metrics = ["latency_base", "latency"]

    def set_dtypes(self, asked):
        if asked and not all(dtype in self.dtypes for dtype in asked):
            raise ValueError(f"Given dtype(s) '{asked[0]}'can't be supported by this op '{self.op_name}'")
        self.to_bench_dtypes = asked or self.dtypes

    def record_shapes(self, *args):
        return list(args)

    def get_latency(self, op, *args):
        if Config.mode in (Mode.OPERATOR, Mode.WRAPPER):
            return op(*args)
        return do_bench(lambda: op(*args))

    def run(self, asked=None):
        self.set_dtypes(asked)
        for dtype in self.to_bench_dtypes:
            for args in self.get_input_iter(dtype):
                try:
                    self.record_shapes(*args)
                    self.get_latency(self.torch_op, *args)
                    self.get_latency(self.gems_op, *args)
                except Exception as error:
                    pytest.fail(str(error))
"""
TESTS = """
import pytest
from kernels import launch_copy
from . import base

class Copies(base.Benchmark):
    def get_input_iter(self, dtype):
        yield (64,)
        yield (128,)
        yield (256,)

def refuse(n):
    raise AssertionError("the baseline is not run")

def copy(n):
    launch_copy(n)

def fails_late(n):
    if n == 256:
        raise KeyError("no such shape")
    launch_copy(n)

@pytest.mark.copy_mark
def test_copy():
    Copies("copy.printed", refuse, copy, ["torch.float16", "torch.float32"]).run()

@pytest.mark.parametrize("mode", list(base.Mode))
@pytest.mark.modes
def test_modes(mode, monkeypatch):
    monkeypatch.setattr(base.Config, "mode", mode)
    Copies(mode.value, refuse, copy, ["torch.float16"]).run()
    assert base.Config.mode is mode

@pytest.mark.fails
def test_fails_late():
    Copies("fails", refuse, fails_late, ["torch.float16"]).run()

@pytest.mark.refused
def test_refused():
    Copies("refused", refuse, copy, ["torch.complex64"]).run(["torch.float16"])
"""
KERNELS = """
import triton, triton.language as tl
from zl_probe.offline import FakePointer

@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out + offsets, tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

def launch_copy(n):
    copy[(1,)](FakePointer("fp16"), FakePointer("fp16"), n, BLOCK=256)
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    """A checkout of three files."""
    root = tmp_path_factory.mktemp("checkout")
    benchmark = root / "benchmark"
    benchmark.mkdir()
    (benchmark / "__init__.py").write_text("")
    (benchmark / "base.py").write_text(BASE)
    (benchmark / "test_copy.py").write_text(TESTS)
    (benchmark / "test_beside.py").write_text("raise RuntimeError('a file beside the node is not imported')\n")
    (root / "kernels.py").write_text(KERNELS)
    (root / "conftest.py").write_text("import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n")
    return root


def run(cases, suite, test, dtype=None):
    node = "benchmark/test_copy.py::" + test
    return cases.run(node, suite="flaggems", rootdir=str(suite), dtype=dtype)


def test_rows_are_named_by_the_benchmark_object(cases, suite):
    ran = run(cases, suite, "test_copy")
    assert [(row["operator"], row["dtype"], row["detail"], row["ordinal"]) for row in ran.of("row")] == [
        ("copy.printed", dtype, detail, 0) for dtype in ("float16", "float32") for detail in ("[64]", "[128]", "[256]")
    ]
    assert ran.names() == [["copy"]] * 6


def test_the_first_own_dtype_can_be_asked_for(cases, suite):
    ran = run(cases, suite, "test_copy", dtype="first")
    assert {row["dtype"] for row in ran.of("row")} == {"float16"}


def test_a_failing_shape_loses_no_earlier_row(cases, suite):
    ran = run(cases, suite, "test_fails_late")
    assert [row["detail"] for row in ran.of("row")] == ["[64]", "[128]"]
    failed = ran.failed_row()
    assert (failed["operator"], failed["dtype"], failed["detail"]) == ("fails", "float16", "[256]")
    assert failed["message"].startswith("KeyError: 'no such shape'")


def test_a_dtype_that_the_operator_lacks_is_named_with_those_it_has(cases, suite):
    ran = run(cases, suite, "test_refused")
    event = ran.one("deselected")
    assert (event["dtype"], event["available"]) == ("float16", ["complex64"])
    assert "can't be supported" in json.dumps(ran.one("test"))
    assert not ran.of("row_failed"), "no row was tried"


def test_every_mode_of_its_own_makes_rows(cases, suite):
    ran = run(cases, suite, "test_modes")
    assert [(row["operator"], row["detail"]) for row in ran.of("row")] == [
        (mode, detail)
        for mode in ("kernel", "operator", "wrapper", "cudagraph")
        for detail in ("[64]", "[128]", "[256]")
    ]
    assert {test["outcome"] for test in ran.of("test")} == {"passed"}
