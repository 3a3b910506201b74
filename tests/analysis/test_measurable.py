"""What is worth measuring, and what a placebo must be."""

from __future__ import annotations

import pytest

from tests.analysis.hand_made import RULES, Workshop, row
from zl_bench.analysis.measurable import (
    Kind,
    RowToMeasure,
    Screened,
    kind_of,
    lacking_placebos,
    lenders,
)
from zl_bench.analysis.pairing import NOTHING_UNSTABLE, SelfDifferences, pair_rows
from zl_bench.model import Kernel, Verdict

SHOP = Workshop()
PLAIN = {"ttgir": "g", "cubin": "m"}


def kind(before: list[Kernel], after: list[Kernel], unstable: SelfDifferences = NOTHING_UNSTABLE) -> Kind | None:
    compared = pair_rows(row(*before), row(*after), SHOP.prints, RULES, unstable)
    return kind_of(compared, before, after)


def test_equal_launches_are_a_placebo_though_the_ttgir_differs() -> None:
    assert kind([SHOP.kernel(**PLAIN)], [SHOP.kernel(**PLAIN)]) == "placebo"
    assert kind([SHOP.kernel(ttgir="g", cubin="m")], [SHOP.kernel(ttgir="h", cubin="m")]) == "placebo"


@pytest.mark.parametrize(
    "after",
    [
        {"ttgir": "g", "cubin": "n"},
        {"configuration": "BLOCK: 128", **PLAIN},
        {"warps": 8, **PLAIN},
        {"attributes": "{x: 16}", **PLAIN},
    ],
)
def test_a_difference_in_code_configuration_or_launch_is_none(after: dict[str, str]) -> None:
    assert kind([SHOP.kernel(configuration="", **PLAIN)], [SHOP.kernel(**after)]) == "changed"  # type: ignore[arg-type]


def test_another_sequence_is_a_change() -> None:
    one, two = SHOP.kernel("one", **PLAIN), SHOP.kernel("two", **PLAIN)
    assert kind([one, two], [two, one]) == "changed"
    assert kind([one, one], [one]) == "changed"


def test_nothing_is_said_without_a_kernel_without_machine_code_or_of_unstable_ones() -> None:
    kernel, other = SHOP.kernel(ttgir="g", cubin="m"), SHOP.kernel(ttgir="g", cubin="n")
    assert kind([], []) is None
    assert kind([SHOP.kernel(ttgir="g")], [SHOP.kernel(ttgir="h")]) is None
    assert kind([kernel], [other], SelfDifferences({kernel.identity: frozenset({"cubin"})})) is None


def test_five_placebos_are_enough() -> None:
    rows = [RowToMeasure(row(detail=str(number)).key, "placebo") for number in range(5)]
    changed = RowToMeasure(row(detail="x").key, "changed")
    assert [lacking_placebos([changed, *rows[:count]]) for count in (0, 4, 5)] == [5, 1, 0]


def test_the_cheapest_operators_without_a_difference_lend() -> None:
    one = Screened("one", None, Verdict.IR_CHANGED, True, 1.0)
    slow, fast = (
        Screened(name, None, Verdict.NO_IR_DIFF, False, cost) for name, cost in (("slow", 9.0), ("fast", 2.0))
    )
    none = Screened("none", None, Verdict.NO_KERNEL, False, 0.1)
    assert lenders([slow, one, fast, none], [one]) == [fast, slow]
    assert lenders([slow, fast], [fast]) == [slow]
    assert [screened.worth_measuring for screened in (one, slow)] == [True, False]
    assert not Screened("same", None, Verdict.IR_CHANGED, False, 1.0).worth_measuring
