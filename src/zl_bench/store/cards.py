"""Which cards were used for a root, when, and who else had them open: cards.jsonl, a line each time that one was taken."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from zl_bench.store.files import append_durably
from zl_bench.store.layout import CARDS_FILE


@dataclass(frozen=True)
class OtherProcess:
    """A process of somebody else that has the card open. `used_mib` is None where the card's vendor does not say."""

    pid: int
    name: str
    used_mib: int | None


@dataclass(frozen=True)
class CardUse:
    """A card that was taken. `since` is ISO 8601; `others` is None where it can not be known who has the card open."""

    since: str
    index: int
    uuid: str
    name: str
    pci: str
    others: Sequence[OtherProcess] | None


def append_use(root: Path, use: CardUse) -> None:
    """Put it on disk. Raises EnvironmentUnfit if the disk refuses."""
    append_durably(root / CARDS_FILE, json.dumps(asdict(use)), kept="every finished operator is kept")
