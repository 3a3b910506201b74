"""Normalise an MLIR stage: locations gone, aliases inlined, values renamed, everything else kept to the byte.

Locations are debug information in all their forms: `#loc…` lines, trailing `loc(…)` of operations, functions and
arguments. Aliases and SSA names are the printer's choice. What stays is what a pass can change: operations and their
order, operands, attributes, constants, types, layouts, symbol names, module attributes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, pairwise

from zl_bench.ir.mlir_tokens import (
    Tokens,
    is_alias,
    is_location,
    is_name,
    matching_brace,
    mnemonic,
    skip_parentheses,
    tokenise,
)
from zl_bench.ir.mlir_values import rename_values
from zl_bench.ir.text import Canonical, decode
from zl_bench.ir.unreadable import UnreadableStage

_SEPARATOR = "\x1f"
_BEFORE_AN_ATTRIBUTE = frozenset("=,[<(:")


@dataclass(frozen=True)
class _Module:
    """A module's tokens with values renamed and locations gone, the white space before each, and what its aliases stand for."""

    words: list[str]
    gaps: list[str]
    aliases: _Inlining


def canonical_mlir(stage: str, content: bytes) -> Canonical:
    """The canonical form of one module. Raises UnreadableStage when it is cut short or holds no function."""
    module = _read(stage, content)
    words, attributes = module.words, _module_attributes(module.words)
    code = module.aliases.code(words)
    return Canonical(
        text=_text(module),
        code=_SEPARATOR.join(code[: attributes.start] + code[attributes.stop :]),
        attributes=_SEPARATOR.join(code[attributes.start : attributes.stop]),
        converts=_count_converts(words),
        unordered=_count_unordered(words),
    )


def readable_mlir(stage: str, content: bytes) -> str:
    """The text of the canonical form alone, for who only shows it. Raises UnreadableStage likewise."""
    return _text(_read(stage, content))


def _read(stage: str, content: bytes) -> _Module:
    tokens = tokenise(stage, decode(stage, content))
    if not _has_function(tokens.words):
        raise UnreadableStage(stage, "there is no function in it")
    body, aliases = _split_aliases(_without_locations(tokens))
    return _Module(rename_values(body.words), body.gaps, _Inlining(stage, aliases))


def _text(module: _Module) -> str:
    return _lay_out(module.aliases.text(module.words), module.gaps)


def _has_function(words: list[str]) -> bool:
    """Whether some operation is a function, `tt.func public @name(` or in the generic form `"tt.func"(`."""
    named = {word for word in set(words) if word.endswith(("func", '.func"'))}
    for index, word in enumerate(words):
        if word not in named:
            continue
        if word.endswith("func") and mnemonic(word) == "func":
            following = words[index + 1 : index + 5]
            if any(len(one) > 1 and one[0] == "@" and after == "(" for one, after in pairwise(following)):
                return True
        elif word.endswith('.func"') and words[index + 1 : index + 2] == ["("]:
            return True
    return False


def _without_locations(tokens: Tokens) -> Tokens:
    """Drop every `loc(…)`, and the names of those that nothing but a `loc(…)` mentions.

    The token is the word `loc` itself, so `local_alloc(` or an operation that ends in `.loc` is never meant, nor is
    text in a string. Where an attribute is expected the word stays as a place holder and only what it says is dropped.
    """
    distinct = set(tokens.words)
    whole = {word for word in distinct if is_location(word)}
    stays = [word not in whole for word in tokens.words]
    kept = Tokens(list(compress(tokens.words, stays)), list(compress(tokens.gaps, stays)))
    kept = _without_written_locations(kept) if "loc" in distinct else kept
    names = {word.partition(" ")[0] for word in whole if word[0] == "#"}
    for name in sorted(names.intersection(kept.words)):
        kept.words.extend((name, "=", "loc"))
        kept.gaps.extend(("\n", " ", " "))
    return kept


def _without_written_locations(tokens: Tokens) -> Tokens:
    """The same for locations that are spelt out where they stand."""
    words, gaps = tokens.words, tokens.gaps
    kept_words: list[str] = []
    kept_gaps: list[str] = []
    index, count = 0, len(words)
    while index < count:
        word = words[index]
        is_location = word == "loc" and index + 1 < count and words[index + 1] == "("
        if not is_location or (kept_words and kept_words[-1] in _BEFORE_AN_ATTRIBUTE):
            kept_words.append(word)
            kept_gaps.append(gaps[index])
        index = skip_parentheses(words, index + 1) if is_location else index + 1
    return Tokens(kept_words, kept_gaps)


def _split_aliases(tokens: Tokens) -> tuple[Tokens, dict[str, Tokens]]:
    """The module without its top-level `#name = …` and `!name = …` lines, and what each of them defines."""
    words, gaps = tokens.words, tokens.gaps
    aliases: dict[str, Tokens] = {}
    body = Tokens([], [])
    index, depth, count = 0, 0, len(words)
    later = [place for place, word in enumerate(words) if word == "=" and place and is_alias(words[place - 1])]
    last = later[-1] if later else 0
    while index < count:
        if index > last:  # Nothing more is defined.
            body.words.extend(words[index:])
            body.gaps.extend(gaps[index:])
            break
        word = words[index]
        if depth == 0 and index + 1 < count and words[index + 1] == "=" and is_alias(word):
            end = _definition_end(words, index + 2)
            aliases[word] = Tokens(words[index + 2 : end], gaps[index + 2 : end])
            index = end
            continue
        if word in ("{", "("):
            depth += 1
        elif word in ("}", ")"):
            depth -= 1
        body.words.append(word)
        body.gaps.append(gaps[index])
        index += 1
    return body, aliases


def _definition_end(words: list[str], start: int) -> int:
    """The index after one alias definition: where brackets are closed and another definition or an operation begins."""
    depth, index, count = 0, start, len(words)
    while index < count:
        word = words[index]
        if depth == 0 and index > start:
            next_definition = index + 1 < count and words[index + 1] == "=" and is_alias(word)
            if next_definition or (is_name(word) and words[index - 1] not in ("=", ":", "->")):
                return index
        if word in ("<", "(", "[", "{"):
            depth += 1
        elif word in (">", ")", "]", "}"):
            depth -= 1
        index += 1
    return index


class _Inlining:
    """Replaces an alias by its definition, in which other aliases are replaced in turn."""

    def __init__(self, stage: str, aliases: dict[str, Tokens]) -> None:
        self._stage = stage
        self._aliases = aliases
        self._texts: dict[str, str] = {}
        self._codes: dict[str, str] = {}
        for name in aliases:
            self._expand(name, ())

    def text(self, words: list[str]) -> list[str]:
        """The tokens, with an alias's definition as it was spaced."""
        return [self._texts.get(word, word) for word in words]

    def code(self, words: list[str]) -> list[str]:
        """The tokens, with an alias's definition as separated tokens: the same as if no alias had been used."""
        return [self._codes.get(word, word) for word in words]

    def _expand(self, name: str, within: tuple[str, ...]) -> None:
        if name in within:
            raise UnreadableStage(self._stage, f"the alias {name} is defined by itself")
        definition = self._aliases[name]
        if not definition.words:
            raise UnreadableStage(self._stage, f"it is cut short (the alias {name} is not defined)")
        for word in definition.words:
            if word in self._aliases and word not in self._texts:
                self._expand(word, (*within, name))
        gaps = ["", *(" " if gap else "" for gap in definition.gaps[1:])]
        self._texts[name] = "".join(gap + text for gap, text in zip(gaps, self.text(definition.words), strict=True))
        self._codes[name] = _SEPARATOR.join(self.code(definition.words))


def _count_converts(words: list[str]) -> int:
    """Operations named convert_layout, whatever the dialect is called (`ttg`, and `triton_gpu` before Triton 3.3)."""
    named = {word for word in set(words) if word.endswith(("convert_layout", 'convert_layout"'))}
    candidates = [index for index, word in enumerate(words) if word in named] if named else []
    return sum(
        mnemonic(words[index]) == "convert_layout" and (words[index][0] != '"' or words[index + 1] == "(")
        for index in candidates
    )


def _count_unordered(words: list[str]) -> int:
    """Atomic additions of floating-point numbers, and compare-and-swaps, by which those are written where a type has none.

    Programs come to them in any order, and floating-point addition depends on it: a kernel with one may differ from itself.
    """
    if not any(word.endswith(("atomic_rmw", "atomic_cas")) for word in set(words)):
        return 0
    return sum(
        (word.endswith("atomic_rmw") and following == "fadd") or (word.endswith("atomic_cas") and word[0] not in '"@%')
        for word, following in pairwise(words)
    )


def _module_attributes(words: list[str]) -> slice:
    """Where `attributes {…}` of the outermost module stands; an empty slice when it has none."""
    if words[0] != "module":
        return slice(0, 0)
    start = 2 if words[1][0] == "@" else 1
    if words[start : start + 2] != ["attributes", "{"]:
        return slice(0, 0)
    return slice(start, matching_brace(words, start + 1) + 1)


def _lay_out(words: list[str], gaps: list[str]) -> str:
    """The text in the module's own lines, indented by brackets, one blank where there was white space."""
    pieces: list[str] = []
    depth = 0
    for word, gap in zip(words, gaps, strict=True):
        if word == "}":
            depth -= 1
        if gap and pieces:
            pieces.append("\n" + "  " * depth if gap == "\n" else " ")
        pieces.append(word)
        if word == "{":
            depth += 1
    return "".join(pieces) + "\n"
