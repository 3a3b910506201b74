"""What changed its verdict between two roots, from hand-made verdicts and judged rows."""

from __future__ import annotations

from dataclasses import replace

from tests.analysis.made_rounds import key, row
from zl_bench.analysis.compare import Standing, compare_standings
from zl_bench.analysis.judgement import JudgedRow, judge
from zl_bench.analysis.rounds import pair_rounds
from zl_bench.model import JudgedOperator, NodeVerdict, OperatorVerdict, PairedRow, RowKey, Status, Verdict

SAME = OperatorVerdict(
    operator="mm", dtype="-", verdict=Verdict.NO_IR_DIFF, rows=2, changed_rows=0, kernels=1, converts_before=1,
    converts_after=1, first_stage="-", machine_code="same", pins="replayed 1/1", reason="", seconds=1.0,
    status=Status.COMPLETE,
)  # fmt: skip
CHANGED = replace(
    SAME,
    verdict=Verdict.IR_CHANGED,
    changed_rows=1,
    first_stage="ttgir",
    machine_code="differs",
    reason="ttgir differs: mm_kernel",
)


def judged(verdict: OperatorVerdict, changed: tuple[str, ...] = ()) -> JudgedOperator:
    rows = tuple(PairedRow(key(detail), detail in changed, ()) for detail in ("64", "128"))
    return JudgedOperator(verdict, (NodeVerdict("", verdict, rows, (), (), (), (), ()),))


def standing(
    verdict: OperatorVerdict = SAME, changed: tuple[str, ...] = (), rows: dict[RowKey, JudgedRow] | None = None
) -> Standing:
    return Standing(verdict.operator, judged(verdict, changed), rows or {})


def measured(after: list[float], rounds: int | None = None) -> dict[RowKey, JudgedRow]:
    before = [1.0, 1.001, 0.999, 1.0, 1.001, 0.999][: rounds or len(after)]
    return {found.key: found for found in judge(pair_rounds(row(before, after[: len(before)]))).rows}


FASTER = measured([0.9, 0.901, 0.899, 0.9, 0.901, 0.899])
SLOWER = measured([1.1, 1.101, 1.099, 1.1, 1.101, 1.099])


def test_what_stays_is_not_told() -> None:
    assert compare_standings({"mm": standing()}, {"mm": standing()}) == ()
    assert compare_standings({"mm": standing(rows=FASTER)}, {"mm": standing(rows=FASTER)}) == ()


def test_another_verdict_with_both_reasons_and_the_rows_that_moved() -> None:
    (change,) = compare_standings({"mm": standing()}, {"mm": standing(CHANGED, ("128",))})
    assert (change.kind, change.entry, change.a, change.b) == ("verdict", "mm", "NO_IR_DIFF", "IR_CHANGED")
    assert change.why == (
        "A: no difference in 2 rows, machine code the same; B: ttgir differs: mm_kernel; changed in B alone: float16 128"
    )


def test_other_pins_may_be_why() -> None:
    (change,) = compare_standings({"mm": standing()}, {"mm": standing(replace(CHANGED, pins="first 1/36"))})
    assert change.why.endswith("pins replayed 1/1 in A, first 1/36 in B")


def test_the_same_word_that_rests_on_other_rows_or_other_machine_code() -> None:
    (change,) = compare_standings({"mm": standing(CHANGED, ("64",))}, {"mm": standing(CHANGED, ("128",))})
    assert (change.kind, change.why) == ("code", "changed in A alone: float16 64; changed in B alone: float16 128")
    same_code = replace(CHANGED, machine_code="same")
    (change,) = compare_standings({"mm": standing(same_code, ("64",))}, {"mm": standing(CHANGED, ("64",))})
    assert change.why == "machine code was the same in A, differs in B"


def test_operators_of_one_root_alone() -> None:
    changes = compare_standings({"mm": standing()}, {"add": standing(replace(CHANGED, operator="add"))})
    assert [(one.kind, one.entry, one.a, one.b) for one in changes] == [
        ("only in A", "mm", "NO_IR_DIFF", "-"),
        ("only in B", "add", "-", "IR_CHANGED"),
    ]


def test_another_verdict_on_speed_with_the_numbers_of_both() -> None:
    (change,) = compare_standings({"mm": standing(rows=FASTER)}, {"mm": standing(rows=SLOWER)})
    assert (change.kind, change.row, change.a, change.b) == ("speed", "float16 64", "FASTER", "SLOWER")
    assert change.why.startswith("A: 1.1111 (")
    assert change.why.endswith("over 6 rounds; the intervals are apart")


def test_one_round_never_shows_that_something_moved() -> None:
    (change,) = compare_standings({"mm": standing(rows=FASTER)}, {"mm": standing(rows=measured([1.1], 1))})
    assert (change.a, change.b) == ("FASTER", "INCONCLUSIVE")
    assert change.why.endswith("B: 0.9091 over 1 round; without two intervals nothing says that it moved")
