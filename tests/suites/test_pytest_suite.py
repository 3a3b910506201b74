"""Reading a folder of pytest benchmarks without importing it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zl_bench.errors import UsageError
from zl_bench.suites import pytest_suite
from zl_bench.suites.base import Suite

DTYPE = "@pytest.mark.parametrize('dtype', {})\ndef test_a(dtype): pass\n"


def write(root: Path, source: str | bytes, name: str = "test_a.py") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(source if isinstance(source, bytes) else source.encode())
    return root


def load(root: Path) -> Suite:
    return pytest_suite.load(str(root))


def dtypes(root: Path, source: str) -> tuple[str, ...]:
    (node,) = load(write(root, source)).nodes
    return node.dtypes


def test_nothing_is_imported(tmp_path: Path) -> None:
    write(tmp_path, "raise SystemExit\nimport no_such_module\ndef test_a(): pass\n")
    assert load(tmp_path).operators == ("a",)


def test_the_builtin_suite() -> None:
    suite = pytest_suite.load("builtin")
    assert suite.name == "builtin"
    assert suite.root == pytest_suite.BUILTIN
    assert {"matmul", "vector_add", "transpose"} <= set(suite.operators)
    assert all(node.dtypes for node in suite.nodes)


def test_nodes_are_as_pytest_names_them_in_the_order_of_the_files(tmp_path: Path) -> None:
    write(tmp_path, "def test_z(): pass\ndef test_y(): pass\n", "test_b.py")
    write(tmp_path, "def test_a(): pass\n", "test_a.py")
    write(tmp_path, "def test_deep(): pass\n", "some/folder/test_c.py")
    suite = load(tmp_path)
    nodes = ["some/folder/test_c.py::test_deep", "test_a.py::test_a", "test_b.py::test_z", "test_b.py::test_y"]
    assert [node.node for node in suite.nodes] == nodes
    assert suite.operators == ("deep", "a", "z", "y")


def test_one_operator_may_have_nodes_in_several_files(tmp_path: Path) -> None:
    write(tmp_path, "def test_a(): pass\n", "test_one.py")
    write(tmp_path, "def test_a(): pass\n", "test_two.py")
    assert load(tmp_path).operators == ("a",)
    assert len(load(tmp_path).nodes) == 2


def test_what_is_no_benchmark(tmp_path: Path) -> None:
    write(
        tmp_path,
        "def helper(): pass\n"
        "async def test_async(): pass\n"
        "class TestThings:\n    def test_method(self): pass\n"
        "def outer():\n    def test_inner(): pass\n"
        "if True:\n    def test_conditional(): pass\n"
        "test_value = 1\n"
        "def test_real(): pass\n",
    )
    write(tmp_path, "def test_elsewhere(): pass\n", "bench_b.py")
    write(tmp_path, "def test_conftest(): pass\n", "conftest.py")
    write(tmp_path, "not python", "test_notes.txt")
    assert load(tmp_path).operators == ("real",)


def test_of_two_functions_with_one_name_the_last_counts(tmp_path: Path) -> None:
    """As in Python. Two runs would share a directory."""
    source = DTYPE.format("['float16']") + DTYPE.format("['float32']")
    assert dtypes(tmp_path, source) == ("float32",)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("['float16', 'float32']", ("float16", "float32")),
        ("('float16',)", ("float16",)),
        ("[]", ()),
        ("[16]", ("16",)),
        ("DTYPES", ()),
        ("[torch.float16]", ()),
        ("['float16', pytest.param('float32', marks=[])]", ()),
        ("['float16'] + OTHERS", ()),
        ("3", ()),
        ("'float16'", ()),
        ("{[]: 1}", ()),
    ],
)
def test_literal_dtypes_are_read_and_others_left_open(tmp_path: Path, values: str, expected: tuple[str, ...]) -> None:
    assert dtypes(tmp_path, DTYPE.format(values)) == expected


@pytest.mark.parametrize(
    "decorators",
    [
        "",
        "@pytest.mark.parametrize('shape', [(1, 2)])\n",
        "@pytest.mark.parametrize('shape, dtype', [(1, 'float16')])\n",
        "@pytest.mark.parametrize(NAME, ['float16'])\n",
        "@pytest.mark.parametrize('dtype')\n",
        "@pytest.mark.skip\n",
        "@pytest.mark.usefixtures('dtype', 'float16')\n",
        "@other('dtype', ['float16'])\n",
    ],
)
def test_dtypes_that_are_not_there(tmp_path: Path, decorators: str) -> None:
    assert dtypes(tmp_path, f"{decorators}def test_a(dtype): pass\n") == ()


def test_the_mark_may_be_imported_and_stand_among_others(tmp_path: Path) -> None:
    source = (
        "@mark.slow\n@mark.parametrize('n', [1])\n@mark.parametrize('dtype', ['int8'])\ndef test_a(n, dtype): pass\n"
    )
    assert dtypes(tmp_path, source) == ("int8",)


@pytest.mark.parametrize("source", [b"def test_a(:\n", b"def test_a(): pass\n\0", b'x = "\xff"\n'])
def test_a_file_that_is_no_python(tmp_path: Path, source: bytes) -> None:
    with pytest.raises(UsageError, match=r"test_a\.py can not be read as Python"):
        load(write(tmp_path, source))


@pytest.mark.parametrize(
    "source",
    [
        "\ufeffdef test_a(): pass\n".encode(),
        "# -*- coding: latin-1 -*-\n# naïve\ndef test_a(): pass\n".encode("latin-1"),
        b"def test_a(): pass\r\n",
    ],
)
def test_every_encoding_that_python_reads(tmp_path: Path, source: bytes) -> None:
    assert load(write(tmp_path, source)).operators == ("a",)


def test_a_folder_named_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").mkdir()
    with pytest.raises(UsageError, match="can not be read as Python"):
        load(tmp_path)


def test_no_suite(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="There is no suite"):
        load(tmp_path / "absent")
    with pytest.raises(UsageError, match="There is no suite"):
        load(write(tmp_path, "def test_a(): pass\n") / "test_a.py")


def test_a_folder_without_benchmarks(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no pytest benchmark"):
        load(write(tmp_path, "def helper(): pass\n"))


def test_the_name_of_a_folder_is_the_suite_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "mine", "def test_a(): pass\n")
    monkeypatch.chdir(tmp_path)
    suite = pytest_suite.load("mine")
    assert (suite.name, suite.root) == ("mine", tmp_path / "mine")


def test_a_suite_has_its_own_pytest_configuration_or_none(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("")
    suite = write(tmp_path / "suite", "def test_a(): pass\n")
    assert load(suite).pytest_args == ("-c", os.devnull)
    (suite / "setup.cfg").write_text("")
    assert load(suite).pytest_args == ("-c", str(suite / "setup.cfg"))
    (suite / "pytest.ini").write_text("")
    assert load(suite).pytest_args == ("-c", str(suite / "pytest.ini"))
