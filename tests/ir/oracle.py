"""Triton's own printer without debug information as an oracle, and a comparison of its texts that is not ours.

The printer knows nothing of the normaliser under test, and `only_names_differ` uses none of it: a consistent renaming of
values, blocks and aliases, found token by token.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PRINTER = Path(__file__).with_name("oracle_printer.py")
TOKEN = re.compile(r'"[^"\n]*"|%[\w$.-]+|\^\w+|[#!][A-Za-z_]\w*(?![\w.])|[#!]?[\w.$]+|\S')


def print_all(paths: Iterable[Path], interpreter: str | Path = sys.executable) -> dict[Path, str | None]:
    """The text of each file as the Triton of `interpreter` prints it; None for one that its parser refuses."""
    command = [str(interpreter), str(PRINTER)]
    asked = "\n".join(map(str, paths))
    output = subprocess.run(command, input=asked, check=True, capture_output=True, text=True, timeout=300).stdout
    return {Path(path): text for path, text in json.loads(output).items()}


def print_alike(first: str, second: str) -> bool:
    """Whether two of the printer's texts are the same but for names."""
    return first == second or only_names_differ(first, second)


def only_names_differ(first: str, second: str) -> bool:
    """Whether some one-to-one renaming of values, blocks and aliases, function by function, makes the texts equal."""
    forward: dict[str, str] = {}
    backward: dict[str, str] = {}
    lines, others = token_lines(first), token_lines(second)
    if len(lines) != len(others):
        return False
    for words, other_words in zip(lines, others, strict=True):
        if "tt.func" in words:
            forward = {name: new for name, new in forward.items() if name[0] != "%"}
            backward = {name: new for name, new in backward.items() if name[0] != "%"}
        if len(words) != len(other_words):
            return False
        for word, other_word in zip(words, other_words, strict=True):
            if word[0] in "%^#!" and len(word) > 1 and "." not in word:
                if forward.setdefault(word, other_word) != other_word or backward.setdefault(other_word, word) != word:
                    return False
            elif word != other_word:
                return False
    return True


@cache
def token_lines(text: str) -> list[list[str]]:
    """The tokens of each line, alias definitions ordered by what they define."""
    lines = text.split("\n")
    definitions = sorted((line for line in lines if line[:1] in ("#", "!")), key=lambda line: line.partition(" = ")[2])
    return [TOKEN.findall(line) for line in definitions + [line for line in lines if line[:1] not in ("#", "!")]]
