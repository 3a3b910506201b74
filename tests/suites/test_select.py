"""Operators as asked for on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from zl_bench.errors import UsageError
from zl_bench.suites import base, pytest_suite
from zl_bench.suites.base import Entry, Suite, select

SUITE = Suite(
    "small",
    Path("/suite"),
    (
        base.TestNode("test_fft.py::test_fft", "fft", ("complex64",)),
        base.TestNode("test_matmul.py::test_matmul", "matmul", ("float16",)),
        base.TestNode("deep/test_fft.py::test_fft", "fft"),
    ),
)


def test_operators_are_named_once_in_the_order_of_the_files() -> None:
    assert SUITE.operators == ("fft", "matmul")


def test_nothing_asked_is_everything() -> None:
    assert [entry.text for entry in select(SUITE, [])] == ["fft", "matmul"]
    assert all(entry.dtype is None for entry in select(SUITE, ()))


def test_an_entry_has_all_nodes_of_its_operator() -> None:
    assert select(SUITE, ["fft"]) == (Entry("fft", None, ("test_fft.py::test_fft", "deep/test_fft.py::test_fft")),)


def test_a_dtype_stands_behind_the_colon() -> None:
    (entry,) = select(SUITE, ["fft:complex64"])
    assert (entry.operator, entry.dtype, entry.text) == ("fft", "complex64", "fft:complex64")


def test_a_dtype_that_no_source_names_may_be_asked_for() -> None:
    """Whether an operator has it is for its run to say: NO_ROWS with that reason."""
    assert select(SUITE, ["matmul:int4"])[0].dtype == "int4"


def test_duplicates_count_once_and_the_order_asked_is_kept() -> None:
    wanted = ["matmul", "fft:complex64", "matmul", "fft", "fft:complex64"]
    assert [entry.text for entry in select(SUITE, wanted)] == ["matmul", "fft:complex64", "fft"]


@pytest.mark.parametrize(("text", "near"), [("matmull", "matmul"), ("fftt:complex64", "fft")])
def test_an_unknown_operator_gets_a_suggestion(text: str, near: str) -> None:
    with pytest.raises(UsageError, match=f"Did you mean {near}"):
        select(SUITE, [text])


@pytest.mark.parametrize("text", ["", ":", ":float16", "xyzzy", "deep/test_fft.py", "../fft", "test_fft.py::test_fft"])
def test_an_unknown_operator_without_a_near_one(text: str) -> None:
    with pytest.raises(UsageError, match="has no operator") as error:
        select(SUITE, ["matmul", text])
    assert "zl-bench ops" in str(error.value)


def test_an_operator_that_does_not_ship_names_where_flaggems_is_looked_up() -> None:
    with pytest.raises(UsageError, match="take --suite flaggems --checkout DIR"):
        select(pytest_suite.load("builtin"), ["mm"])
    with pytest.raises(UsageError) as other:
        select(SUITE, ["mm"])
    assert "--checkout" not in str(other.value)


def test_a_colon_without_a_dtype() -> None:
    with pytest.raises(UsageError, match="names no dtype behind the colon"):
        select(SUITE, ["fft:"])


def test_a_second_colon_belongs_to_the_dtype() -> None:
    assert select(SUITE, ["fft:a:b/c"])[0].dtype == "a:b/c"
