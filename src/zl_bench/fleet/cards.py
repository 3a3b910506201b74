"""The cards of this machine, as their vendors' own commands tell."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.listing import CardProcess
from zl_bench.backends.vendors import all_backends

PATIENCE = 60.0
"""Seconds for a vendor's command; the first one after a driver was loaded takes long."""
NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")

Ask = Callable[[Sequence[str]], "str | None"]
"""Runs a command and gives what it printed, None if it is not there, fails or takes too long."""


@dataclass(frozen=True)
class Card:
    """One physical card. `index` is its vendor's own number; what the vendor does not tell is empty."""

    vendor: str
    index: int
    uuid: str = ""
    name: str = ""
    pci: str = ""

    @property
    def selector(self) -> str:
        """What a mask variable holds to leave this card alone visible."""
        return self.uuid or str(self.index)

    @property
    def identity(self) -> str:
        """What no other card of this machine has, as (a part of) a file name."""
        return NOT_IN_A_NAME.sub("-", f"{self.vendor}-{self.uuid or self.pci or self.index}")

    @property
    def label(self) -> str:
        """The card's part of the names of files in a root."""
        return f"card{self.index}"

    def __str__(self) -> str:
        told = ", ".join(filter(None, (self.name or self.vendor, self.uuid or self.pci)))
        return f"card {self.index} ({told})"


def ask(environment: Mapping[str, str]) -> Ask:
    """Asks the vendors' commands in that environment."""

    def run(command: Sequence[str]) -> str | None:
        program = shutil.which(command[0], path=environment.get("PATH"))
        if program is None:
            return None
        with contextlib.suppress(OSError, subprocess.SubprocessError, UnicodeDecodeError):
            done = subprocess.run(
                [program, *command[1:]],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                encoding="utf-8",
                timeout=PATIENCE,
                env=dict(environment),
                check=True,
            )
            return done.stdout
        return None

    return run


def list_cards(backend: DeviceBackend, run: Ask) -> tuple[Card, ...] | None:
    """Every card of that vendor in this machine, masked or not; None if it has some and nobody knows how to list them."""
    vendor = backend.name
    if backend.list_command and backend.read_list is not None:
        listed = backend.read_list(run(backend.list_command) or "")
        if listed:
            return tuple(Card(vendor, card.index, card.uuid, card.name, card.pci) for card in listed)
    if backend.status_command and backend.read_status is not None:
        return tuple(
            Card(vendor, card.index, name=card.name) for card in backend.read_status(run(backend.status_command) or "")
        )
    if backend.query_command and run(backend.query_command) is not None:
        return None
    return ()


def find_vendor(run: Ask) -> tuple[DeviceBackend, tuple[Card, ...] | None] | None:
    """The first vendor, in the order of the table, that has a card in this machine, and its cards; None without any."""
    for backend in all_backends():
        cards = list_cards(backend, run)
        if cards != ():
            return backend, cards
    return None


def processes_on(card: Card, backend: DeviceBackend, run: Ask) -> tuple[CardProcess, ...] | None:
    """The processes that have the card open; None where that can not be known."""
    if not backend.processes_command or backend.read_processes is None or not card.uuid:
        return None
    told = run(backend.processes_command)
    if told is None:
        return None
    return tuple(process for process in backend.read_processes(told) if process.uuid == card.uuid)
