"""What a FlagGems benchmark object's shapes were when it made its inputs, and which file it was told to read."""

import pytest

pytestmark = pytest.mark.integration

BASE = """
import json
from triton.testing import do_bench

class Benchmark:
    DEFAULT_SHAPES = [(64,), [[4, 8], 2, True]]

    def __init__(self, op_name):
        self.op_name, self.dtypes, self.shapes = op_name, ["torch.float16", "torch.float32"], self.DEFAULT_SHAPES
        self.to_bench_metrics = ["latency"]

    def set_dtypes(self, asked):
        pass

    def set_shapes(self, path):
        self.shapes = [tuple(shape) for shape in json.loads(path)]

    def record_shapes(self, shape):
        return [shape]

    def get_input_iter(self, dtype):
        yield from self.shapes

    def get_latency(self, shape):
        return do_bench(lambda: None)

    def run(self, path=None):
        self.set_dtypes(None)
        if path:
            self.set_shapes(path)
        for dtype in self.dtypes:
            for shape in self.get_input_iter(dtype):
                self.record_shapes(shape)
                self.get_latency(shape)
"""
TESTS = """
from . import base

class Near(base.Benchmark):
    pass

class Own(base.Benchmark):
    def set_shapes(self, path=None):
        self.shapes = [(1, 2)]

class Late(base.Benchmark):
    def get_input_iter(self, dtype):
        self.shapes = ((7,),)
        yield from self.shapes

class Odd(base.Benchmark):
    def get_input_iter(self, dtype):
        self.shapes = range(2)
        yield 3

def test_takes():
    Near("near").run("[[4096, 256], [3]]")

def test_default():
    Near("near").run()

def test_own():
    Own("own").run("[[4096, 256]]")

def test_late():
    Late("late").run("[[4096, 256]]")

def test_two():
    Near("one").run("[[1]]")
    Near("two").run("[[2]]")

def test_odd():
    Odd("odd").run()
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkout")
    benchmark = root / "benchmark"
    benchmark.mkdir()
    (benchmark / "__init__.py").write_text("")
    (benchmark / "base.py").write_text(BASE)
    (benchmark / "test_shapes.py").write_text(TESTS)
    (root / "conftest.py").write_text("import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n")
    return root


def told(cases, suite, test):
    ran = cases.run("benchmark/test_shapes.py::" + test, suite="flaggems", rootdir=str(suite))
    return [(event["operator"], event["file"], event["shapes"]) for event in ran.of("shapes")]


def test_the_shapes_are_told_once_not_per_dtype_or_row(cases, suite):
    assert told(cases, suite, "test_takes") == [("near", "[[4096, 256], [3]]", [[4096, 256], [3]])]


def test_whatever_a_shape_holds(cases, suite):
    assert told(cases, suite, "test_default") == [("near", "", [[64], [[4, 8], 2, True]])]


def test_a_test_s_own_shapes(cases, suite):
    assert told(cases, suite, "test_own") == [("own", "[[4096, 256]]", [[1, 2]])]


def test_shapes_that_are_set_while_inputs_are_made(cases, suite):
    assert [shapes for _, _, shapes in told(cases, suite, "test_late")][:2] == [[[4096, 256]], [[7]]]


def test_each_object_tells_its_own(cases, suite):
    assert told(cases, suite, "test_two") == [("one", "[[1]]", [[1]]), ("two", "[[2]]", [[2]])]


def test_what_is_no_list_of_shapes_is_not_told_and_harms_nothing(cases, suite):
    assert told(cases, suite, "test_odd") == [("odd", "", [[64], [[4, 8], 2, True]])]


def test_the_classes_are_named_the_nearest_first(cases, suite):
    ran = cases.run("benchmark/test_shapes.py::test_takes", suite="flaggems", rootdir=str(suite))
    assert ran.one("shapes")["classes"] == ["Near", "Benchmark"]
    assert ran.one("shapes")["node"] == "benchmark/test_shapes.py::test_takes"
    assert len(ran.of("row")) == 4
