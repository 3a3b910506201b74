"""What is read off a FlagGems checkout, which is never imported."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from zl_bench.errors import UsageError
from zl_bench.suites import flaggems
from zl_bench.suites.base import TestNode as Node
from zl_bench.suites.flaggems import load

from .flaggems_tree import make_checkout


def node_of(tmp_path: Path, text: str) -> Node:
    """The only test of a checkout with this one file."""
    (node,) = load(make_checkout(tmp_path / "checkout", test_x=text)).nodes
    return node


def read(tmp_path: Path, body: str, above: str = "") -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and dtypes of a test with that body."""
    node = node_of(tmp_path, f"{above}\n@pytest.mark.x\ndef test_x():\n    {body}\n")
    return node.names, node.dtypes


FLOATS = ("float16", "float32", "bfloat16")


@pytest.mark.parametrize(
    ("dtypes", "expected"),
    [
        ("consts.FLOAT_DTYPES", FLOATS),
        ("FLOATS", FLOATS),
        ("consts.INT_DTYPES + consts.BOOL_DTYPES", ("int16", "int32", "bool")),
        ("[torch.float32] + consts.INT_DTYPES", ("float32", "int16", "int32")),
        ("[torch.complex64]", ("complex64",)),
        ("[torch.cfloat, torch.half, torch.long]", ("complex64", "float16", "int64")),
        ("[*consts.BOOL_DTYPES, torch.uint8]", ("bool", "uint8")),
        ("consts.FLOAT_DTYPES[:]", FLOATS),
        ("OWN", ("float64",)),
        ("None", FLOATS),
        ("consts.FP8_DTYPES", ()),
        ("TWICE", ()),
        ("GROWN", ()),
        ("NOWHERE", ()),
        ("[torch.float32] if FAST else consts.FLOAT_DTYPES", ()),
        ("consts.FLOAT_DTYPES[:1]", ()),
        ('["scalar", "vector"]', ()),
    ],
)
def test_dtypes_are_read_or_left_out(tmp_path: Path, dtypes: str, expected: tuple[str, ...]) -> None:
    above = (
        "OWN = [torch.float64]\nTWICE = [torch.int8]\nif FAST:\n    TWICE = [torch.int32]\n"
        "GROWN = [torch.int8]\nif FAST:\n    GROWN.append(torch.int32)\n"
    )
    body = f'base.UnaryBenchmark(op_name="x", torch_op=torch.x, dtypes={dtypes}).run()'
    assert read(tmp_path, body, above) == (("x",), expected)


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ('base.Benchmark("x.out", torch.x).run()', ("x.out",)),
        ('base.Benchmark(op_name="x", torch_op=torch.x, is_backward=True).run()', ("x_backward",)),
        ('base.Benchmark(op_name="x_backward", torch_op=torch.x, is_backward=True).run()', ("x_backward",)),
        ('base.Benchmark(op_name="x", torch_op=torch.x, is_backward=False).run()', ("x",)),
        ('base.ForwardingBenchmark("x", torch.x, input_fn=None, is_backward=True).run()', ("x_backward",)),
        ('name = "y"\n    base.Benchmark(op_name=name, torch_op=torch.x).run()', ("y",)),
        ('for name in ["a", "b"]:\n        base.Benchmark(op_name=name, torch_op=torch.x).run()', ("a", "b")),
        ('base.Benchmark(op_name="a" + "b", torch_op=torch.x).run()', ("ab",)),
        ("base.Benchmark(op_name=find_out(), torch_op=torch.x).run()", ()),
        ('helper("h", torch.x)', ("h",)),
        ("Own().run()", ("own",)),
        ("pass", ()),
    ],
)
def test_printed_names_are_followed_to_where_they_are_written(
    tmp_path: Path, body: str, names: tuple[str, ...]
) -> None:
    above = (
        "def helper(name, op):\n    base.UnaryBenchmark(op_name=name, torch_op=op).run()\n"
        "class Own(base.Benchmark):\n    def __init__(self):\n        super().__init__('own', torch.x)\n"
        "class Other:\n    def __init__(self, op_name):\n        pass\n"
    )
    assert read(tmp_path, body, above)[0] == names


def test_a_class_that_is_no_benchmark_prints_nothing(tmp_path: Path) -> None:
    above = "class Other:\n    def __init__(self, op_name):\n        pass\n"
    assert read(tmp_path, 'Other(op_name="no")', above)[0] == ()


def test_default_dtypes_of_the_nearest_class_count(tmp_path: Path) -> None:
    above = "class Own(base.UnaryBenchmark):\n    DEFAULT_DTYPES = [torch.bfloat16]\n"
    assert read(tmp_path, 'Own("x", torch.x).run()', above)[1] == ("bfloat16",)


def test_one_benchmark_with_unreadable_dtypes_makes_all_of_the_test_s_unreadable(tmp_path: Path) -> None:
    body = 'base.Benchmark("a", 1, dtypes=[torch.bool])\n    base.Benchmark("b", 1, dtypes=find_out())'
    assert read(tmp_path, body) == (("a", "b"), ())


PARAMETRISED = """
@pytest.mark.parametrize("dtype", [torch.float16, torch.bool])
@pytest.mark.parametrize("name, fast", [pytest.param("mm", True, marks=pytest.mark.mm), ("bmm", False)])
def test_blas(name, fast, dtype):
    base.Benchmark(op_name=f"{name}_{'fast'}", torch_op=torch.mm, dtypes=[dtype]).run()
"""


def test_parameters_give_names_dtypes_and_marks(tmp_path: Path) -> None:
    node = node_of(tmp_path, PARAMETRISED)
    assert node.parametrised
    assert node.names == ("mm_fast", "bmm_fast")
    assert node.dtypes == ("float16", "bool")
    assert node.marks == ("mm",)
    assert node.operator == "blas", "the mark of one case does not name the test"


MARKED = """
pytestmark = [pytest.mark.skipif(True, reason="no"), pytest.mark.whole_file]

@pytest.mark.outer
@pytest.mark.skipif(True, reason="no")
@pytest.mark.inner(recommended_shapes=[(1,)])
@pytest.mark.timeout(5)
def test_some_function():
    pass
"""


def test_marks_in_pytest_s_order_without_its_own(tmp_path: Path) -> None:
    node = node_of(tmp_path, MARKED)
    assert node.marks == ("inner", "outer", "whole_file")
    assert node.operator == "inner"


def test_without_a_mark_the_printed_name_and_then_the_function_names_the_operator(tmp_path: Path) -> None:
    text = 'def test_a_benchmark():\n    base.Benchmark("a", torch.a).run()\n\ndef test_b():\n    pass\n'
    nodes = load(make_checkout(tmp_path, test_x=text)).nodes
    assert [(node.marks, node.operator) for node in nodes] == [((), "a"), ((), "b")]


LAYOUT = """
class TestGroup:
    @pytest.mark.grouped
    def test_inside(self):
        base.Benchmark("grouped", 1).run()

class TestParam:
    a: int

class Helper:
    def test_not_collected(self):
        pass

if True:
    @pytest.mark.conditional
    def test_conditional():
        pass

def test_twice():
    pass

@pytest.mark.second
def test_twice():
    pass

def helper_test():
    pass
"""


def test_every_test_has_a_node_relative_to_the_checkout(tmp_path: Path) -> None:
    suite = load(make_checkout(tmp_path, test_layout=LAYOUT, test_FLA__test_deep="def test_deep():\n    pass\n"))
    assert [(node.node, node.operator) for node in suite.nodes] == [
        ("benchmark/test_FLA/test_deep.py::test_deep", "deep"),
        ("benchmark/test_layout.py::test_conditional", "conditional"),
        ("benchmark/test_layout.py::test_twice", "second"),
        ("benchmark/test_layout.py::TestGroup::test_inside", "grouped"),
    ]


def test_a_run_s_arguments(tmp_path: Path) -> None:
    root = make_checkout(tmp_path)
    suite = load(root)
    core = ("-c", str(root / "pytest.ini"), "--level", "core", "--metrics", "latency", "--record", "none")
    assert suite.arguments(None) == core, "no dtype is ever forced (R7)"
    assert suite.arguments("complex64") == (*core, "--dtypes", "complex64")
    assert suite.modules == ("flag_gems",)
    assert suite.import_paths == (root / "src",)


def test_a_folder_that_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no FlagGems checkout: it has no benchmark/conftest\.py.*ZL_FLAGGEMS"):
        load(tmp_path)


def test_a_file_that_is_not_python_is_run_as_a_whole_and_keeps_no_other_from_being_read(tmp_path: Path) -> None:
    good = "import pytest\n\n@pytest.mark.good\ndef test_good():\n    pass\n"
    suite = load(make_checkout(tmp_path, test_bad="def test_(:\n", test_good=good))
    assert [(node.node, node.operator) for node in suite.nodes] == [
        ("benchmark/test_bad.py", "bad"),
        ("benchmark/test_good.py::test_good", "good"),
    ]


CHECKOUT = os.environ.get("ZL_FLAGGEMS")


@pytest.mark.skipif(not CHECKOUT, reason="ZL_FLAGGEMS names no FlagGems checkout")
def test_a_full_checkout_in_under_three_seconds() -> None:
    start = time.process_time()  # not wall-clock: other work on the machine is not the reader's cost
    suite = flaggems.load(Path(str(CHECKOUT)))
    assert time.process_time() - start < 3
    assert len(suite.nodes) > 1000
    assert len({node.node for node in suite.nodes}) == len(suite.nodes)
    assert sum(not node.marks for node in suite.nodes) < 20
    assert sum(not node.names for node in suite.nodes) < 20
    assert sum(not node.dtypes for node in suite.nodes) < 100
