"""FlagGems' tests as asked for: by mark, printed name, file or node; from files; with notes."""

from __future__ import annotations

from pathlib import Path

import pytest

from zl_bench.errors import UsageError
from zl_bench.model import split_entry
from zl_bench.suites.base import Suite, read_operator_file, select, selection_notes
from zl_bench.suites.base import TestNode as Node

ABS = Node("benchmark/test_abs.py::test_abs", "abs", marks=("abs",), names=("abs",))
ABS_ = Node("benchmark/test_abs.py::test_abs_inplace", "abs_", marks=("abs_",), names=("abs_",))
FLATTEN = Node("benchmark/test_flatten.py::test_flatten", "flatten", marks=("flatten",), names=("flatten.using_ints",))
BLAS = Node("benchmark/test_blas.py::test_blas", "blas", marks=("mm", "bmm"), names=("mm", "bmm"), parametrised=True)
MM = Node("benchmark/test_mm.py::test_mm", "mm", marks=("mm",), names=("mm",))
DEEP = Node("benchmark/test_FLA/test_abs.py::TestDeep::test_deep", "deep", marks=("deep",))
SUITE = Suite("flaggems", Path("/checkout"), (ABS, ABS_, FLATTEN, BLAS, MM, DEEP), paths_select=True)


def nodes_of(text: str) -> list[str]:
    (entry,) = select(SUITE, [text])
    return list(entry.nodes)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("abs", [ABS]),
        ("abs_", [ABS_]),
        ("flatten", [FLATTEN]),
        ("flatten.using_ints", [FLATTEN]),
        ("mm", [BLAS, MM]),
        ("benchmark/test_abs.py", [ABS, ABS_]),
        ("test_abs.py", [ABS, ABS_, DEEP]),
        ("test_FLA/test_abs.py", [DEEP]),
        ("benchmark/test_abs.py::test_abs", [ABS]),
        ("test_abs.py::test_abs_inplace", [ABS_]),
        ("benchmark/test_FLA/test_abs.py::TestDeep::test_deep", [DEEP]),
    ],
)
def test_a_mark_a_printed_name_a_file_or_a_node(asked: str, expected: list[Node]) -> None:
    assert nodes_of(asked) == [node.node for node in expected]


def test_one_case_of_a_parametrised_test() -> None:
    assert nodes_of("benchmark/test_blas.py::test_blas[mm-a:b]") == ["benchmark/test_blas.py::test_blas[mm-a:b]"]


@pytest.mark.parametrize(
    ("text", "operator", "dtype"),
    [
        ("fft", "fft", None),
        ("fft:complex64", "fft", "complex64"),
        ("fft:", "fft", ""),
        (":float16", "", "float16"),
        ("a/test_x.py::test_y", "a/test_x.py::test_y", None),
        ("a/test_x.py::TestA::test_y:bool", "a/test_x.py::TestA::test_y", "bool"),
        ("a/test_x.py::test_y[p:q]", "a/test_x.py::test_y[p:q]", None),
        ("a/test_x.py::test_y[p:q]:bool", "a/test_x.py::test_y[p:q]", "bool"),
    ],
)
def test_the_dtype_stands_behind_a_single_colon(text: str, operator: str, dtype: str | None) -> None:
    assert split_entry(text) == (operator, dtype)


def test_a_node_with_a_dtype() -> None:
    (entry,) = select(SUITE, ["test_abs.py::test_abs:float16"])
    assert (entry.operator, entry.dtype, entry.nodes) == ("test_abs.py::test_abs", "float16", (ABS.node,))


def test_several_matches_are_said() -> None:
    notes = selection_notes(select(SUITE, ["abs", "mm", "test_abs.py:float16"]))
    assert notes == (
        "mm matches 2 tests, which all run: benchmark/test_blas.py::test_blas, benchmark/test_mm.py::test_mm",
        "test_abs.py:float16 matches 3 tests, which all run: benchmark/test_abs.py::test_abs, "
        "benchmark/test_abs.py::test_abs_inplace, benchmark/test_FLA/test_abs.py::TestDeep::test_deep",
    )


def test_a_long_note_is_cut() -> None:
    suite = Suite("many", Path("/"), tuple(Node(f"test_x.py::test_{number}", "x") for number in range(10)))
    (note,) = selection_notes(select(suite, ["x"]))
    assert note.endswith("test_x.py::test_7 and 2 more")


def test_the_whole_suite_runs_every_test_once() -> None:
    entries = select(SUITE, [])
    assert sorted(node for entry in entries for node in entry.nodes) == sorted(node.node for node in SUITE.nodes)


@pytest.mark.parametrize(
    ("asked", "near"),
    [("flattn", "flatten"), ("bm", "bmm"), ("test_flaten.py", "benchmark/test_flatten.py"), ("abs__:bool", "abs_")],
)
def test_no_match_suggests_the_nearest(asked: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"has no operator.*Did you mean .*{near}"):
        select(SUITE, [asked])


def test_part_of_a_file_s_name_is_no_file() -> None:
    with pytest.raises(UsageError, match="has no operator"):
        select(SUITE, ["abs.py"])


def test_a_suite_whose_paths_do_not_select() -> None:
    with pytest.raises(UsageError, match="has no operator"):
        select(Suite("plain", Path("/"), SUITE.nodes), ["benchmark/test_abs.py"])


def test_an_operator_file(tmp_path: Path) -> None:
    file = tmp_path / "ops.txt"
    file.write_text("# those of last week\nabs\n\n  fft:complex64   # its only dtype\n\ttest_x.py::test_y[a b]\n")
    assert read_operator_file(file) == ("abs", "fft:complex64", "test_x.py::test_y[a b]")


@pytest.mark.parametrize(
    ("text", "message"), [("", "names no operator"), ("# abs\n", "names no operator"), ("a b\n", "more than one word")]
)
def test_an_operator_file_that_says_nothing_usable(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "ops").write_text(text)
    with pytest.raises(UsageError, match=message):
        read_operator_file(tmp_path / "ops")


def test_an_operator_file_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "ops").write_bytes(b"\xef\xbb\xbfabs\r\n")
    assert read_operator_file(tmp_path / "ops") == ("abs",)


@pytest.mark.parametrize("text", ["abs:float32\0", "abs\n", "abs:\x1b[31m"])
def test_no_name_holds_a_control_character(text: str) -> None:
    with pytest.raises(UsageError, match="holds a control character"):
        select(SUITE, [text])


def test_an_operator_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read: No such file"):
        read_operator_file(tmp_path / "ops")
