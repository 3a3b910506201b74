"""What the reports have in common."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"
WIDTH = 120


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> list[str]:
    """The lines of a table whose first `words` columns are words and whose others are numbers."""
    rule = ["---" if column < words else "---:" for column in range(len(head))]
    return [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in [head, rule, *rows]]


def paragraph(text: str) -> list[str]:
    """The text in lines of the usual length."""
    return textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def keep(text: str, name: str | None) -> None:
    """Print a report and, where it has a name, keep it in results/NAME.md."""
    print(text)
    if name:
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.md").write_text(text, encoding="utf-8")
