"""What a forked run has of its own, though FlagGems made it at import."""

import multiprocessing
import os
import sys
import threading
import types

import pytest
from zl_probe import flaggems_forked

SECONDS = 20.0


class LibEntry:
    """As FlagGems defines a kernel: with a semaphore of the system for its first compile."""

    def __init__(self):
        self.lock = multiprocessing.Lock()


@pytest.fixture
def kernel(monkeypatch):
    """A kernel that was defined before the fork."""

    class Forked(LibEntry):
        pass

    module = types.ModuleType(flaggems_forked.LIBENTRY_MODULE)
    module.LibEntry = Forked
    monkeypatch.setitem(sys.modules, flaggems_forked.LIBENTRY_MODULE, module)
    return Forked()


def in_a_fork(what):
    """The exit status of a forked process that does this."""
    pid = os.fork()
    if not pid:
        os._exit(what())
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def free(kernel):
    flaggems_forked.leave_server()
    return 0 if kernel.lock.acquire(timeout=1.0) else 1


def test_a_kernel_that_another_run_compiles_or_was_killed_in_is_free(kernel):
    held = kernel.lock
    assert held.acquire(timeout=SECONDS)  # as a run that waits, or was killed, while it compiles
    assert in_a_fork(lambda: 0 if held.acquire(timeout=0.1) else 1) == 1, "the semaphore is the system's"
    assert in_a_fork(lambda: free(kernel)) == 0
    held.release()


def test_in_one_run_a_kernel_is_compiled_by_one_thread_at_a_time(kernel):
    flaggems_forked.leave_server()
    other = type(kernel)()
    got = []
    with kernel.lock:
        thread = threading.Thread(
            target=lambda: got.extend([kernel.lock.acquire(timeout=0.1), other.lock.acquire(timeout=0.1)])
        )
        thread.start()
        thread.join(SECONDS)
    assert got == [False, True], "each kernel has one lock, and no other's"


def test_without_flaggems_there_is_nothing_to_do(monkeypatch):
    monkeypatch.delitem(sys.modules, flaggems_forked.LIBENTRY_MODULE, raising=False)
    flaggems_forked.leave_server()
    assert flaggems_forked.LIBENTRY_MODULE not in sys.modules
