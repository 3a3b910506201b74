"""What analysis needs to know of stages: their fingerprints by path, and which stage plays which part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias


class StageFingerprint(Protocol):
    """The fingerprint of one stage's text, however it was computed."""

    @property
    def digest(self) -> str:
        """Equal exactly when the normalised stages are equal."""

    @property
    def body_digest(self) -> str:
        """The same without module attributes."""

    @property
    def converts(self) -> int:
        """Number of convert_layout operations, 0 where the stage has none."""

    @property
    def unordered(self) -> int:
        """Number of operations whose order among programs is free and can show in floating-point results."""


@dataclass(frozen=True)
class Unreadable:
    """A stage that was recorded and can not be compared: it never equals anything."""

    message: str


Fingerprints: TypeAlias = Mapping[Path, StageFingerprint | Unreadable]
"""The fingerprint of every recorded stage of the runs under judgement, by the path of its file."""


def digest_of(found: Fingerprints, path: Path) -> str | None:
    """The digest of a stage by its file; None for what can not be compared, and then equals nothing."""
    one = found[path]
    return None if isinstance(one, Unreadable) else one.digest


@dataclass(frozen=True)
class StageRules:
    """The stages of one comparison, as data.

    `order` has every stage that any of the runs recorded, in pipeline order; `criterion` is the stage that decides
    "changed"; `machine_code` names the stages that count as machine code.
    """

    order: tuple[str, ...]
    criterion: str = "ttgir"
    machine_code: frozenset[str] = frozenset()

    def sorted(self, names: set[str]) -> tuple[str, ...]:
        """Those names in pipeline order; names that the order does not know come last, alphabetically."""
        known = {name: position for position, name in enumerate(self.order)}
        return tuple(sorted(names, key=lambda name: (known.get(name, len(known)), name)))
