from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.ab import Comparison, all_speedups, compare
from zl_bench.analysis.measured import Measured, Regime, Timed
from zl_bench.model import L2Policy, TimingMethod

COLD = Regime("graph", "cold")


def row(
    milliseconds: float | None, detail: str = "64", *, operator: str = "mm", dtype: str = "float16", node: str = "t.py::t",
    ordinal: int = 0, regime: Regime | None = COLD, direct: bool = False,
) -> Measured:  # fmt: skip
    own = None if milliseconds is None else Timed(milliseconds, regime)
    failure = "" if own is not None else "the latency is N/A"
    return Measured(operator, dtype, detail, node, ordinal, ordinal, own, failure, direct=direct)


def printed(milliseconds: float | None, detail: str = "64", *, occurrence: int = 0, direct: bool = False) -> Measured:
    """A row out of a text log."""
    return row(milliseconds, detail, node="", ordinal=occurrence, regime=None, direct=direct)


def only(before: list[Measured], after: list[Measured]) -> Comparison:
    (found,) = compare(before, after)
    return found


def test_pairs_and_their_spread() -> None:
    found = only([row(2.0, "a"), row(8.0, "b"), row(3.0, "c")], [row(3.0, "c"), row(1.0, "a"), row(1.0, "b")])
    assert (found.operator, found.dtype, found.paired, found.total) == ("mm", "float16", 3, 3)
    assert found.spread is not None
    assert found.spread.geomean == pytest.approx(16 ** (1 / 3))
    assert (found.spread.smallest, found.spread.median, found.spread.largest) == (1.0, 2.0, 8.0)
    assert (found.failed_before, found.failed_after, found.direct, found.only_before, found.only_after) == (
        0,
        0,
        "-",
        0,
        0,
    )


def test_rows_on_one_side_only_and_failed_rows_stay_in_the_total() -> None:
    before = [row(1.0, "a"), row(1.0, "b"), row(None, "c"), row(None, "d"), row(1.0, "e")]
    after = [row(2.0, "a"), row(None, "b"), row(1.0, "c"), row(None, "d"), row(1.0, "f"), row(None, "g")]
    found = only(before, after)
    assert (found.paired, found.total, found.failed_before, found.failed_after) == (1, 7, 2, 3)
    assert (found.only_before, found.only_after) == (1, 2)
    assert found.failures_after == ("the latency is N/A",) * 3


def test_without_a_pair_there_is_no_range() -> None:
    assert only([row(1.0)], []).spread is None
    assert only([], [row(None)]).spread is None
    assert compare([], []) == ()


def test_operators_and_dtypes_are_apart_and_sorted() -> None:
    before = [row(1.0, operator="sum"), row(2.0, dtype="int32"), row(3.0)]
    found = compare(before, list(reversed(before)))
    assert [(entry.operator, entry.dtype) for entry in found] == [
        ("mm", "float16"),
        ("mm", "int32"),
        ("sum", "float16"),
    ]
    assert all((entry.paired, entry.total) == (1, 1) for entry in found)


@pytest.mark.parametrize(
    ("before", "after", "pairs"),
    [
        (COLD, COLD, 1),
        (COLD, Regime("graph", "warm"), 0),
        (COLD, Regime("direct", "cold"), 0),
        (Regime("queued", "cold"), Regime("direct", "cold"), 0),
        (Regime("direct", "cold"), Regime("direct", "cold"), 1),
        (COLD, None, 1),
        (None, Regime("direct", "cold"), 1),
        (None, None, 1),
    ],
)
def test_rows_timed_otherwise_are_no_pair_as_far_as_it_is_known(
    before: Regime | None, after: Regime | None, pairs: int
) -> None:
    found = only([row(2.0, regime=before)], [row(1.0, regime=after)])
    assert (found.paired, found.total, len(found.otherwise)) == (pairs, 1, 1 - pairs)


def test_how_they_were_timed_is_named() -> None:
    found = only([row(2.0)], [row(1.0, regime=Regime("queued", "warm"))])
    assert found.otherwise == ("before graph, L2 cold; after queued, L2 warm",)


@pytest.mark.parametrize(
    ("before", "after", "sides"),
    [(False, False, "-"), (True, False, "before"), (False, True, "after"), (True, True, "both")],
)
def test_direct_rows_mark_their_side_whether_they_are_paired_or_not(before: bool, after: bool, sides: str) -> None:
    assert only([row(1.0, direct=before)], [row(1.0, direct=after)]).direct == sides
    assert only([row(1.0), row(None, "b", direct=before)], [row(1.0), row(1.0, "c", direct=after)]).direct == sides


def test_recorded_rows_pair_within_their_test_and_ordinal() -> None:
    before = [row(1.0, node="a"), row(2.0, node="b"), row(4.0, node="b", ordinal=1)]
    found = only(before, [row(1.0, node="a"), row(1.0, node="b", ordinal=1), row(1.0, node="c")])
    assert (found.speedups, found.total) == ((1.0, 4.0), 4)


def test_a_log_pairs_by_occurrence_whatever_the_test() -> None:
    recorded = [row(2.0, node="a"), replace(row(3.0, node="b"), occurrence=1), row(1.0, "x ", node="b")]
    logged = [printed(1.0), printed(1.0, occurrence=1), printed(1.0, occurrence=2), printed(4.0, "x")]
    assert (only(recorded, logged).speedups, only(recorded, logged).total) == ((0.25, 2.0, 3.0), 4)
    assert only(logged, recorded).speedups == (1 / 3, 0.5, 4.0)


def test_latencies_too_far_apart_for_a_ratio_are_no_pair() -> None:
    found = only([row(1e300)], [row(1e-300)])
    assert (found.paired, found.total, found.incomparable) == (0, 1, 1)


def test_the_mean_of_all_pairs_counts_rows_and_not_operators() -> None:
    before = [row(4.0, "a"), row(4.0, "b"), row(4.0, "c"), row(1.0, operator="sum")]
    found = compare(before, [replace(entry, own=Timed(1.0, COLD)) for entry in before])
    total = all_speedups(found)
    assert total is not None
    assert total.geomean == pytest.approx(64 ** (1 / 4))


def test_what_was_tried_without_a_row_is_there_with_none() -> None:
    found = compare([row(1.0)], [], [("mm", ""), ("add", ""), ("mm", "int8")])
    assert [(entry.operator, entry.dtype, entry.paired, entry.total) for entry in found] == [
        ("add", "-", 0, 0),
        ("mm", "float16", 0, 1),
        ("mm", "int8", 0, 0),
    ]


LATENCIES = st.none() | st.floats(1e-6, 1e6)
REGIMES = st.builds(Regime, st.sampled_from(TimingMethod.__args__), st.sampled_from(L2Policy.__args__))  # type: ignore[attr-defined]
KEYS = st.tuples(
    st.sampled_from(["mm", "sum"]),
    st.sampled_from(["float16", "int32"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 1),
)
SIDES = st.dictionaries(KEYS, st.tuples(LATENCIES, REGIMES, st.booleans()), max_size=12).map(
    lambda rows: [
        row(milliseconds, detail, operator=operator, dtype=dtype, ordinal=ordinal, regime=regime, direct=direct)
        for (operator, dtype, detail, ordinal), (milliseconds, regime, direct) in rows.items()
    ]
)


@given(SIDES, SIDES, st.randoms())
def test_no_order_matters(before: list[Measured], after: list[Measured], random: object) -> None:
    found = compare(before, after)
    random.shuffle(before)  # type: ignore[attr-defined]
    random.shuffle(after)  # type: ignore[attr-defined]
    assert compare(before, after) == found


@given(SIDES, SIDES)
def test_swapping_the_sides_inverts_the_spread(before: list[Measured], after: list[Measured]) -> None:
    for one, other in zip(compare(before, after), compare(after, before), strict=True):
        assert (one.paired, one.total) == (other.paired, other.total)
        assert (one.failed_before, one.only_before) == (other.failed_after, other.only_after)
        assert {one.direct, other.direct} in ({"-"}, {"both"}, {"before", "after"})
        assert (one.spread is None) == (other.spread is None)
        if one.spread is not None and other.spread is not None:
            assert one.spread.geomean * other.spread.geomean == pytest.approx(1)
            assert one.spread.smallest * other.spread.largest == pytest.approx(1)
            assert one.spread.largest * other.spread.smallest == pytest.approx(1)


@given(SIDES, SIDES, st.integers(-10, 10))
def test_the_scale_of_both_sides_changes_nothing(before: list[Measured], after: list[Measured], power: int) -> None:
    def scaled(rows: list[Measured]) -> list[Measured]:
        factor = 2.0**power
        return [
            replace(entry, own=entry.own and replace(entry.own, milliseconds=entry.own.milliseconds * factor))
            for entry in rows
        ]

    assert compare(scaled(before), scaled(after)) == compare(before, after)


@given(SIDES, SIDES)
def test_every_row_is_counted_and_the_mean_lies_within_the_range(before: list[Measured], after: list[Measured]) -> None:
    found = compare(before, after)
    assert sum(entry.total for entry in found) == len(
        {(entry.group, entry.detail, entry.ordinal) for entry in (*before, *after)}
    )
    for entry in found:
        assert entry.paired + len(entry.otherwise) + entry.incomparable <= entry.total
        assert entry.only_before + entry.only_after <= entry.total
        if entry.spread is not None:
            assert entry.spread.smallest <= entry.spread.geomean <= entry.spread.largest
            assert math.isfinite(entry.spread.geomean)
