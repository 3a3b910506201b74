"""The real command on a small checkout whose benchmarks find their shapes as FlagGems' do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.running import NULL, records, table, zl_bench

pytestmark = pytest.mark.integration

CONFTEST = """
import pytest

Shapes = []

def pytest_addoption(parser):
    for name in ("--level", "--metrics", "--record", "--dtypes"):
        parser.addoption(name, action="append")
    parser.addoption("--shape_file", default=__file__.replace("conftest.py", "core_shapes.yaml"))

def pytest_configure(config):
    Shapes.append(config.getoption("--shape_file"))
"""
BASE = """
import torch
import yaml
from triton.testing import do_bench
from .conftest import Shapes
from .kernels import double

class Benchmark:
    DEFAULT_SHAPES = [(3, 3)]

    def __init__(self, op_name, torch_op, dtypes=None):
        self.op_name, self.shapes, self.dtypes = op_name, self.DEFAULT_SHAPES, [torch.float32]
        self.to_bench_metrics = ["latency"]

    def set_dtypes(self, asked):
        pass

    def set_shapes(self, path):
        with open(path) as stream:
            document = yaml.safe_load(stream)
        names = [self.op_name, *(definition.__name__ for definition in type(self).__mro__)]
        key = next((name for name in names if name in document), None)
        self.shapes = [tuple(shape) for shape in (document[key]["shapes"] if key else self.DEFAULT_SHAPES)]

    def get_input_iter(self, dtype):
        for shape in self.shapes:
            yield torch.randn(shape, device="cuda", dtype=dtype)

    def record_shapes(self, tensor):
        return [tensor.size()]

    def get_latency(self, tensor):
        return do_bench(lambda: double(tensor))

    def run(self):
        self.set_dtypes(None)
        self.set_shapes(Shapes[-1])
        for dtype in self.dtypes:
            for tensor in self.get_input_iter(dtype):
                self.record_shapes(tensor)
                self.get_latency(tensor)
"""
KERNELS = """
import torch
import triton
import triton.language as tl

@triton.jit
def _double(x, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + offsets, 2 * tl.load(x + offsets, mask=offsets < n), mask=offsets < n)

def double(tensor):
    out = torch.empty_like(tensor)
    _double[(triton.cdiv(tensor.numel(), 256),)](tensor, out, tensor.numel(), BLOCK=256)
    return out
"""
TESTS = """
import pytest
import torch
from . import base

class Unary(base.Benchmark):
    pass

class Own(base.Benchmark):
    def set_shapes(self, path=None):
        self.shapes = [(128, 8)]

class Deaf(base.Benchmark):
    def get_input_iter(self, dtype):
        yield torch.randn((5, 7), device="cuda", dtype=dtype)

@pytest.mark.takes
def test_takes():
    Unary(op_name="takes.printed", torch_op=None).run()

@pytest.mark.owns
def test_owns():
    Own(op_name="owns", torch_op=None).run()

@pytest.mark.deaf
def test_deaf():
    Deaf(op_name="deaf", torch_op=None).run()
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    package, benchmark = root / "src" / "flag_gems", root / "benchmark"
    for folder in (package, benchmark):
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("")
    (root / "pytest.ini").write_text("[pytest]\nmarkers =\n    takes\n    owns\n    deaf\n")
    for name, text in {
        "conftest": CONFTEST,
        "base": BASE,
        "consts": "",
        "kernels": KERNELS,
        "test_some": TESTS,
    }.items():
        (benchmark / f"{name}.py").write_text(text)
    (benchmark / "core_shapes.yaml").write_text("Unary: {shapes: [[64, 64]]}\ndeaf: {shapes: [[64]]}\n")
    return root


def screen(checkout: Path, root: Path, *more: object) -> tuple[str, dict[str, dict[str, str]]]:
    suite = ("--suite", "flaggems", "--checkout", checkout, "--target", "cuda:90", "--stages", "ttgir")
    done = zl_bench("screen", "--switch", NULL, *suite, "--root", root, *more)
    assert done.code == 0, done.err
    return done.out, table(root)


def test_each_operator_says_what_it_made_of_the_shapes(checkout: Path, tmp_path: Path) -> None:
    asked = ("--shape", "takes=4096,256", "--shape", "owns=64,64", "--shape", "deaf=1024,1024", "--shape", "tkaes=9")
    out, rows = screen(checkout, tmp_path / "root", *asked)
    assert {row["verdict"] for row in rows.values()} == {"NO_IR_DIFF"}
    assert rows["takes"]["reason"] == ""
    assert rows["owns"]["reason"] == "shapes not honoured: asked (64, 64), emitted (128, 8)"
    assert rows["deaf"]["reason"] == (
        "shapes not seen: asked (1024, 1024), which no row shows; the rows have [torch.Size([5, 7])]"
    )
    assert "no operator of this screen uses the key 'tkaes'; nearest: takes.printed" in out
    by_name = {record["operator"]: record for record in records(tmp_path / "root")}
    (row,) = by_name["takes"]["nodes"][0]["paired"]
    assert row["key"]["detail"] == "[torch.Size([4096, 256])]"
    assert "shapes honoured: (4096, 256)" in zl_bench("show", tmp_path / "root", "takes").out


def test_a_file_replaces_the_suite_s_own(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("takes: {shapes: [[8]]}\nBenchmark: {shapes: [[16, 4]]}\n")
    out, rows = screen(checkout, tmp_path / "root", "--shape-file", file, "takes")
    assert rows["takes"]["reason"] == ""
    assert "uses the key 'takes': it is a mark, and FlagGems looks for the printed name, takes.printed" in out
    (record,) = records(tmp_path / "root")
    assert record["shape_keys"] == ["Benchmark"]
    assert record["nodes"][0]["paired"][0]["key"]["detail"] == "[torch.Size([16, 4])]"
    assert (tmp_path / "root" / "shapes.yaml").read_text() == file.read_text()
