"""Reads what the vendors' status commands print: pure functions of text, which never raise.

The layouts are those that FlagGems' own card checks rely on. None was tried on a card: the tests read text of our own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

MIB = 1 << 20
USED_OF_TOTAL = r"(\d+)\s*MiB\s*/\s*(\d+)\s*MiB"
Reader = Callable[[str], "tuple[CardStatus, ...]"]


@dataclass(frozen=True)
class CardStatus:
    """One card as its status command shows it: index in the command's own order, memory in MiB."""

    index: int
    used_mib: int
    total_mib: int
    name: str = ""
    utilisation: int | None = None
    """Per cent; None where the command does not say."""


def memory_pairs(pattern: str = USED_OF_TOTAL, only: str = "") -> Reader:
    """A reader of tables with one `used / total` a card. Lines without `only` are passed over; the last pair counts."""

    def read(text: str) -> tuple[CardStatus, ...]:
        pairs = [re.findall(pattern, line) for line in text.splitlines() if only in line]
        found = [(int(used), int(total)) for *_, (used, total) in filter(None, pairs)]
        return tuple(CardStatus(index, used, total) for index, (used, total) in enumerate(found))

    return read


def labelled_memory(total: str, used: str, unit: int = MIB, *, free: bool = False) -> Reader:
    """A reader of outputs that give each card's total and used (or `free`) memory on lines of their own.

    `total` and `used` are patterns with one group, the number; `unit` is what the number counts, in bytes.
    """

    def read(text: str) -> tuple[CardStatus, ...]:
        totals = [int(number) * unit // MIB for number in re.findall(total, text)]
        others = [int(number) * unit // MIB for number in re.findall(used, text)]
        if len(totals) != len(others):
            return ()
        pairs = enumerate(zip(totals, others, strict=True))
        return tuple(CardStatus(index, all_ - other if free else other, all_) for index, (all_, other) in pairs)

    return read


def queried_csv(text: str) -> tuple[CardStatus, ...]:
    """Reads `--query-gpu=index,name,memory.used,memory.total,utilization.gpu --format=csv,noheader,nounits`."""
    cards = []
    for line in text.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) != 5 or not all(fields[position].isdigit() for position in (0, 2, 3)):
            continue
        index, name, used, total, load = fields
        cards.append(CardStatus(int(index), int(used), int(total), name, int(load) if load.isdigit() else None))
    return tuple(cards)


QUERY_CSV = (
    "--query-gpu=index,name,memory.used,memory.total,utilization.gpu",
    "--format=csv,noheader,nounits",
)


def rocm_json(text: str) -> tuple[CardStatus, ...]:
    """Reads `rocm-smi --showmeminfo vram --json`: an object per card with bytes as text."""
    try:
        cards = json.loads(text[text.index("{") :])
    except ValueError:
        return ()
    found = []
    for name, card in cards.items() if isinstance(cards, dict) else ():
        match = re.fullmatch(r"card(\d+)", name)
        if not match or not isinstance(card, dict):
            continue
        total, used = (str(card.get(f"VRAM Total {word}Memory (B)", "")) for word in ("", "Used "))
        if total.isdigit() and used.isdigit():
            found.append(CardStatus(int(match[1]), int(used) // MIB, int(total) // MIB))
    return tuple(sorted(found, key=lambda card: card.index))
