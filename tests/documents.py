"""The commands that the documents show, and what they say that these print."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
DOCUMENTS = (PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md")))
FENCE = "```"
LEFT_OUT = "…"


@dataclass(frozen=True)
class Step:
    """A command of a console block, and the lines below it."""

    command: str
    output: tuple[str, ...]


def commands(document: Path) -> list[str]:
    """Every line of a block of code that calls `zl-bench`, indented or after a `$`, without its comment."""
    found = re.findall(r"^(?:    |\$ )(zl-bench .*)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.join(shlex.split(line, comments=True)) for line in found]


def steps(document: Path) -> Iterator[Step]:
    """The commands of the console blocks in order."""
    for block in re.findall(
        rf"^{FENCE}console\n(.*?)^{FENCE}$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    ):
        for shown in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = shown.rstrip("\n").split("\n")
            yield Step(command, tuple(output))


def says(expected: tuple[str, ...], printed: str) -> str:
    """The first expected line that is not printed where it should be; empty if all are.

    A line that is left out stands for any number of lines, and one that ends so for whatever follows in it.
    """
    lines, place, skipping = printed.splitlines(), 0, False
    for line in expected:
        if line == LEFT_OUT:
            skipping = True
            continue
        while skipping and place < len(lines) and not _is(line, lines[place]):
            place += 1
        if place >= len(lines) or not _is(line, lines[place]):
            return line
        place, skipping = place + 1, False
    return "" if skipping or place == len(lines) else f"(then nothing, and not {lines[place]!r})"


def _is(expected: str, printed: str) -> bool:
    return printed.startswith(expected[: -len(LEFT_OUT)]) if expected.endswith(LEFT_OUT) else printed == expected
