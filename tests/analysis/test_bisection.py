"""The search for the parts that make a change, over tests that are known."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import ceil, log2

import pytest

from zl_bench.analysis.bisection import Found, Parts, find_parts


class Asked:
    """A test that counts how often it is asked, and is asked nothing twice."""

    def __init__(self, changes: Callable[[frozenset[str]], bool]):
        self._changes = changes
        self.sets: list[Parts] = []

    def __call__(self, parts: Parts) -> bool:
        assert parts not in self.sets
        self.sets.append(parts)
        return self._changes(frozenset(parts))


def names(count: int) -> list[str]:
    return [f"p{number}" for number in range(1, count + 1)]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 9, 32])
def test_one_part_that_acts_alone_is_found_in_few_tests(count: int) -> None:
    for culprit in names(count):
        asked = Asked(lambda on, culprit=culprit: culprit in on)
        found = find_parts(names(count), asked)
        rest = tuple(name for name in names(count) if name != culprit)
        assert found == Found(((culprit,),), (), rest, True)
        assert len(asked.sets) <= 1 + ceil(log2(count)) + 2  # all parts, the halves, alone, all the others


def test_parts_that_act_only_together_are_one_group() -> None:
    found = find_parts(names(8), Asked(lambda on: {"p3", "p6"} <= on))
    assert found.groups == (("p3", "p6"),)
    assert found.rest == ("p1", "p2", "p4", "p5", "p7", "p8")


def test_three_that_act_only_together_are_found() -> None:
    assert find_parts(names(9), Asked(lambda on: {"p1", "p5", "p9"} <= on)).groups == (("p1", "p5", "p9"),)


def test_parts_that_act_each_by_itself_are_groups_of_their_own() -> None:
    found = find_parts(names(8), Asked(lambda on: bool({"p2", "p7"} & on)))
    assert set(found.groups) == {("p2",), ("p7",)}
    assert found.rest == ("p1", "p3", "p4", "p5", "p6", "p8")


def test_parts_that_undo_each_other_are_apart() -> None:
    found = find_parts(names(4), Asked(lambda on: ("p1" in on) != ("p3" in on)))
    assert found == Found((), ("p1", "p3"), ("p2", "p4"), False)


def test_nothing_that_changes_is_nothing_found() -> None:
    assert find_parts(names(4), Asked(lambda on: False)) == Found((), (), ("p1", "p2", "p3", "p4"), False)


def test_a_part_that_another_hides_is_still_found_alone() -> None:
    # p1 acts unless p2 is on; p4 acts with p1 and p2 alone.
    def changes(on: frozenset[str]) -> bool:
        return ("p1" in on and "p2" not in on) or {"p1", "p2", "p4"} <= on

    found = find_parts(names(4), Asked(changes))
    assert found.groups == (("p1",),)


@pytest.mark.parametrize("seed", range(200))
def test_what_is_claimed_is_so(seed: int) -> None:
    """Of any test whatever: a group changes by itself, no part of a larger one alone, the rest does not."""
    chance = random.Random(seed)
    parts = names(chance.randint(1, 7))
    answers: dict[frozenset[str], bool] = {frozenset(): False}

    def changes(on: frozenset[str]) -> bool:
        return answers.setdefault(on, chance.random() < 0.4)

    found = find_parts(parts, Asked(changes))
    assert found.whole == answers[frozenset(parts)] == bool(found.groups)
    for group in found.groups:
        assert answers[frozenset(group)]
        if len(group) > 1:
            assert not any(answers[frozenset((part,))] for part in group)
    assert all(answers[frozenset((part,))] for part in found.apart)
    if found.whole:
        assert not answers[frozenset(found.rest)]
    everything = [*(part for group in found.groups for part in group), *found.apart, *found.rest]
    assert sorted(everything) == sorted(parts)
