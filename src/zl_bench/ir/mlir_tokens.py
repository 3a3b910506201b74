"""MLIR's lexical structure, as far as comparing needs it: tokens, brackets and which `{` opens a region.

Grammar: https://mlir.llvm.org/docs/LangRef/ (bare-id, suffix-id, string-literal, alias names).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from zl_bench.ir.unreadable import UnreadableStage

_SUFFIX_ID = r"(?:[0-9]+|[A-Za-z_$.\-][A-Za-z0-9_$.\-]*)"
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LOCATION_NAME = r"\#loc[0-9]*"
_PLACE = (
    rf"(?:{_STRING}(?::[0-9]+:[0-9]+|\({_LOCATION_NAME}\))?|callsite\({_LOCATION_NAME}\ at\ {_LOCATION_NAME}\)|unknown)"
)
_PIECE = re.compile(
    rf"""\s*(?:
      loc\((?<=[^\s=,\[<(:]\ loc\()(?:{_LOCATION_NAME}|{_PLACE})\)    # of an operation or an argument
    | \#(?<=^\#)loc[0-9]*\ =\ loc\({_PLACE}\)$     # a line that gives one a name
    | [A-Za-z_][A-Za-z0-9_$.]*                        # bare identifier, operation name, keyword
    | %{_SUFFIX_ID}(?:[:\#][0-9]+)?                   # value, with a result count or a result number
    | [\#!]{_SUFFIX_ID}                               # attribute or type, or an alias of one
    | [0-9][A-Za-z0-9_.]*                             # number, shape
    | {_STRING}
    | @(?:{_STRING}|[A-Za-z_$.][A-Za-z0-9_$.\-]*)     # symbol
    | \^{_SUFFIX_ID}                                  # block
    | //[^\n]*                                        # comment
    | -> | >= | <= | ==                               # `->` so that its `>` closes nothing
    | [^\s])
    """,
    re.VERBOSE | re.MULTILINE,
)
"""White space and a token. Locations make up most of a module and mean nothing to a comparison, so those in a common form are
one token each: the first only where no attribute is expected, so that nothing is lost with it."""
_OPENING = frozenset("([{")
_CLOSING = {")": "(", "]": "[", "}": "{"}
_BRACKETS_AND_MARK = frozenset('([{)]}"')
_TERMINATORS = frozenset({"return", "yield"})
_ALIAS_NAME = re.compile(r"[#!][A-Za-z0-9_$\-]+")


@dataclass(frozen=True)
class Tokens:
    """Tokens of a module, without comments; `gaps[i]` is the white space before `words[i]`: none, blank or new line."""

    words: list[str]
    gaps: list[str]


def tokenise(stage: str, text: str) -> Tokens:
    """Split a module's text. Raises UnreadableStage for an unterminated string or for brackets that do not match."""
    pieces = _PIECE.findall(text)
    # Everything is looked at once for each different piece: a module says few things very often.
    word_of = {piece: piece.lstrip() for piece in set(pieces)}
    if "//" in text:
        pieces = [piece for piece in pieces if not word_of[piece].startswith("//")]
    gap_of = {piece: _gap(piece[: len(piece) - len(word)]) for piece, word in word_of.items()}
    words = [word_of[piece] for piece in pieces]
    _check_brackets(stage, text, words)
    return Tokens(words, [gap_of[piece] for piece in pieces])


def _gap(white: str) -> str:
    return "\n" if "\n" in white else white and " "


def _check_brackets(stage: str, text: str, words: list[str]) -> None:
    """Raise UnreadableStage, which names the line, at the first bracket or quotation mark that has no partner."""
    open_brackets: list[str] = []
    for index, word in enumerate(words):
        if word not in _BRACKETS_AND_MARK:
            continue
        if word in _OPENING:
            open_brackets.append(word)
        elif word == '"':
            raise UnreadableStage(stage, f"a string does not end at line {_line(text, index)}")
        elif not open_brackets or open_brackets.pop() != _CLOSING[word]:
            raise UnreadableStage(stage, f"its brackets do not match at line {_line(text, index)}")
    if open_brackets:
        raise UnreadableStage(stage, f"it is cut short ({len(open_brackets)} brackets left open)")


def _line(text: str, index: int) -> int:
    """The line of the token with that index, comments not counted."""
    tokens = (match for match in _PIECE.finditer(text) if not match.group().lstrip().startswith("//"))
    token = next(islice(tokens, index, None))
    return text.count("\n", 0, token.end() - len(token.group().lstrip())) + 1


def is_alias(word: str) -> bool:
    """Whether the token is an alias (`#blocked1`, `!ptr`): unlike a dialect's own attribute, it has no dot."""
    return word[0] in "#!" and _ALIAS_NAME.fullmatch(word) is not None


def is_location(word: str) -> bool:
    """Whether the token is a whole location: `loc(#loc3)`, or the line that defines `#loc3`."""
    return word.startswith("loc(") or (word.startswith("#loc") and word.endswith(")"))


def is_name(word: str) -> bool:
    """Whether the token can name an operation: a bare identifier or, in the generic form, a string."""
    return word[0].isalpha() or word[0] in '_"'


def skip_parentheses(words: list[str], index: int) -> int:
    """The index after the `)` that closes the `(` at `index`."""
    depth = 0
    while True:
        if words[index] == "(":
            depth += 1
        elif words[index] == ")":
            depth -= 1
            if depth == 0:
                return index + 1
        index += 1


def matching_brace(words: list[str], index: int) -> int:
    """The index of the `}` that closes the `{` at `index`."""
    depth = 0
    while True:
        if words[index] == "{":
            depth += 1
        elif words[index] == "}":
            depth -= 1
            if depth == 0:
                return index
        index += 1


def opens_region(words: list[str], index: int) -> bool:
    """Whether the `{` at `index` opens a region, not an attribute dictionary.

    A dictionary starts with a key followed by `=`, `,` or `}`. A region that holds one bare operation other than a
    terminator looks the same and is taken for a dictionary; callers must stay right, if less precise, when it happens.
    """
    first = words[index + 1]
    if first == "}":
        return False
    if not is_name(first):
        return True
    second = words[index + 2]
    if second == "}":
        return mnemonic(first) in _TERMINATORS
    return second not in ("=", ",")


def mnemonic(name: str) -> str:
    """The last part of an operation's name, `convert_layout` for `ttg.convert_layout`, bare or in quotes."""
    return name.strip('"').rpartition(".")[2]
