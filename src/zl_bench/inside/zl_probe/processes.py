"""Linux process control: die with the parent, adopt orphans, end a whole tree."""

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


def _parents() -> Iterable[tuple[int, int]]:
    """(pid, parent's pid) of every process that can be seen."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stream:
                # The command name stands in parentheses and may itself hold spaces and parentheses.
                fields = stream.read().rsplit(b")", 1)[1].split()
        except (OSError, IndexError):
            continue
        yield int(name), int(fields[1])


def children_of(parent: int) -> list[int]:
    """Direct children, adopted orphans included."""
    return [pid for pid, its_parent in _parents() if its_parent == parent]


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


def end_strays(active: Iterable[int]) -> int:
    """Kill this process's children other than `active`, and what they leave behind in turn; return how many."""
    keep, ended = set(active), 0
    while True:
        strays = [pid for pid in children_of(os.getpid()) if pid not in keep]
        if not strays:
            return ended
        for pid in strays:
            kill_and_reap(pid)
            ended += 1
