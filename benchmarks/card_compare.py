"""Compares the rows of two runs of one test, a card's and the stand-in device's: kernels, their order, their TTGIR."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Key = tuple[Any, ...]
IDENTITY = ("signature", "constants", "attributes", "num_warps", "num_stages", "num_ctas", "configuration")
"""What of a kernel, beside its name and its code, says how it was compiled."""


@dataclass(frozen=True)
class Kernel:
    """One compiled kernel. `ttgir` is the fingerprint by which the screen compares it, empty where it has none."""

    name: str
    ttgir: str
    identity: tuple[Any, ...] = ()


@dataclass(frozen=True)
class RunRows:
    """The rows of one run, each with its launches in order, and why there are no more."""

    rows: Mapping[Key, tuple[Kernel, ...]]
    guesses: Mapping[Key, int] = field(default_factory=dict)
    failed: Mapping[Key, str] = field(default_factory=dict)
    absence: str = ""
    missing_pins: int = 0

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> RunRows:
        """From the object that `card_roots.run_record` makes."""
        kernels = [
            Kernel(one["name"], one["ttgir"], tuple(one[name] for name in IDENTITY)) for one in record["kernels"]
        ]
        return cls(
            {_key(row): tuple(kernels[place] for place in row["launches"]) for row in record["rows"]},
            {_key(row): row["guesses"] for row in record["rows"]},
            {_key(row): row["message"] for row in record["failed"]},
            record["absence"],
            len(record["missing_pins"]),
        )


@dataclass(frozen=True)
class Disagreement:
    """A row that does not agree, and what is known of why."""

    key: Key
    why: str


@dataclass(frozen=True)
class Comparison:
    """`rows` of either run in all, `without_kernel` of those that agree in launching nothing, and those that disagree."""

    rows: int
    without_kernel: int
    disagreements: tuple[Disagreement, ...]

    @property
    def agree(self) -> int:
        return self.rows - len(self.disagreements)


def compare(card: RunRows, offline: RunRows) -> Comparison:
    """Row by row; a row that only one of the two has is one that disagrees."""
    keys = list(dict.fromkeys((*card.rows, *offline.rows)))
    disagreements = tuple(Disagreement(key, why) for key in keys if (why := _why(key, card, offline)))
    silent = sum(card.rows.get(key) == () and offline.rows.get(key) == () for key in keys)
    return Comparison(len(keys), silent, disagreements)


def _why(key: Key, card: RunRows, offline: RunRows) -> str:
    """Why the row does not agree, empty if it does."""
    for there, other, place in ((offline, card, "offline"), (card, offline, "on the card")):
        if key not in there.rows and key in other.rows:
            return f"no row {place}: {there.failed.get(key) or there.absence or 'no reason was recorded'}"
    ours, theirs = card.rows[key], offline.rows[key]
    if [one.name for one in ours] != [one.name for one in theirs]:
        reordered = Counter(one.name for one in ours) == Counter(one.name for one in theirs)
        told = f"launches {_names(ours)} on the card, {'the same in another order' if reordered else _names(theirs)} offline"
    else:
        differing = dict.fromkeys(_kernel_differences(ours, theirs))
        if not differing:
            return ""
        told = "; ".join(differing)
    hints = []
    if offline.guesses.get(key):
        hints.append(f"{offline.guesses[key]} guessed values")
    if offline.missing_pins:
        hints.append(f"{offline.missing_pins} pins of the test were missing")
    return f"{told} (offline: {', '.join(hints)})" if hints else told


def _kernel_differences(ours: Sequence[Kernel], theirs: Sequence[Kernel]) -> Iterator[str]:
    for mine, other in zip(ours, theirs, strict=True):
        if not mine.ttgir or not other.ttgir:
            yield f"{mine.name}: its TTGIR can not be read {'offline' if mine.ttgir else 'on the card'}"
        elif mine.ttgir != other.ttgir:
            fields = [
                name for name, one, two in zip(IDENTITY, mine.identity, other.identity, strict=False) if one != two
            ]
            compiled = f"compiled with other {', '.join(fields)}" if fields else "compiled alike"
            yield f"{mine.name}: TTGIR differs, {compiled}"


def _names(kernels: Sequence[Kernel]) -> str:
    """The kernels in the order of their first launch, each with how often."""
    counts = Counter(kernel.name for kernel in kernels)
    return ", ".join(name if count == 1 else f"{name} ({count} times)" for name, count in counts.items()) or "nothing"


def _key(record: Mapping[str, Any]) -> Key:
    return tuple(record["key"])
