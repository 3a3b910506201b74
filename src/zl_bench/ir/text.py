"""What the textual stages share: decoding, and the canonical form that normalising one gives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from zl_bench.ir.unreadable import UnreadableStage


@dataclass(frozen=True)
class Canonical:
    """A stage with everything removed that does not matter.

    Two stages are the same exactly when `code` and `attributes` are equal; `text` is for people, and its line breaks
    and spacing mean nothing.
    """

    text: str
    code: str
    attributes: str = ""
    """The module attributes of an MLIR stage, so that a change in them alone can be told apart."""
    converts: int = 0
    """How many convert_layout operations there are."""
    unordered: int = 0
    """How many operations let the order in which programs come show in floating-point results (atomic additions)."""


_STRING_COMMENT_OR_BLANK = {comment: re.compile(rf'"(?:[^"\\]|\\.)*"|(?:\s|{comment}.*)+') for comment in (";", "//")}


def decode(stage: str, content: bytes) -> str:
    """The text of a stage. Raises UnreadableStage when it is empty, binary or not UTF-8."""
    if not content.strip():
        raise UnreadableStage(stage, "it is empty")
    if content.startswith(b"\x7fELF") or b"\x00" in content:
        raise UnreadableStage(stage, "it holds binary data where text is expected")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableStage(stage, f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None


def without_unused_labels(lines: list[str], pattern: re.Pattern[str]) -> list[str]:
    """Drop `label:` lines whose label matches `pattern` and that no other line mentions: debug information's marks."""
    mentioned = {name for line in lines if not line.endswith(":") for name in pattern.findall(line)}
    return [
        line
        for line in lines
        if not (line.endswith(":") and pattern.fullmatch(line[:-1]) and line[:-1] not in mentioned)
    ]


def fold_line(line: str, comment: str) -> str:
    """One line without its comment, white space folded to single blanks; what a string holds stays as it is."""
    if '"' not in line:
        return " ".join(line.partition(comment)[0].split())
    kept = _STRING_COMMENT_OR_BLANK[comment].sub(lambda match: match.group() if match.group()[0] == '"' else " ", line)
    return kept.strip(" ")
