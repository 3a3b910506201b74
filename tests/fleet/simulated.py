"""Simulated cards: a vendor that only tests know, whose command is a small script, and processes that hold real locks."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.listing import listed_csv, processes_csv
from zl_bench.fleet.cards import Ask, Card

MASK = "SIMULATED_VISIBLE_DEVICES"
NAME = "Simulated H1"


@dataclass(frozen=True)
class SimulatedCards:
    """So many cards of one vendor. `environment` is where its command is found, and `ask` asks it."""

    folder: Path
    backend: DeviceBackend
    cards: tuple[Card, ...]

    @property
    def environment(self) -> dict[str, str]:
        """A whole environment; the locks are kept in the folder as well."""
        return {"PATH": f"{self.folder}:/usr/bin:/bin", "ZL_BENCH_LOCKS": str(self.folder / "locks")}

    def used_by(self, *processes: tuple[int, int, str]) -> None:
        """From now on these (card, pid, name) have cards open."""
        lines = [f"{self.cards[card].uuid}, {pid}, {name}, 512\n" for card, pid, name in processes]
        (self.folder / "processes.csv").write_text("".join(lines))


def simulated_cards(folder: Path, names: Sequence[str] = (NAME, NAME), **changed: object) -> SimulatedCards:
    """Cards of these names, with UUIDs SIM-a0…, SIM-b1…; `changed` are fields of the backend."""
    folder.mkdir(parents=True, exist_ok=True)
    cards = tuple(
        Card("simulated", index, f"SIM-{chr(ord('a') + index)}{index}000", name, f"0000:{index:02x}:00.0")
        for index, name in enumerate(names)
    )
    listed = "".join(f"{card.index}, {card.uuid}, {card.name}, {card.pci}\n" for card in cards)
    (folder / "list.csv").write_text(listed)
    (folder / "processes.csv").write_text("")
    script = folder / "simulated-smi"
    script.write_text(f'#!/bin/sh\ncat "{folder}/$1.csv"\n')
    script.chmod(0o755)
    settled: dict[str, object] = {
        "name": "simulated",
        "segment": "SIM",
        "torch_device": "cuda",
        "dispatch_key": "CUDA",
        "mask_variables": (MASK,),
        "list_command": ("simulated-smi", "list"),
        "read_list": listed_csv,
        "processes_command": ("simulated-smi", "processes"),
        "read_processes": processes_csv,
        "default_timing": "queued",
    }
    return SimulatedCards(folder, DeviceBackend(**{**settled, **changed}), cards)  # type: ignore[arg-type]


def says(answers: Mapping[str, str | None]) -> Ask:
    """Answers by the name of the program; one that is not there is not installed."""
    return lambda command: answers.get(command[0])


HOLDER = """
import os, subprocess, sys
from pathlib import Path
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder
lock = CardLock(Card("simulated", int(sys.argv[1]), sys.argv[2]), Path(sys.argv[3]))
print("held" if lock.take(Holder.of_this_process(Path("/their/root"))) else "busy", flush=True)
if len(sys.argv) > 4:
    child = subprocess.Popen(["sleep", "60"], pass_fds=[lock.descriptor], stdout=subprocess.DEVNULL)
    print(child.pid, flush=True)
sys.stdin.read()
"""


@contextmanager
def other_holder(card: Card, locks: Path, *, child: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the card's lock until it ends; with a `child`, whose pid is its second line, too."""
    arguments = [sys.executable, "-c", HOLDER, str(card.index), card.uuid, str(locks), *(["child"] if child else [])]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()
