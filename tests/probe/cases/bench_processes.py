"""Tests that end their process, hang it, or leave others behind."""

import mmap
import os
import subprocess
import sys
import time
from pathlib import Path

from kernels import launch_add, note
from triton.testing import do_bench

PATIENCE = 600
MIB = 1 << 20


def test_exit():
    do_bench(launch_add)
    os._exit(3)


def test_abort():
    do_bench(launch_add)
    os.abort()


def test_hang():
    do_bench(launch_add)
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    note("pids", [os.getpid(), sleeper.pid])
    time.sleep(PATIENCE)


def daemon():
    """A process that has left its parent, its session and its group; return its pid."""
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        os.setsid()
        os.write(write, str(os.getpid()).encode())
        time.sleep(PATIENCE)
        os._exit(0)
    os.wait()
    return int(os.read(read, 20))


def test_daemon():
    do_bench(launch_add)
    note("pids", [daemon()])


def test_daemon_and_hang():
    note("pids", [os.getpid(), daemon()])
    time.sleep(PATIENCE)


def test_forked_child():
    do_bench(launch_add)
    if os.fork() == 0:
        do_bench(launch_add)
        os._exit(0)
    assert os.wait()[1] == 0
    do_bench(launch_add)


def test_noise():
    os.write(1, bytes(range(256)))
    os.write(2, b"\xff\xfe\x00")
    print("words")
    do_bench(launch_add)


def test_environment():
    note("environment", dict(os.environ))
    note("folder", str(Path.cwd()))
    note("input", sys.stdin.read() if sys.stdin else "")
    do_bench(launch_add)


def fill(size):
    """Take `size` bytes, which are used and not just asked for, and wait."""
    kept = [b"x" * (4 * MIB) for _ in range(size // (4 * MIB))]
    time.sleep(PATIENCE)
    return kept


def fill_in_child(size):
    if os.fork() == 0:
        fill(size)
    time.sleep(PATIENCE)


def test_takes_much():
    do_bench(launch_add)
    fill(600 * MIB)


def test_child_takes_much():
    do_bench(launch_add)
    fill_in_child(600 * MIB)


def test_session_takes_much():
    do_bench(launch_add)
    if os.fork() == 0:
        os.setsid()
        fill_in_child(600 * MIB)
    os.wait()


def test_daemon_takes_much():
    do_bench(launch_add)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            fill(600 * MIB)
        os._exit(0)
    os.wait()
    time.sleep(PATIENCE)


def test_children_take_much_together():
    do_bench(launch_add)
    for _ in range(4):
        if os.fork() == 0:
            fill(150 * MIB)
    os.wait()


def test_shared_memory():
    do_bench(launch_add)
    shared = mmap.mmap(-1, 600 * MIB)
    for start in range(0, len(shared), MIB):
        shared[start : start + MIB] = b"x" * MIB
    time.sleep(PATIENCE)


def test_takes_little():
    reserved = mmap.mmap(-1, 2048 * MIB, flags=mmap.MAP_PRIVATE)
    if os.fork() == 0:
        time.sleep(PATIENCE)
    do_bench(launch_add)
    time.sleep(1.5)  # several looks and searches
    reserved.close()


def test_is_first_to_go():
    note("score", int(Path("/proc/self/oom_score_adj").read_text()))
