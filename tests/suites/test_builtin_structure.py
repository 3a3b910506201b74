"""The conventions by which the tool reads the built-in suite, checked in its source without importing it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import zl_bench.suites

BUILTIN = Path(zl_bench.suites.__file__).parent / "builtin"
FILES = sorted(BUILTIN.glob("test_*.py"))
DTYPES = {"float16", "bfloat16", "float32", "int8", "int32"}
IMPORTS = {"pytest", "torch", "triton", "triton.language", "_inputs", "itertools"}
each_file = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)


def benchmarks_of(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def parameters_of(function):
    """The literal values of each parametrize mark."""
    parameters = {}
    for decorator in function.decorator_list:
        assert ast.unparse(decorator.func) == "pytest.mark.parametrize"
        name, values = map(ast.literal_eval, decorator.args)
        parameters[name] = values
    return parameters


def calls(tree, ending):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(ending)]


def test_there_are_at_least_fifteen_operators():
    assert len(FILES) >= 15
    required = {"vector_add", "softmax", "layer_norm", "layer_norm_backward", "matmul", "transpose", "flash_attention"}
    required |= {"cumsum", "sort", "dropout", "cross_entropy", "histogram", "strided_gather", "batched_sum", "split_k"}
    assert required <= {file.stem.removeprefix("test_") for file in FILES}


@each_file
def test_one_test_function_named_after_the_file(file):
    assert [function.name for function in benchmarks_of(file)] == [file.stem]


@each_file
def test_parameters_are_literal(file):
    (function,) = benchmarks_of(file)
    parameters = parameters_of(function)
    assert set(parameters) == {argument.arg for argument in function.args.args}
    assert parameters["dtype"]
    assert set(parameters["dtype"]) <= DTYPES
    assert len(parameters["shape"]) >= 2
    assert all(type(shape) is tuple and all(type(extent) is int for extent in shape) for shape in parameters["shape"])


@each_file
def test_one_measured_call_of_a_lambda(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    (call,) = calls(tree, "do_bench")
    (function,) = [node for node in tree.body if isinstance(node, ast.FunctionDef) and call in list(ast.walk(node))]
    assert function.name.startswith("test_")
    assert ast.unparse(call.func) == "triton.testing.do_bench"
    assert isinstance(call.args[0], ast.Lambda)
    assert not call.keywords
    assert not any(isinstance(node, ast.For | ast.While) for node in ast.walk(function))


@each_file
def test_imports_are_plain_and_documented(file):
    tree = ast.parse(file.read_text(encoding="utf-8"))
    modules = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    modules |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    assert modules <= IMPORTS
    assert ast.get_docstring(tree)


def test_no_dot_pins_its_precision():
    """TRITON_F32_DEFAULT must be able to act."""
    dots = [call for file in FILES for call in calls(ast.parse(file.read_text(encoding="utf-8")), "tl.dot")]
    assert len(dots) >= 4
    assert not [call for call in dots for keyword in call.keywords if keyword.arg in {"input_precision", "allow_tf32"}]


def test_only_the_aten_operator_has_no_kernel():
    without = [file.stem for file in FILES if "@triton.jit" not in file.read_text(encoding="utf-8")]
    assert without == ["test_aten_addcmul"]


@pytest.mark.integration
@pytest.mark.parametrize("mode", ["prepend", "importlib"])
def test_it_is_collected_from_anywhere(tmp_path, mode):
    """With a root folder and a conftest of somebody else's."""
    pytest.importorskip("torch")
    pytest.importorskip("triton")
    (tmp_path / "conftest.py").write_text("")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        f"--import-mode={mode}",
    ]
    where = ["--rootdir", str(tmp_path), "-c", str(tmp_path / "pytest.ini"), str(BUILTIN)]
    done = subprocess.run([*command, *where], cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_matmul.py::test_matmul[shape0-float16]" in done.stdout
