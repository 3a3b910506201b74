"""Small pieces of sentences that reasons, advice and messages share."""

from __future__ import annotations

from collections.abc import Iterable

LONGEST_MESSAGE = 300
LISTED = 3


def one_line(text: str, longest: int = LONGEST_MESSAGE) -> str:
    """The text with every run of white space as one space, at most `longest` characters.

    What is too long loses its middle: compilers name the error first, then print source, and say what is wrong last.
    """
    flat = " ".join(text.split())
    if len(flat) <= longest:
        return flat
    head = longest // 3
    return f"{flat[:head].rstrip()} … {flat[head - longest + 3 :].lstrip()}"


def counted(number: int, noun: str) -> str:
    """`1 row`, `2 rows`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(items: Iterable[str], *, shown: int = LISTED) -> str:
    """The distinct items in order, comma-separated, the first few in full and the number of the rest."""
    distinct = list(dict.fromkeys(items))
    rest = len(distinct) - shown
    return ", ".join(distinct[:shown]) + (f" and {rest} more" if rest > 0 else "")
