"""How much memory a run may take, so that all that go on at a time fit into the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

GIB = 1 << 30
SHARE = 0.8
"""Of what is available, for the runs together: the rest is for both side servers, the tool, and what a run takes until it
is found to take too much."""
LEAST = GIB
"""Bytes for one run when the number of runs at a time is the tool's to choose."""
MEMINFO = Path("/proc/meminfo")
MEMBERSHIP = Path("/proc/self/cgroup")
GROUPS = Path("/sys/fs/cgroup")


def shared_out(jobs: int | None, memory: int | None, cores: int, available: int) -> tuple[int, int]:
    """(operators at a time, bytes of each run), so that all runs fit into `available` bytes.

    What is given stays as it is. An operator has one run at a time. Without `jobs`, one per core, or fewer where they would
    not all have `memory` bytes (LEAST unless given).
    """
    room = int(available * SHARE)
    if jobs is None:
        jobs = max(1, min(cores, room // (memory or LEAST)))
    return jobs, memory or max(1, room // jobs)


def gib(size: int) -> str:
    """Bytes for people: `1.5 GiB`."""
    return f"{size / GIB:.2f}".rstrip("0").rstrip(".") + " GiB"


def available_memory(meminfo: Path = MEMINFO, membership: Path = MEMBERSHIP, groups: Path = GROUPS) -> int:
    """Bytes that this process and its children can take now: of the machine, and within its control groups' limits."""
    return max(0, min([_of_machine(meminfo), *_of_groups(membership, groups)]))


def _of_machine(meminfo: Path) -> int:
    found = {name: int(kilobytes) << 10 for name, kilobytes in re.findall(r"(\w+): *(\d+) kB", meminfo.read_text())}
    return found.get("MemAvailable", found["MemFree"] + found.get("Cached", 0))  # Linux before 3.14 has no estimate


def _of_groups(membership: Path, groups: Path) -> Iterator[int]:
    """What is left in each memory group around this process, version 1 and 2."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from _left(groups, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in controllers.split(","):
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
            yield from _left(groups / "memory", path, *names)


def _left(mount: Path, path: str, limit: str, usage: str, droppable: str) -> Iterator[int]:
    """Of one hierarchy. In a container the path may be the host's; then the mount itself is the group."""
    inner = mount / path.strip("/")
    for group in (inner, *inner.parents):
        try:
            most, used = int((group / limit).read_text()), int((group / usage).read_text())
            found = re.search(rf"^{droppable} (\d+)$", (group / "memory.stat").read_text(), re.MULTILINE)
        except (OSError, ValueError):  # no such group, or no limit: `max`
            pass
        else:
            yield most - used + (int(found[1]) if found else 0)
        if group == mount:
            return
