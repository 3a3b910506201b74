"""In which order a measurement does things: by chance, and by nothing but its seed, so that it can be told and repeated.

Every choice hashes the seed with what it is about. Nothing depends on what was chosen before: a measurement that goes on
after a kill makes the choices that it would have made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

from zl_bench.model import SIDES, RowKey, Side

Item = TypeVar("Item")


def shuffled(items: Sequence[Item], texts: Sequence[str], seed: int, number: int) -> list[Item]:
    """The items in the order of round `number`; `texts` tells them apart."""
    places = sorted(range(len(items)), key=lambda place: _drawn(seed, "order", number, texts[place]))
    return [items[place] for place in places]


def first_at_row(seed: int, number: int, key: RowKey) -> Side:
    """The side whose turn comes first at a row in that round: each row's own choice."""
    return SIDES[
        _drawn(seed, "row", number, *map(str, (key.node, key.operator, key.dtype, key.ordinal, key.detail))) % 2
    ]


def first_process(seed: int, number: int, node: str) -> Side:
    """The side whose process goes first in round `number` (from 1) where processes alternate: ABBA over each two rounds."""
    block, second = divmod(number - 1, 2)
    return SIDES[(_drawn(seed, "process", block, node) + second) % 2]


def _drawn(seed: int, *about: object) -> int:
    text = "\0".join(map(str, (seed, *about)))
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
