"""Aligning two sides' passes, and where they part."""

from __future__ import annotations

from zl_bench.analysis.trace import Comparison, TracedPass, compare


def passes(text: str, stage: str = "ttgir") -> list[TracedPass]:
    """`name=digest` words; `name=?` can not be compared."""
    found: list[TracedPass] = []
    for word in text.split():
        name, _, digest = word.partition("=")
        occurrence = 1 + sum(one.name == name for one in found)
        found.append(TracedPass(stage, name, occurrence, None if digest == "?" else digest))
    return found


def compared(before: str, after: str, start: tuple[str | None, str | None] = ("s", "s"), **more: object) -> Comparison:
    return compare(passes(before), passes(after), start, **more)  # type: ignore[arg-type]


def turns(comparison: Comparison) -> list[tuple[str, bool]]:
    return [(step.a_pass.label, step.apart) for step in comparison.turns]


def test_sides_that_agree_everywhere_never_part() -> None:
    found = compared("a=1 b=2", "a=1 b=2")
    assert found.first_parting is None
    assert not found.turns
    assert not found.apart_at_end
    assert [step.apart for step in found.steps] == [False, False]


def test_the_first_parting_is_named_by_its_occurrence() -> None:
    found = compared("a=1 b=2 a=3 b=4", "a=1 b=2 a=9 b=8")
    assert turns(found) == [("a@2", True)]
    assert found.first_parting is not None and found.first_parting.only is None
    assert found.apart_at_end


def test_sides_may_meet_again() -> None:
    found = compared("a=1 b=2 c=3", "a=7 b=2 c=8")
    assert turns(found) == [("a@1", True), ("b@1", False), ("c@1", True)]
    assert found.first_parting is found.turns[0]


def test_a_pass_of_one_side_alone_is_a_step_of_its_own() -> None:
    found = compared("a=1 c=3", "a=1 b=2 c=3")
    assert turns(found) == [("b@1", True), ("c@1", False)]
    assert found.first_parting is not None and found.first_parting.only == "after"
    assert found.steps[1].before is None


def test_a_pass_of_one_side_alone_that_changes_nothing_parts_nothing() -> None:
    assert not compared("a=1 c=3", "a=1 b=1 c=3").turns


def test_equal_names_of_other_stages_do_not_answer_each_other() -> None:
    found = compare(passes("a=1", "ttir"), passes("a=1", "ttgir"), ("s", "s"))
    assert [step.only for step in found.steps] == ["before", "after"]


def test_frontends_may_differ_already() -> None:
    found = compared("a=1 b=2", "a=9 b=8", start=("s", "t"))
    assert found.apart_at_start
    assert found.first_parting is None
    assert found.apart_at_end
    found = compared("a=1 b=2", "a=1 b=8", start=("s", "t"))
    assert turns(found) == [("a@1", False), ("b@1", True)]
    assert found.first_parting is found.turns[1]


def test_what_can_not_be_compared_equals_nothing_not_even_itself() -> None:
    assert turns(compared("a=1 b=?", "a=1 b=?")) == [("b@1", True)]
    assert compared("a=1", "a=1", start=(None, None)).apart_at_start


def test_what_follows_a_failure_on_the_other_side_is_left_out() -> None:
    found = compared("a=1 b=2 c=3", "a=1", failed="after")
    assert [step.a_pass.label for step in found.steps] == ["a@1"]
    assert not found.turns
    found = compared("a=1", "a=1 b=2", failed="before")
    assert len(found.steps) == 1


def test_no_passes_at_all() -> None:
    assert not compared("", "").apart_at_end
    assert compared("", "", start=("s", "t")).apart_at_end


def test_a_pass_whose_number_is_not_the_same_on_both_sides_is_named_with_both() -> None:
    found = compared("a=1 c=3 b=4", "a=1 b=2 c=3 b=4")
    assert [step.label for step in found.steps] == ["a@1", "b@1", "c@1", "b@1 (b@2 of after)"]
