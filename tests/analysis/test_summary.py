from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.measured import Measured, Regime, Timed, geometric_mean
from zl_bench.analysis.summary import OperatorSummary, all_speedups, summarise

COLD = Regime("graph", "cold")
QUEUED = Regime("queued", "cold")


def row(
    own: float | None, torch: float | None = None, *, operator: str = "mm", regime: Regime | None = COLD
) -> Measured:
    timed, baseline = (None if value is None else Timed(value, regime) for value in (own, torch))
    return Measured(operator, "float16", "64", "t.py::t", 0, 0, timed, "" if timed else "N/A", baseline)


def only(*rows: Measured) -> OperatorSummary:
    (found,) = summarise(rows)
    return found


def test_the_operator_against_torch() -> None:
    found = only(row(1.0, 2.0), row(1.0, 8.0), row(2.0, 1.0))
    assert (found.operator, found.dtype, found.rows, found.failed) == ("mm", "float16", 3, 0)
    assert found.spread is not None
    assert (found.spread.smallest, found.spread.median, found.spread.largest) == (0.5, 2.0, 8.0)
    assert found.spread.geomean == pytest.approx(2.0)
    assert not found.direct


def test_failed_rows_and_rows_without_torch_are_counted_apart() -> None:
    found = only(row(None, 2.0), row(None), row(1.0), row(1.0, 3.0))
    assert (found.rows, found.failed, found.without_torch, found.speedups) == (4, 2, 1, (3.0,))
    assert only(row(1.0)).spread is None


def test_a_baseline_that_was_timed_otherwise_is_not_in_the_range() -> None:
    found = only(replace(row(1.0, 2.0), torch=Timed(2.0, QUEUED), torch_direct=True), row(1.0, 4.0))
    assert (found.speedups, found.otherwise) == ((4.0,), ("torch queued, L2 cold; operator graph, L2 cold",))
    assert found.direct


@pytest.mark.parametrize("field", ["direct", "torch_direct"])
def test_a_direct_row_marks_its_operator(field: str) -> None:
    assert only(row(1.0, 1.0), replace(row(None), **{field: True})).direct  # type: ignore[arg-type]


def test_operators_are_sorted_and_the_total_counts_rows() -> None:
    found = summarise([row(1.0, 1.0, operator="sum"), row(1.0, 4.0), row(1.0, 4.0), row(1.0, operator="add")])
    assert [entry.operator for entry in found] == ["add", "mm", "sum"]
    total = all_speedups(found)
    assert total is not None
    assert total.geomean == pytest.approx(16 ** (1 / 3))
    assert all_speedups(summarise([])) is None


def test_what_was_tried_without_a_row_is_there_with_none() -> None:
    tried = [("add", ""), ("mm", ""), ("mm", "float16"), ("mm", "int8"), ("sum", "int8"), ("sum", "")]
    found = [(entry.operator, entry.dtype, entry.rows, entry.failed) for entry in summarise([row(1.0)], tried)]
    assert found == [("add", "-", 0, 0), ("mm", "float16", 1, 0), ("mm", "int8", 0, 0), ("sum", "int8", 0, 0)]


LATENCIES = st.none() | st.floats(1e-6, 1e6)
ROWS = st.lists(st.builds(row, LATENCIES, LATENCIES, operator=st.sampled_from(["mm", "sum"])), max_size=10)


@given(ROWS, st.randoms())
def test_the_order_does_not_matter(rows: list[Measured], random: object) -> None:
    found = summarise(rows)
    random.shuffle(rows)  # type: ignore[attr-defined]
    assert summarise(rows) == found


@given(ROWS)
def test_every_row_is_failed_or_compared_or_without_torch(rows: list[Measured]) -> None:
    found = summarise(rows)
    assert sum(entry.rows for entry in found) == len(rows)
    assert all(entry.rows == entry.failed + len(entry.speedups) + entry.without_torch for entry in found)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_a_mean_lies_within_its_values(values: list[float]) -> None:
    assert min(values) <= geometric_mean(values) <= max(values)
