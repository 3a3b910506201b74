"""Linux process control: die with the parent, adopt orphans, find and end a whole tree."""

import contextlib
import ctypes
import os
import signal
from collections.abc import Iterable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, value, 0, 0, 0) != 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent ends; leave at once if the parent has ended already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends, so that none can get away."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def die_first() -> None:
    """Ask the kernel to kill this process and what it starts before any other when the machine runs out of memory."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as stream:
        stream.write("1000")


def _parents(*, zombies: bool = True) -> Iterable[tuple[int, int]]:
    """(pid, parent's pid) of every process that can be seen, those included that have ended and wait for their parent."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:
                # The command name stands in parentheses and may itself hold spaces and parentheses.
                fields = stream.read().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if zombies or fields[0] not in (b"Z", b"X"):
            yield int(name), int(fields[1])


def children_of(parent: int) -> list[int]:
    """Direct children, adopted orphans included."""
    return [pid for pid, its_parent in _parents() if its_parent == parent]


def families(leaders: Iterable[int]) -> dict[int, list[int]]:
    """Each of these processes with all its descendants."""
    children: dict[int, list[int]] = {}
    for pid, parent in _parents():
        children.setdefault(parent, []).append(pid)
    found = {}
    for leader in leaders:
        family = [leader]
        for pid in family:  # grows meanwhile
            family += children.get(pid, ())
        found[leader] = family
    return found


def count_strays(active: Iterable[int]) -> int:
    """How many processes below this one are alive and belong to none of its children `active`."""
    keep = set(active)
    below = families(pid for pid in children_of(os.getpid()) if pid not in keep)
    alive = {pid for pid, _ in _parents(zombies=False)}
    return sum(pid in alive for family in below.values() for pid in family)


def kill_group(leader: int) -> None:
    """Kill the process group that `leader` leads, if it still exists."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def kill_and_reap(pid: int) -> None:
    """Kill one child and wait for its end."""
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def end_strays(active: Iterable[int]) -> None:
    """Kill this process's children other than `active`, and what they leave behind in turn."""
    keep = set(active)
    while strays := [pid for pid in children_of(os.getpid()) if pid not in keep]:
        for pid in strays:
            kill_and_reap(pid)
