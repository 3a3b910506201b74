"""Two texts of a stage aligned line by line, for reading side by side.

Only for the eye: whether two stages are the same is the fingerprint's to say. Lines that part in nothing but the numbers of
their values are aligned, and count as the same where each value has the same partner throughout; else one more operation at
the top would mark every line below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from zl_bench.ir.fingerprint import fingerprint, normalise
from zl_bench.ir.layouts import Layout, name_layouts
from zl_bench.ir.stages import StageKind, stage_kind

CONTEXT = 3
"""Lines that are the same, kept before and after each that differs."""
LONGEST = 6000
"""Lines of a text beyond which none are aligned: it would take minutes, and nobody reads it in a page."""
EXACT = 800
"""Lines beyond which difflib may pass over those that are everywhere, which keeps its time from growing with the square."""
MOST_SHOWN = 1200
"""Lines of one comparison that are kept."""

VALUE = {
    StageKind.MLIR: re.compile(r"([%^][A-Za-z_][\w$-]*)\.(\d+)"),
    StageKind.LLVM: re.compile(r"([%!#])(\d+)\b"),
    StageKind.PTX: re.compile(r"(%[a-z]+|\$L__BB\d+_)(\d+)\b"),
}
"""Numbers that only tell values apart. Assembly names real registers, and which one it is matters there."""
OPERATION = re.compile(r"(?:[%\w.#:, $]+ = )?([\w.\"@]+)")
LAYOUT = re.compile(r"#[\w.]++(?:<\{[^<>{}#]*\}>|(?!<))")


@dataclass(frozen=True)
class Line:
    """One line, numbered from 1 on each side. A side is None where it has no such line; `left out` counts on both."""

    kind: Literal["same", "differs", "left out"]
    before_number: int | None
    before: str | None
    after_number: int | None
    after: str | None
    count: int = 1
    """Of `left out`: how many lines that are the same stand here."""


@dataclass(frozen=True)
class SideBySide:
    """A comparison of two texts, cut to what differs and a few lines around it."""

    lines: tuple[Line, ...]
    layouts: tuple[Layout, ...]
    """What the names of layouts in the lines stand for."""
    before_lines: int
    """Of the whole text."""
    after_lines: int
    differing: int
    """Lines that differ, those that were cut away included."""
    note: str = ""
    """What is not shown, and why; empty where all that differs is."""


def side_by_side(stage: str, before: bytes, after: bytes) -> SideBySide:
    """Align the normalised texts of two contents of a stage. Raises UnreadableStage."""
    kind = stage_kind(stage)
    texts: tuple[str, ...] = (normalise(stage, before), normalise(stage, after))
    layouts: tuple[Layout, ...] = ()
    if kind is StageKind.MLIR:
        texts, layouts = name_layouts(texts)
    old, new = (text.splitlines() for text in texts)
    if max(len(old), len(new)) > LONGEST:
        note = f"too long to be aligned here: {len(old)} lines before, {len(new)} after"
        return SideBySide((), (), len(old), len(new), 0, note)
    aligned = list(_aligned(kind, old, new))
    same = all(line.kind == "same" for line in aligned)
    if same and fingerprint(stage, before).digest != fingerprint(stage, after).digest:
        aligned = list(_aligned(StageKind.OPAQUE, old, new))
    differing = sum(line.kind == "differs" for line in aligned)
    shown = _with_context(aligned)
    note = "" if len(shown) <= MOST_SHOWN else f"the first {MOST_SHOWN} lines of {len(shown)} are shown"
    kept = tuple(shown[:MOST_SHOWN])
    used = "\n".join(text for line in kept for text in (line.before, line.after) if text)
    return SideBySide(
        kept, tuple(layout for layout in layouts if layout.name in used), len(old), len(new), differing, note
    )


def _aligned(kind: StageKind, old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    value = VALUE.get(kind)
    partners = _Partners(value)
    keys = [[_without_numbers(value, line) for line in side] for side in (old, new)]
    for start, stop, other_start, other_stop, alike in _blocks(*keys):
        if alike:
            for a, b in zip(range(start, stop), range(other_start, other_stop), strict=True):
                same = partners.agree(old[a], new[b])
                yield Line("same" if same else "differs", a + 1, old[a], b + 1, new[b])
        else:
            yield from _replaced(old, new, range(start, stop), range(other_start, other_stop))


def _replaced(old: Sequence[str], new: Sequence[str], before: range, after: range) -> Iterator[Line]:
    """Lines that differ: those with the same operation on the same type stand beside each other, the others alone."""
    operations = [[_operation(side[place]) for place in places] for side, places in ((old, before), (new, after))]
    for start, stop, other_start, other_stop, alike in _blocks(*operations):
        if alike:
            for a, b in zip(before[start:stop], after[other_start:other_stop], strict=True):
                yield Line("differs", a + 1, old[a], b + 1, new[b])
        else:
            yield from (Line("differs", a + 1, old[a], None, None) for a in before[start:stop])
            yield from (Line("differs", None, None, b + 1, new[b]) for b in after[other_start:other_stop])


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, int, int, bool]]:
    """Ranges of both sides in order, and whether their items are the same."""
    matcher = SequenceMatcher(None, old, new, autojunk=max(len(old), len(new)) > EXACT)
    for tag, start, stop, other_start, other_stop in matcher.get_opcodes():
        yield start, stop, other_start, other_stop, tag == "equal"


class _Partners:
    """Which value of one side stands for which of the other, as the lines so far have it."""

    def __init__(self, value: re.Pattern[str] | None) -> None:
        self._value = value
        self._forth: dict[str, str] = {}
        self._back: dict[str, str] = {}

    def agree(self, before: str, after: str) -> bool:
        """Whether two lines that are alike but for the numbers of their values name partners throughout."""
        if self._value is None:
            return True
        pairs = zip(self._value.finditer(before), self._value.finditer(after), strict=True)
        # Every value of the line is heard: one that has another partner must not leave the later ones unknown.
        found = [self._are_partners(a.group(), b.group()) for a, b in pairs]
        return all(found)

    def _are_partners(self, before: str, after: str) -> bool:
        return self._forth.setdefault(before, after) == after and self._back.setdefault(after, before) == before


def _without_numbers(value: re.Pattern[str] | None, line: str) -> str:
    """Its pattern takes the name and the number of a value apart, so that splitting gives the text, name and number in turn."""
    if value is None:
        return line
    parts = value.split(line)
    del parts[2::3]
    return "".join(parts)


def _operation(line: str) -> str:
    """What a line does and to what type, whatever the layout: `tt.load tensor<64xf16, >`."""
    found = OPERATION.match(line.strip())
    _, colon, types = line.rpartition(" : ")
    while colon and (bare := LAYOUT.sub("", types)) != types:
        types = bare
    return f"{found[1]} {types if colon else ''}" if found else line


def _with_context(lines: Sequence[Line]) -> list[Line]:
    """The lines that differ with those around them; every other run of lines as one that counts them."""
    near = [False] * len(lines)
    for place, line in enumerate(lines):
        if line.kind == "differs":
            for neighbour in range(max(0, place - CONTEXT), min(len(lines), place + CONTEXT + 1)):
                near[neighbour] = True
    shown: list[Line] = []
    away = 0
    for line, kept in zip(lines, near, strict=True):
        if not kept:
            away += 1
            continue
        if away:
            shown.append(Line("left out", None, None, None, None, away))
            away = 0
        shown.append(line)
    if away and shown:
        shown.append(Line("left out", None, None, None, None, away))
    return shown
