"""A bisection as lines of text: what makes the change, in words that say no more than was tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from zl_bench.analysis.bisection import Found
from zl_bench.analysis.wording import counted, listed
from zl_bench.workflow.bisect import Bisection, Goal
from zl_bench.workflow.parts import Parts

CHANGE: dict[Goal, str] = {"ir": "changes the {criterion}", "code": "changes the machine code", "broken": "breaks it"}
TOGETHER: dict[Goal, str] = {"ir": "change the {criterion}", "code": "change the machine code", "broken": "break it"}


def answer_lines(bisection: Bisection) -> Iterator[str]:
    """What was found, what was not, and what it took."""
    one, several = (words[bisection.goal].format(criterion=bisection.subject.criterion) for words in (CHANGE, TOGETHER))
    yield from found_lines(bisection.found, one, several, lambda group: _as_the_whole(bisection, group))
    tried, parts = len(bisection.outcomes) - 1, len(bisection.parts.names)
    yield f"{counted(tried, 'set')} of {counted(parts, 'part')} tried; {counted(bisection.compiled, 'compile')} now"


def found_lines(found: Found, one: str, several: str, told: Callable[[Parts], str]) -> Iterator[str]:
    """What a search found. `one` and `several` say what one part does, and several do; `told` says more of a group."""
    if len(found.rest) == 1 and not found.whole:
        yield f"{found.rest[0]}, the switch's only part, does not: nothing here {one}"
    elif not found.whole and not found.apart:
        yield f"no part {one}: not all of them together, and none alone"
    elif not found.whole:
        yield f"all parts together do not; apart from the others {_each(found.apart)} {_verb(found.apart, one, several)}"
    for group in found.groups:
        if len(group) == 1 and len(found.groups) == 1 and not found.rest:
            yield f"{group[0]}, the switch's only part, {one}{told(group)}"
        elif len(group) == 1:
            yield f"{group[0]} alone {one}{told(group)}"
        else:
            yield f"{names(group)} {several} only together, none of them alone{told(group)}"
    if found.groups and found.rest:
        those = "these" if sum(map(len, found.groups)) > 1 else "it"
        yield f"without {those}, {names(found.rest)} {'do' if len(found.rest) > 1 else 'does'} not"


def _as_the_whole(bisection: Bisection, group: Parts) -> str:
    """Whether the group makes what all parts together make."""
    if bisection.goal == "broken" or group == bisection.parts.names:
        return ""
    same = bisection.outcomes[group].digest == bisection.outcomes[bisection.parts.names].digest
    return ", into what all parts make of it" if same else ", into something else than all parts together"


def names(parts: Parts) -> str:
    """Parts, for people."""
    return listed(parts, shown=40)


def _each(parts: Parts) -> str:
    return names(parts) + (" each" if len(parts) > 1 else "")


def _verb(parts: Parts, one: str, several: str) -> str:
    return several if len(parts) > 1 else one
