"""Canonical names for SSA values and blocks, so that renumbering them is invisible and nothing else is.

Soundness comes first: two modules may share a canonical text only if one is the other with its values renamed. Names
are resolved as MLIR scopes them, region by region, because a name may be used again once its region is closed. Telling
a definition from a use by tokens alone covers the forms that Triton's dialects print. Where a module does not fit them
(a use before any definition, a definition of a name still in scope: blocks out of order, a vendor's own syntax) every
name in it is numbered by first appearance instead, which is always sound and only less forgiving of a reused name.

A value is called after the operation that defines it (`%convert_layout.0`), so that one more operation renumbers only
the later ones of its kind and a diff stays readable.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from zl_bench.ir.mlir_tokens import is_name, mnemonic, opens_region, skip_parentheses

_END = ("\n", "\n", "\n")
"""Stands after the last token, so that looking ahead needs no test for the end."""


class _OutOfScope(Exception):
    """A name does not resolve by the scoping rules known here."""


def rename_values(words: list[str]) -> list[str]:
    """The tokens of one module with values and blocks renamed canonically. Expects matched brackets, no locations."""
    try:
        return _ScopedRenaming(words).run()
    except _OutOfScope:
        return _rename_by_first_appearance(words)


def _split(word: str) -> tuple[str, str]:
    """`%0#1` as (`%0`, `#1`), `%0:2` as (`%0`, `:2`), `%0` as (`%0`, ``)."""
    if "#" not in word and ":" not in word:
        return word, ""
    for mark in "#:":
        name, found, rest = word.partition(mark)
        if found:
            return name, found + rest
    return word, ""


def _rename_by_first_appearance(words: list[str]) -> list[str]:
    names: dict[str, str] = {}
    renamed = list(words)
    for index, word in enumerate(words):
        if word[0] == "%" and len(word) > 1:
            name, suffix = _split(word)
            renamed[index] = names.setdefault(name, f"%value.{len(names)}") + suffix
        elif word[0] == "^" and len(word) > 1:
            renamed[index] = names.setdefault(word, f"^block.{len(names)}")
    return renamed


def _tells_of_scope(word: str) -> bool:
    """Whether a token can define or use a name, or open or close what names live in."""
    return word[0] in "%{}^(" or word.endswith("func") or word.startswith("partition")


@dataclass
class _Region:
    values: list[str] = field(default_factory=list)
    blocks: dict[str, str] = field(default_factory=dict)
    is_dictionary: bool = False


class _ScopedRenaming:
    """One pass over a module's tokens; `run` raises _OutOfScope where the scoping rules do not apply."""

    def __init__(self, words: list[str]) -> None:
        self._words = [*words, *_END]
        self._renamed = list(words)
        self._canonical: dict[str, str] = {}
        self._counts: dict[str, int] = defaultdict(int)
        self._regions = [_Region()]
        self._header: list[str] = []
        """Names defined before the `{` of the region that they belong to: function arguments, loop variables."""
        self._arguments_end = 0
        """Up to here, `%x :` defines an argument of the region that opens next."""
        self._block_arguments_end = 0
        self._definitions_end = 0
        """Up to here, the results of a statement have been defined already."""
        self._expect_arguments = False

    def run(self) -> list[str]:
        words = self._words
        telling = set(filter(_tells_of_scope, set(words)))
        for index, word in enumerate(words):
            if word not in telling:
                continue
            first = word[0]
            if first == "%":
                if len(word) > 1 and index >= self._definitions_end:
                    self._value(index)
            elif first == "{":
                self._open(index)
            elif first == "}":
                self._close()
            elif first == "^":
                self._block(index)
            elif first == "(":
                if self._expect_arguments:
                    self._expect_arguments = False
                    self._arguments_end = skip_parentheses(words, index)
            elif word.endswith("func") and mnemonic(word) == "func":
                self._function(index)
            elif word.startswith("partition") and words[index + 1] == "(":
                self._expect_arguments = True
        return self._renamed

    def _function(self, index: int) -> None:
        if any(word[0] == "@" for word in self._words[index + 1 : index + 4]):
            self._expect_arguments = True
            if not self._canonical:
                self._counts.clear()

    def _open(self, index: int) -> None:
        region = _Region(is_dictionary=not opens_region(self._words, index))
        if not region.is_dictionary:
            region.values, self._header = self._header, []
        self._regions.append(region)

    def _close(self) -> None:
        for name in self._regions.pop().values:
            del self._canonical[name]

    def _block(self, index: int) -> None:
        word = self._words[index]
        if len(word) == 1:
            return
        blocks = self._innermost_region().blocks
        self._renamed[index] = blocks.setdefault(word, f"^block.{len(blocks)}")
        if self._words[index + 1] == "(":
            end = skip_parentheses(self._words, index + 1)
            # `^bb1(%x: i32):` defines its arguments, `cf.br ^bb1(%x : i32)` passes them.
            if self._words[end] == ":":
                self._block_arguments_end = end

    def _innermost_region(self) -> _Region:
        return next(region for region in reversed(self._regions) if not region.is_dictionary)

    def _value(self, index: int) -> None:
        words = self._words
        following = words[index + 1]
        if following == "=":
            if is_name(words[index + 2]):
                self._define(index, mnemonic(words[index + 2]), self._innermost_region().values)
            else:
                self._define(index, "arg", self._header)
            return
        if following == ":" and index < self._block_arguments_end:
            self._define(index, "arg", self._innermost_region().values)
            return
        if following == ":" and index < self._arguments_end:
            self._define(index, "arg", self._header)
            return
        if following == "," and self._defines_several_results(index):
            return
        name, suffix = _split(words[index])
        try:
            self._renamed[index] = self._canonical[name] + suffix
        except KeyError:
            raise _OutOfScope(name) from None

    def _defines_several_results(self, index: int) -> bool:
        """Handle `%a, %b = op`, told from an operand list by what follows the `=` and by the names being new."""
        words, end = self._words, index
        while words[end][0] == "%" and words[end + 1] == ",":
            end += 2
        if not (words[end][0] == "%" and words[end + 1] == "=" and is_name(words[end + 2])):
            return False
        if _split(words[index])[0] in self._canonical:
            return False
        for result in range(index, end + 1, 2):
            self._define(result, mnemonic(words[end + 2]), self._innermost_region().values)
        self._definitions_end = end + 1
        return True

    def _define(self, index: int, prefix: str, scope: list[str]) -> None:
        name, suffix = _split(self._words[index])
        if name in self._canonical:
            raise _OutOfScope(name)
        number = self._counts[prefix]
        self._counts[prefix] = number + 1
        self._canonical[name] = f"%{prefix}.{number}"
        scope.append(name)
        self._renamed[index] = self._canonical[name] + suffix
