"""Reads what the vendors' commands say of the cards there are and of who uses them: pure functions, which never raise."""

from __future__ import annotations

from dataclasses import dataclass

LIST_CSV = ("--query-gpu=index,uuid,name,pci.bus_id", "--format=csv,noheader,nounits")
PROCESSES_CSV = (
    "--query-compute-apps=gpu_uuid,pid,process_name,used_memory",
    "--format=csv,noheader,nounits",
)


@dataclass(frozen=True)
class ListedCard:
    """One card as its vendor's command lists it. `index` is the command's own number; what it does not tell is empty."""

    index: int
    uuid: str
    name: str
    pci: str


@dataclass(frozen=True)
class CardProcess:
    """A process that has the card of that UUID open. `used_mib` is None where the command does not say."""

    uuid: str
    pid: int
    name: str
    used_mib: int | None

    def __str__(self) -> str:
        used = f", {self.used_mib} MiB" if self.used_mib is not None else ""
        return f"{self.pid} ({self.name}{used})"


def listed_csv(text: str) -> tuple[ListedCard, ...]:
    """Reads what LIST_CSV asks for. A name may hold commas; what stands on either side of it does not."""
    cards = []
    for line in text.splitlines():
        index, *rest = (part.strip() for part in line.split(","))
        if index.isdecimal() and len(rest) >= 3 and rest[0] and rest[-1]:
            uuid, pci = ("" if part.startswith("[") else part for part in (rest[0], rest[-1]))  # [N/A], [Unknown Error]
            cards.append(ListedCard(int(index), uuid, ", ".join(rest[1:-1]), pci))
    return tuple(cards)


def processes_csv(text: str) -> tuple[CardProcess, ...]:
    """Reads what PROCESSES_CSV asks for. Of a process that may not be seen into, the name or the memory is no answer."""
    found = []
    for line in text.splitlines():
        uuid, *rest = (part.strip() for part in line.split(","))
        if uuid and len(rest) >= 3 and rest[0].isdecimal():
            used = int(rest[-1]) if rest[-1].isdecimal() else None
            found.append(CardProcess(uuid, int(rest[0]), ", ".join(rest[1:-1]), used))
    return tuple(found)
