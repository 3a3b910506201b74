"""`zl-bench ops`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from zl_bench.cli.ops import ops
from zl_bench.errors import UsageError

SOURCE = """\
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a(dtype): pass
def test_b(): pass
"""


def test_operators_nodes_and_dtypes(tmp_path: Path) -> None:
    (tmp_path / "test_x.py").write_text(SOURCE)
    result = CliRunner().invoke(ops, ["--suite", str(tmp_path)])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "operator\tnode\tdtypes",
        "a\ttest_x.py::test_a\tfloat16 float32",
        "b\ttest_x.py::test_b\t-",
    ]


def test_only_names_each_once(tmp_path: Path) -> None:
    for name in ("test_x.py", "test_y.py"):
        (tmp_path / name).write_text(SOURCE)
    assert CliRunner().invoke(ops, ["--suite", str(tmp_path), "--names"]).output == "a\nb\n"


def test_the_builtin_suite_is_the_default() -> None:
    names = CliRunner().invoke(ops, ["--names"]).output.splitlines()
    assert {"matmul", "vector_add"} <= set(names)
    assert len(names) >= 14


def test_an_unknown_suite() -> None:
    with pytest.raises(UsageError, match="There is no suite 'nowhere'"):
        CliRunner().invoke(ops, ["--suite", "nowhere"], catch_exceptions=False)
