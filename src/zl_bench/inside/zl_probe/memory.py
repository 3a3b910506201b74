"""Watches what each run takes of the machine's memory, so that one which takes too much is ended alone.

It is measured rather than limited by the kernel. RLIMIT_AS counts address ranges that CUDA and torch reserve and never touch;
RLIMIT_DATA counts what was asked for rather than what is used, and each process of a run by itself; both make an allocation
fail in the middle of a compiler, which then dies in some way of its own. A control group would be exact, but few users may
make one. What a run takes between two looks is the kernel's to stop: runs ask to be the first that it kills.
"""

import time
from collections.abc import Iterable

from . import processes

LOOK = 0.1
"""Seconds between two looks at the processes that are known."""
SEARCH = 0.5
"""Seconds between two searches for processes that are new."""
SEARCH_SHARE = 0.02
"""Of the server's time at most, on a machine with very many processes."""


class MemoryWatch:
    """The memory of runs, each a process with its descendants, against one limit in bytes; None watches nothing."""

    def __init__(self, limit: int | None):
        self._limit = limit
        self._families: dict[int, list[int]] = {}
        self._next_look = 0.0
        self._next_search = 0.0

    @property
    def pause(self) -> float | None:
        """Seconds that may pass until the next look, None while there is nothing to look at."""
        return LOOK if self._families else None

    def add(self, leader: int) -> None:
        """Watch a run that has just started."""
        if self._limit is not None:
            self._families[leader] = [leader]

    def remove(self, leader: int) -> None:
        """Forget a run."""
        self._families.pop(leader, None)

    def exceeding(self) -> list[int]:
        """The leaders of runs that take more than the limit, if it is time to look again."""
        now = time.monotonic()
        if not self._families or self._limit is None or now < self._next_look:
            return []
        if now >= self._next_search:
            self._families = processes.families(self._families)
            took = time.monotonic() - now
            self._next_search = now + max(SEARCH, took / SEARCH_SHARE)
        self._next_look = time.monotonic() + LOOK
        return [leader for leader, family in self._families.items() if _exceeds(family, self._limit)]


def _exceeds(family: Iterable[int], limit: int) -> bool:
    """Whether the processes take more than `limit` bytes together. The exact answer costs a walk through all pages."""
    if sum(map(at_most, family)) <= limit:
        return False
    return sum(map(own, family)) > limit


def at_most(pid: int) -> int:
    """Bytes that a process takes at most: pages that it shares with the server it was forked from count in full."""
    found = _kilobytes(f"/proc/{pid}/status")
    resident = found["RssAnon"] + found.get("RssShmem", 0) if "RssAnon" in found else found.get("VmRSS", 0)
    return (resident + found.get("VmSwap", 0)) << 10


def own(pid: int) -> int:
    """Bytes that a process takes: its part of every page that no file holds, swapped pages included."""
    found = _kilobytes(f"/proc/{pid}/smaps_rollup")
    if "Pss" not in found:  # Linux before 4.14, or a process that does not let itself be looked at
        return at_most(pid)
    # Pss by kind: Linux 5.4. The part of files, such as libraries, can be dropped when memory is short.
    resident = found["Pss_Anon"] + found.get("Pss_Shmem", 0) if "Pss_Anon" in found else found["Pss"]
    return (resident + found.get("SwapPss", 0)) << 10


def _kilobytes(path: str) -> dict[str, int]:
    """The lines `Name:  123 kB` of a file below /proc; nothing of a process that has ended."""
    found = {}
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            for line in stream:
                name, _, value = line.partition(":")
                words = value.split()
                if len(words) == 2 and words[1] == "kB":
                    found[name] = int(words[0])
    except OSError:
        pass
    return found


def kernel_kills() -> int:
    """How many processes the kernel has killed since it started because memory had run out; 0 where it does not say."""
    try:
        with open("/proc/vmstat", encoding="ascii") as stream:
            return next((int(line.split()[1]) for line in stream if line.startswith("oom_kill ")), 0)
    except OSError:
        return 0
