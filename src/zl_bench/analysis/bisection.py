"""Which parts of a switch make a change: the search, over any test that says whether some parts together make it.

A test costs a compile, so parts are tried by the half: the shortest run of parts, from the first on, that makes the change
ends with a part that is needed. With that one kept on, the same is asked of the parts before it, until what is kept makes
the change by itself. One part that acts alone among n is so found in log2(n) tests, one that tries it alone, and one of
all the others. Nothing is claimed that was not tried: that parts act only together, each has been tried alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

Parts = tuple[str, ...]
Test = Callable[[Parts], bool]


@dataclass(frozen=True)
class Found:
    """What makes the change.

    `groups` are disjoint: each makes it by itself, and of several parts none does alone. `apart` are parts that do where
    all of them together do not. `rest` are the parts that make none together.
    """

    groups: tuple[Parts, ...]
    apart: Parts
    rest: Parts
    whole: bool
    """All parts together make the change."""


def find_parts(parts: Sequence[str], test: Test) -> Found:
    """Search. `test` must say no of no parts at all; it is asked once of each set, in the order of `parts`."""
    every = tuple(parts)
    asked: dict[Parts, bool] = {(): False}

    def changes(some: Parts) -> bool:
        ordered = tuple(part for part in every if part in some)
        if ordered not in asked:
            asked[ordered] = test(ordered)
        return asked[ordered]

    if not changes(every):
        apart = tuple(part for part in every if changes((part,)))
        return Found((), apart, tuple(part for part in every if part not in apart), False)
    groups: list[Parts] = []
    left = every
    while changes(left):
        group = _smallest(left, changes)
        groups.append(group)
        left = tuple(part for part in left if part not in group)
    return Found(tuple(groups), (), left, True)


def _smallest(parts: Parts, changes: Test) -> Parts:
    """Some of the parts that make the change by themselves: one if one of those that are needed does, else all of these."""
    kept: Parts = ()
    candidates = parts
    while not changes(kept):
        without, enough = (
            0,
            len(candidates),
        )  # so many of the first candidates make no change with `kept`, and so many do
        while enough - without > 1:
            middle = (without + enough) // 2
            if changes(candidates[:middle] + kept):
                enough = middle
            else:
                without = middle
        kept = (candidates[enough - 1], *kept)
        candidates = candidates[: enough - 1]
    if len(kept) > 1:
        return next(((part,) for part in kept if changes((part,))), kept)
    return kept
