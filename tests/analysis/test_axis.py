from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.axis import AxisState, advice, axis_state, may_skip
from zl_bench.model import OperatorVerdict, Status, Verdict

SAME = OperatorVerdict(
    operator="op",
    dtype="-",
    verdict=Verdict.NO_IR_DIFF,
    rows=2,
    changed_rows=0,
    kernels=1,
    converts_before=1,
    converts_after=1,
    first_stage="-",
    machine_code="same",
    pins="none",
    reason="",
    seconds=1.0,
    status=Status.COMPLETE,
)
CHANGED = replace(SAME, verdict=Verdict.IR_CHANGED, changed_rows=1, first_stage="ttgir", machine_code="differs")
BROKEN = replace(SAME, verdict=Verdict.BROKEN, status=Status.PARTIAL)


def test_an_axis_is_live_once_anything_differs_anywhere() -> None:
    assert axis_state([SAME, CHANGED]) is AxisState.LIVE
    assert axis_state([replace(SAME, first_stage="llir", machine_code="differs")]) is AxisState.LIVE
    assert axis_state([replace(CHANGED, first_stage="-")]) is AxisState.LIVE
    assert axis_state([replace(BROKEN, broken_compiles=1)]) is AxisState.LIVE


def test_nothing_changed_is_not_shown_live() -> None:
    assert axis_state([SAME, SAME]) is AxisState.NOT_SHOWN_LIVE
    assert axis_state([SAME], known=False) is AxisState.NOT_SHOWN_LIVE
    assert axis_state([]) is AxisState.NOT_SHOWN_LIVE


def test_a_crash_alone_shows_no_life() -> None:
    assert axis_state([BROKEN]) is AxisState.NOT_SHOWN_LIVE


def test_dead_before_compiling_and_live_against_expectation() -> None:
    assert axis_state([], known=False) is AxisState.DEAD
    assert axis_state([CHANGED], known=False) is AxisState.LIVE


def test_a_null_control_is_nothing_else() -> None:
    assert axis_state([CHANGED], null_control=True) is AxisState.NULL_CONTROL
    assert axis_state([], known=False, null_control=True) is AxisState.NULL_CONTROL


def test_skip_it() -> None:
    assert advice(SAME, AxisState.LIVE) == "skip it"
    for pins in ("replayed 3/3", "all 36/36"):
        assert advice(replace(SAME, pins=pins), AxisState.LIVE) == "skip it"


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (replace(SAME, pins="first 1/36"), "no difference in 1 of 36 configurations"),
        (replace(SAME, pins="all 35/36"), "no difference in 35 of 36 configurations"),
        (replace(SAME, pins="missing 2"), "no difference; pins missing 2"),
        (replace(SAME, guessed_rows=2), "no difference; 2 rows with guessed values"),
        (replace(SAME, unstable_kernels=1), "no difference; 1 unstable kernel"),
        (replace(SAME, status=Status.PARTIAL), "no difference in the compared rows"),
        (replace(SAME, machine_code="differs"), "the switch acts below TTGIR"),
        (replace(SAME, kernels=0, status=Status.PARTIAL), "no kernel was compared"),
    ],
)
def test_everything_short_of_that_says_what_is_open(verdict: OperatorVerdict, expected: str) -> None:
    assert advice(verdict, AxisState.LIVE) == expected


def test_a_change_with_the_same_machine_code_is_nothing_to_measure() -> None:
    assert advice(replace(CHANGED, machine_code="same"), AxisState.LIVE) == "nothing to measure: same machine code"
    assert "1 of 36" in advice(replace(CHANGED, machine_code="same", pins="first 1/36"), AxisState.LIVE)
    partial = advice(replace(CHANGED, machine_code="same", status=Status.PARTIAL), AxisState.LIVE)
    assert "nothing to measure" not in partial
    assert advice(CHANGED, AxisState.LIVE) == "measure it"
    assert advice(replace(CHANGED, machine_code="-"), AxisState.LIVE) == "measure it"


verdicts = st.builds(
    replace,
    st.just(SAME),
    verdict=st.sampled_from(Verdict),
    status=st.sampled_from(Status),
    pins=st.sampled_from(["none", "first 1/36", "replayed 1/2", "replayed 2/2", "all 36/36", "missing 1"]),
    machine_code=st.sampled_from(["same", "differs", "-"]),
    guessed_rows=st.integers(0, 1),
    unstable_kernels=st.integers(0, 1),
    kernels=st.integers(0, 1),
)


@given(verdicts, st.sampled_from(AxisState))
def test_skip_it_is_said_only_when_it_is_promised(verdict: OperatorVerdict, state: AxisState) -> None:
    words = advice(verdict, state)
    assert words
    assert ("skip" in words) == may_skip(verdict, state)
    if may_skip(verdict, state):
        assert state is AxisState.LIVE
        assert verdict.verdict is Verdict.NO_IR_DIFF
        assert verdict.status is Status.COMPLETE
        assert verdict.pins in ("none", "replayed 2/2", "all 36/36")
        assert verdict.machine_code != "differs"
        assert not verdict.guessed_rows
