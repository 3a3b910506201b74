"""The side server: one process per side that has paid the imports and forks one child per run.

Started as `python -m zl_probe.server FD '{"modules": […], "target": "cuda:90" | null, "memory": BYTES | null, "held": […],
"device": "cuda"}'` with the side's whole environment, the switch included, so that a switch which is read at import is read
right. It never runs a benchmark itself, and never initialises a device, which would be of no use to a fork. With `device`,
torch's module for a card, `modules` are imported without touching it (see untouched.py); where that can not be, the server
starts again without them, and each run imports them for itself. The file descriptors `held` stay open as long as it and its
runs live, because a lock is held by them. Messages are JSON objects, one a line, on the inherited socket FD:

    tool -> server   {"op": "run", "id": 7, "input": "/…/input.json"}
                     {"op": "passes", "id": 8, "target": "cuda:90", "out": "/…/answer.json"}
                     {"op": "target", "id": 9, "out": "/…/answer.json"}
                     {"op": "selftest", "id": 10, "device": "cuda", "methods": ["graph", …], "out": "/…/answer.json"}
                     {"op": "kill", "id": 7}
    server -> tool   {"ready": {versions, "opened": [devices that importing has opened], "not_imported": why `modules` are left
                     to each run, empty if they are not}} or {"failed": "why"}, once
                     {"id": 7, "pid": 4711}, then {"id": 7, "code": 0} or {"id": 7, "signal": 9}

An end has `left`, how many living processes the run left behind. A signal has `memory` if it was sent because the run and its
processes took more than `memory` bytes together, and `kernel_kills` if the kernel killed that many processes of the
machine for lack of memory while the run went on.

When the socket closes, because the tool ended in whatever way, the server kills every run and ends.
"""

import gc
import json
import os
import selectors
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from typing import Any

from . import case, devices, preload, processes, versions, wire
from .memory import MemoryWatch, kernel_kills
from .untouched import Untouched

NO_CARD = "no card answered"
"""Why modules are not imported where there is none to ask; each run finds out for itself, and says so."""


@dataclass
class Run:
    """A run that has not ended, as far as the server knows."""

    number: int
    kernel_kills: int
    """How many processes the kernel had killed for lack of memory when it started."""
    too_large: bool = False
    """It is being killed because it took too much memory."""
    unwanted: bool = False
    """It is being killed because the tool has asked for that."""


class Server:
    """Forks, watches and ends runs. Single-threaded: a fork must never copy a held lock."""

    def __init__(self, channel: socket.socket, memory: int | None = None, untouched: Untouched | None = None):
        self._channel = channel
        self._untouched = untouched
        self._watch = MemoryWatch(memory)
        self._runs: dict[int, Run] = {}  # by pid
        self._buffer = b""

    def tell(self, **message: Any) -> None:
        """Send one message to the tool."""
        self._channel.sendall(json.dumps(message).encode() + b"\n")

    def serve(self) -> None:
        """Handle messages and the ends of children until the tool is gone."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        os.set_blocking(wake_read, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        selector = selectors.DefaultSelector()
        selector.register(self._channel, selectors.EVENT_READ)
        selector.register(wake_read, selectors.EVENT_READ)
        try:
            alive = True
            while alive:
                for key, _ in selector.select(self._watch.pause):
                    if key.fileobj == wake_read:
                        os.read(wake_read, 4096)
                    else:
                        alive = self._receive()
                for pid in self._watch.exceeding():
                    self._runs[pid].too_large = True
                    self._kill(pid)
                self._reap()
        except (BrokenPipeError, ConnectionResetError):
            pass  # the tool went away between a run's end and the report of it
        finally:
            for pid in list(self._runs):
                processes.kill_group(pid)
            processes.end_strays(())

    def _receive(self) -> bool:
        """Read what has come; False when the tool is gone."""
        try:
            data = self._channel.recv(1 << 16)
        except ConnectionResetError:
            return False
        if not data:
            return False
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["op"] == "kill":
                self._kill_unwanted(message["id"])
            else:
                self._start(message)
        return True

    def _kill_unwanted(self, number: int) -> None:
        for pid, run in self._runs.items():
            if run.number == number:
                run.unwanted = True
                self._kill(pid)

    def _kill(self, pid: int) -> None:
        """Kill a run; what is left of its processes ends when it is reaped."""
        self._watch.remove(pid)
        processes.kill_group(pid)
        os.kill(pid, signal.SIGKILL)  # it may not lead a group yet; it is not reaped, so the pid is its own

    def _start(self, message: dict[str, Any]) -> None:
        parent = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        kills = kernel_kills()
        pid = os.fork()
        if pid == 0:
            _become_run(parent, self._channel, message, self._untouched)
        self._runs[pid] = Run(message["id"], kills)
        self._watch.add(pid)
        self.tell(id=message["id"], pid=pid)

    def _reap(self) -> None:
        """Report every child that has ended; end whatever it left behind first."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            run = self._runs.pop(pid, None)
            if run is None:
                continue  # an adopted orphan
            self._watch.remove(pid)
            left = processes.count_strays(self._runs)
            processes.kill_group(pid)
            processes.end_strays(self._runs)
            if os.WIFSIGNALED(status):
                self.tell(id=run.number, signal=os.WTERMSIG(status), left=left, **_why_killed(run))
            else:
                self.tell(id=run.number, code=os.WEXITSTATUS(status), left=left)


def _why_killed(run: Run) -> dict[str, Any]:
    """What is known of a signal that ended a run."""
    if run.too_large:
        return {"memory": True}
    kills = 0 if run.unwanted else kernel_kills() - run.kernel_kills
    return {"kernel_kills": kills} if kills > 0 else {}


def _become_run(parent: int, channel: socket.socket, message: dict[str, Any], untouched: Untouched | None) -> None:
    """The forked child: never returns."""
    code = 70
    try:
        os.setsid()
        processes.die_with_parent(parent)
        processes.adopt_orphans()  # so that a daemon of this run counts as its own, and ends with it and no other
        processes.die_first()
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        channel.close()
        if message["op"] == "run":
            code = _run_case(message["input"], untouched)
        else:
            if untouched is not None:
                untouched.touch()
            code = _answer(message)
    except BaseException:  # noqa: BLE001 - the process edge: whatever it was goes to the log and becomes the exit status
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:  # a full disk must not make a second server of this child
            os._exit(code)


def _redirect(log: str) -> None:
    """Send the standard streams, native code's too, to a file; nothing waits for input."""
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _run_case(path: str, untouched: Untouched | None) -> int:
    given = case.load_input(path)
    _redirect(os.path.join(given["out"], wire.LOG_FILE))
    for name, folder in given["caches"].items():
        os.makedirs(folder, exist_ok=True)
        os.environ[name] = folder
    os.chdir(given["rootdir"])
    return case.run(given, untouched)


def _answer(message: dict[str, Any]) -> int:
    """Find out what the tool asks of this side's compiler, or of its card."""
    from . import liveness

    _redirect(message["out"] + ".log")
    os.environ["TRITON_CACHE_DIR"] = message["out"] + ".cache"
    if message["op"] == "passes":
        liveness.write_passes(message["target"], message["out"])
    elif message["op"] == "selftest":
        from .timing import selftest

        selftest.write(message["device"], message["methods"], message["out"])
    else:
        liveness.write_card_target(message["out"])
    return 0


def main() -> None:
    """Serve the side. Prints nothing; what imports print goes where the tool pointed the standard streams."""
    descriptor, start = int(sys.argv[1]), json.loads(sys.argv[2])
    channel = socket.socket(fileno=descriptor)
    processes.adopt_orphans()
    for held in start.get("held", ()):
        os.set_inheritable(held, False)  # forked runs keep it open; a program that they start has no part in it
    device = start.get("device", "")
    try:
        untouched = preload.preload(start["modules"], start["target"], device)
        if not start["target"]:
            devices.require_untouched()
        unasked = NO_CARD if device and start["modules"] and untouched is None else ""
        left = {"opened": devices.opened(), "not_imported": start.get("not_imported") or unasked}
        ready = {**versions.versions(), **left}
    except Exception as error:  # noqa: BLE001 - the process edge: the tool must hear why no run can start
        if device and start["modules"]:
            traceback.print_exc()
            _start_again(descriptor, {**start, "modules": [], "not_imported": f"{type(error).__name__}: {error}"[:500]})
        Server(channel).tell(failed=traceback.format_exc())
        raise SystemExit(1) from None
    server = Server(channel, start.get("memory"), untouched)
    gc.freeze()  # what is imported by now is never garbage: children need not look at it, nor copy its pages
    server.tell(ready=ready)
    server.serve()


def _start_again(descriptor: int, start: dict[str, Any]) -> None:
    """Become a server that is told `start`, in a process that has imported nothing yet: what has touched a card never forks."""
    sys.stdout.flush()
    sys.stderr.flush()
    for kept in (descriptor, *start.get("held", ())):
        os.set_inheritable(kept, True)
    os.execv(sys.executable, [sys.executable, "-m", "zl_probe.server", str(descriptor), json.dumps(start)])


if __name__ == "__main__":
    main()
