"""The tool's end of a side server: starts it, hands it runs, hears how they end. Protocol: zl_probe/server.py."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import ProcessOutcome, Side, TimingMethod
from zl_bench.running.environment import PROBE_PATH
from zl_bench.running.memory import gib
from zl_bench.running.planner import CACHES

START_LIMIT = 300.0
"""Seconds for a side's imports; a cold disk reads gigabytes."""
KILL_LIMIT = 20.0
"""Seconds that a killed run may take to end before its whole server is killed."""

KERNEL_KILLS = "perhaps by the kernel, which killed for lack of memory meanwhile: a smaller --memory or --jobs may help"


@dataclass(frozen=True)
class SidePlan:
    """How one side's processes are started.

    `modules` are imported once, in the parent of all runs, and the stand-in for `target` is installed there. With `device`,
    torch's module for a card, they are imported without touching it, and left to each run where that can not be. `memory` is
    what each run may take, in bytes. `caches` is a folder for what importing them writes; every run has caches of its own.
    `held` are files to be kept open, because a lock is held by having them open.
    """

    side: Side
    interpreter: Path
    environment: Mapping[str, str]
    log: Path
    target: str | None = None
    modules: tuple[str, ...] = ()
    device: str = ""
    memory: int | None = None
    caches: Path | None = None
    held: tuple[int, ...] = ()

    @property
    def own_environment(self) -> dict[str, str]:
        """The server's: the side's environment, and its own caches in the place of the user's."""
        if self.caches is None:
            return dict(self.environment)
        own = {name: str(self.caches.absolute() / Path(folder).name) for name, folder in CACHES.items()}
        return {**self.environment, **own}

    @property
    def start(self) -> dict[str, Any]:
        """What the server is told when it starts."""
        limit = {} if self.memory is None else {"memory": self.memory}
        held = {"held": self.held} if self.held else {}
        device = {"device": self.device} if self.device else {}
        return {"modules": self.modules, "target": self.target, **limit, **held, **device}


class SideServer:
    """A running side server. Use `start`, and `close` whatever happens."""

    def __init__(self, plan: SidePlan, process: asyncio.subprocess.Process, writer: asyncio.StreamWriter):
        self.plan = plan
        self.versions: dict[str, Any] = {}
        self._process = process
        self._writer = writer
        self._ends: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._count = 0
        self._listener: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, plan: SidePlan) -> SideServer:
        """Start the interpreter and wait until it has paid its imports. Raises EnvironmentUnfit with the reason."""
        try:
            log = plan.log.open("ab")
        except OSError as error:
            raise EnvironmentUnfit(f"{plan.log} can not be written: {error.strerror or error}.") from error
        ours, theirs = socket.socketpair()
        with log, theirs:
            arguments = ["-m", "zl_probe.server", str(theirs.fileno()), json.dumps(plan.start)]
            try:
                process = await asyncio.create_subprocess_exec(
                    str(plan.interpreter),
                    *arguments,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    pass_fds=[theirs.fileno(), *plan.held],
                    env=plan.own_environment,
                    cwd=PROBE_PATH,
                    start_new_session=True,  # Ctrl-C is the tool's to handle
                )
            except OSError as error:
                ours.close()
                raise EnvironmentUnfit(f"{plan.interpreter} can not be started: {error}.") from error
        reader, writer = await asyncio.open_connection(sock=ours)
        server = cls(plan, process, writer)
        try:
            ready = await asyncio.wait_for(_greeting(reader), START_LIMIT)
        except asyncio.CancelledError:
            server._kill_server()  # it may be in the middle of long imports
            await server.close()
            raise
        except (TimeoutError, ConnectionError, ValueError) as error:
            late = isinstance(error, TimeoutError)
            reason = f"the imports took more than {START_LIMIT:.0f} s" if late else str(error)
            await server.close()
            raise EnvironmentUnfit(
                f"The {plan.side} side can not start in {plan.interpreter}: {reason}. It needs triton and pytest "
                f"(and torch for most suites); see {plan.log} and `zl-bench doctor`."
            ) from error
        server.versions = ready
        server._listener = asyncio.create_task(server._listen(reader))
        return server

    @property
    def alive(self) -> bool:
        """Whether it can take runs."""
        return self._listener is not None and not self._listener.done()

    async def run(self, input_file: Path, timeout: float, entered: asyncio.Event | None = None) -> ProcessOutcome:
        """Run one case in a child and say how its process ended; it never outlives the call.

        With `entered` its time counts from when that is set: until then it starts up, and waits for others.
        """
        number, end = self._send({"op": "run", "input": str(input_file)})
        if entered is not None:
            await self._waited(number, end, entered)
        started = time.monotonic()
        outcome = await self._ended(number, end, timeout)
        return replace(outcome, seconds=round(time.monotonic() - started, 3))

    async def passes(self, target: str, out: Path, timeout: float) -> ProcessOutcome:
        """Have a child write the names of the target's pipeline passes to `out`."""
        number, end = self._send({"op": "passes", "target": target, "out": str(out)})
        return await self._ended(number, end, timeout)

    async def target(self, out: Path, timeout: float) -> ProcessOutcome:
        """Have a child write to `out` what the card that the side sees compiles for."""
        number, end = self._send({"op": "target", "out": str(out)})
        return await self._ended(number, end, timeout)

    async def selftest(self, device: str, methods: Sequence[TimingMethod], out: Path, timeout: float) -> ProcessOutcome:
        """Have a child time calls of known length by these methods, on torch's device of that name, and write to `out`."""
        number, end = self._send({"op": "selftest", "device": device, "methods": list(methods), "out": str(out)})
        return await self._ended(number, end, timeout)

    async def close(self) -> None:
        """End the server and every run that it still has."""
        self._writer.close()
        if self._listener is not None:
            self._listener.cancel()
        try:
            await asyncio.wait_for(self._process.wait(), KILL_LIMIT)
        except TimeoutError:
            self._kill_server()
            await self._process.wait()

    def _kill_server(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()  # its children die with it: they asked the kernel to

    def _send(self, message: dict[str, Any]) -> tuple[int, asyncio.Future[dict[str, Any]]]:
        self._count += 1
        end: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        if not self.alive:
            end.set_result({"gone": True})
            return self._count, end
        self._ends[self._count] = end
        self._writer.write(json.dumps({**message, "id": self._count}).encode() + b"\n")
        return self._count, end

    async def _waited(self, number: int, end: asyncio.Future[dict[str, Any]], entered: asyncio.Event) -> None:
        """Wait until the event is set, or the run has ended before."""
        waiting = asyncio.create_task(entered.wait())
        try:
            await asyncio.wait((waiting, end), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self._kill(number, end)
            raise
        finally:
            waiting.cancel()

    async def _ended(self, number: int, end: asyncio.Future[dict[str, Any]], timeout: float) -> ProcessOutcome:
        try:
            message = await asyncio.wait_for(asyncio.shield(end), timeout)
        except TimeoutError:
            await self._kill(number, end)
            return ProcessOutcome("timeout", detail=f"more than {timeout:g} s")
        except asyncio.CancelledError:
            await self._kill(number, end)
            raise
        finally:
            self._ends.pop(number, None)
        if "gone" in message:
            return ProcessOutcome("not started", detail="the side's server ended unexpectedly")
        left = int(message.get("left", 0))
        if "signal" not in message:
            return ProcessOutcome("exited", message["code"], left=left)
        if message.get("memory"):
            limit = f"limit {gib(self.plan.memory or 0)}, --memory"
            return ProcessOutcome("memory", message["signal"], limit, left)
        hint = KERNEL_KILLS if message.get("kernel_kills") else ""
        return ProcessOutcome("signal", message["signal"], hint, left)

    async def _kill(self, number: int, end: asyncio.Future[dict[str, Any]]) -> None:
        if self.alive:
            self._writer.write(json.dumps({"op": "kill", "id": number}).encode() + b"\n")
        try:
            await asyncio.wait_for(asyncio.shield(end), KILL_LIMIT)
        except TimeoutError:
            self._kill_server()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                message = json.loads(line)
                end = self._ends.get(message["id"])
                if end is not None and not end.done() and "pid" not in message:
                    end.set_result(message)
        except ConnectionError:
            pass  # the same as an end of file: the server is gone
        except (ValueError, LookupError, TypeError):
            self._kill_server()  # what it says makes no sense, so nothing that it runs can be followed any more
        finally:
            for end in self._ends.values():
                if not end.done():
                    end.set_result({"gone": True})


async def _greeting(reader: asyncio.StreamReader) -> dict[str, Any]:
    """The versions that a server reports when it is ready. Raises ValueError with the reason if it never is."""
    line = await reader.readline()
    if not line:
        raise ValueError("the interpreter ended while it started")
    try:
        message = json.loads(line)
    except ValueError:
        message = None
    if isinstance(message, dict) and isinstance(message.get("ready"), dict):
        return dict(message["ready"])
    if isinstance(message, dict) and str(message.get("failed", "")).strip():
        raise ValueError(str(message["failed"]).strip().splitlines()[-1])
    raise ValueError(f"its first word was {line[:80]!r}")
