"""What a report can not speak for: each gap once, with the operators that share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.store.test_request import REQUEST
from zl_bench.analysis.axis import AxisState
from zl_bench.model import JudgedOperator, OperatorVerdict, Status, Verdict
from zl_bench.workflow.report_gaps import SHOWN, not_covered


def judged(operator: str, verdict: Verdict = Verdict.NO_IR_DIFF, *, dtype: str = "-", reason: str = "", pins: str = "none",
           guessed: int = 0, status: Status = Status.COMPLETE) -> JudgedOperator:  # fmt: skip
    found = OperatorVerdict(
        operator=operator, dtype=dtype, verdict=verdict, rows=4, changed_rows=0, kernels=1, converts_before=0,
        converts_after=0, first_stage="-", machine_code="same", pins=pins, reason=reason, seconds=1.0, status=status,
        guessed_rows=guessed,
    )  # fmt: skip
    return JudgedOperator(found, ())


def told(operators: Sequence[JudgedOperator], unfinished: Sequence[str] = ()) -> list[tuple[str, str]]:
    return [(gap.subject, gap.why) for gap in not_covered(unfinished, operators, (), AxisState.LIVE, None)]


def test_nothing_is_missing_of_operators_that_are_complete() -> None:
    assert told([judged("add"), judged("mul", Verdict.NO_KERNEL, pins="first 1/3")]) == []


@pytest.mark.parametrize(
    ("dtypes", "stages", "target", "subjects"),
    [("own", "all", "cuda:90", []), ("first", "all", "cuda:90", ["other dtypes"]),
     ("first", "ttgir", "cuda:90", ["other dtypes", "machine code"]), ("own", "ttgir", None, [])],
)  # fmt: skip
def test_what_the_command_line_left_out(dtypes: str, stages: str, target: str | None, subjects: list[str]) -> None:
    request = replace(REQUEST, extra={"dtypes": dtypes}, stages=stages, target=target)
    found = not_covered((), [judged("add")], (), AxisState.LIVE, None, request)
    assert [gap.subject for gap in found] == subjects


def test_the_same_gap_is_told_once() -> None:
    assert told([judged("add", pins="first 1/3"), judged("mul", pins="first 1/3")]) == [
        ("add, mul", "an autotuner's configurations are not all covered (pins: first 1/3)")
    ]


def test_gaps_that_differ_in_a_number_share_a_line_with_the_numbers_beside_the_names() -> None:
    assert told([judged("isin", guessed=2), judged("bincount", guessed=48), judged("one_hot", guessed=1)]) == [
        ("isin (2 rows), bincount (48 rows), one_hot (1 row)", "values that the stand-in device had to guess")
    ]


def test_reasons_that_differ_in_the_operators_own_name_share_a_line() -> None:
    missing = [judged(name, Verdict.NO_ROWS, reason=f"skipped: '{name}' not found") for name in ("geglu", "reglu")]
    assert told(missing) == [("geglu, reglu", "no row on both sides: skipped: its name not found")]
    assert told(missing[:1]) == [("geglu", "no row on both sides: skipped: 'geglu' not found")]


def test_other_reasons_are_never_one() -> None:
    found = told([judged(name, Verdict.NO_ROWS, reason=f"skipped: needs {name[0]}") for name in ("abs", "bmm")])
    assert found == [
        ("abs", "no row on both sides: skipped: needs a"),
        ("bmm", "no row on both sides: skipped: needs b"),
    ]


def test_what_most_operators_share_comes_first_and_many_names_are_counted() -> None:
    few = [judged("odd", Verdict.NO_ROWS, reason="no dtype")]
    many = [judged(f"op{number}", guessed=1) for number in range(SHOWN + 5)]
    found = told([*few, *many])
    assert [why for _, why in found] == [
        "values that the stand-in device had to guess (1 row)",
        "no row on both sides: no dtype",
    ]
    assert found[0][0].endswith("op7 and 5 more")


def test_an_operator_may_have_several_gaps() -> None:
    found = told([judged("svd", pins="missing 2", guessed=3, status=Status.FAILED)])
    assert {subject for subject, _ in found} == {"svd"}
    assert len(found) == 3


def test_an_unfinished_screen_says_so_first() -> None:
    assert told([judged("add", guessed=1)], ["mul", "div"])[0] == (
        "mul, div", "asked for and not finished: the screen ended before them"
    )  # fmt: skip


def test_a_root_without_a_screen_can_not_tell() -> None:
    assert told([]) == [
        ("what was asked", "no screen is recorded here, so whether anything is missing can not be told")
    ]
