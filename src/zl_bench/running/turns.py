"""Keeps the gate at which the two sides' processes of a round meet, and says whose turn it is. Protocol: zl_probe/wire.py.

Both sides wait to be let in where they would first use the card. At each timed row both must arrive. Then one prepares, then
the other, then they time it in the order ABBA: nothing of ours uses the card beside a turn. An abstract socket (Linux) leaves
no file behind and knows no longest path; whoever connects must be of this user and say which side it is. A side that ends ends
the other's waiting: the pair is lost, with its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
import struct
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from zl_bench.model import SIDES, RowKey, Side

EACH = 2
"""Turns of a side at each row: first, other, other, first."""
OTHER: Mapping[Side, Side] = {"before": "after", "after": "before"}

Message = Mapping[str, Any]


@dataclass(frozen=True)
class TurnOrder:
    """Which rows are to be timed, and which side goes first at each."""

    wanted: Callable[[RowKey], bool]
    first: Callable[[RowKey], Side]


@dataclass(frozen=True)
class KeptTurns:
    """What became of a pair. `lost` says why it can not be used, empty if it can; `passed` why a row was not timed."""

    lost: str
    passed: Mapping[RowKey, str]


class _Lost(Exception):
    """One side can not go on, for the reason given."""


@dataclass
class _End:
    """The channel to one side: what it says, None once it says nothing more."""

    heard: asyncio.Queue[Message | None] = field(default_factory=asyncio.Queue)
    writer: asyncio.StreamWriter | None = None
    gone: bool = False

    def over(self) -> None:
        """It will say nothing more."""
        if not self.gone:
            self.gone = True
            self.heard.put_nowait(None)


class TurnKeeper:
    """An async context manager: entering it listens, leaving it hangs up on whoever is still there."""

    def __init__(self) -> None:
        self.socket = f"zl-bench-{secrets.token_hex(16)}"
        self._ends: dict[Side, _End] = {side: _End() for side in SIDES}
        self._server: asyncio.Server | None = None
        self._passed: dict[RowKey, str] = {}
        self._lost = ""

    async def __aenter__(self) -> Self:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(b"\0" + self.socket.encode())
        self._server = await asyncio.start_unix_server(self._connected, sock=listener)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        for end in self._ends.values():
            if end.writer is not None:
                end.writer.close()

    def ended(self, side: Side) -> None:
        """The side's process has ended, whether it ever came here or not."""
        self._ends[side].over()

    async def keep(self, order: TurnOrder) -> KeptTurns:
        """Let both sides in, and hand out turns until both have ended, or one can not go on: then the other is to leave."""
        try:
            await asyncio.gather(*map(self._let_in, SIDES))
            while await self._row(order):
                pass
        except _Lost as lost:
            self._lost = str(lost)
            for side in SIDES:
                await self._leave(side)
        return KeptTurns(self._lost, self._passed)

    async def _let_in(self, side: Side) -> None:
        """Wait until the side is ready, and let it use the card; that one has ended before is noticed at its first row."""
        end = self._ends[side]
        message = await end.heard.get()
        if message is None:
            end.heard.put_nowait(None)
        elif "ready" in message:
            await self._tell(side, do="enter")
        else:
            raise _Lost(f"the {side} side came to a row before it was let in")

    async def _row(self, order: TurnOrder) -> bool:
        """One row; False when both sides have come to their ends."""
        arrived = {side: await self._ends[side].heard.get() for side in SIDES}
        rows = {side: None if message is None else _row_of(message) for side, message in arrived.items()}
        before, after = rows["before"], rows["after"]
        if before is None and after is None:
            return False
        if before is None or after is None or before != after:
            raise _Lost(_no_match(rows))
        key = before
        if not order.wanted(key):
            return await self._pass_over(key, "it was not to be timed")
        first = order.first(key)
        methods: dict[str, Side] = {}
        for side in (first, OTHER[first]):
            answer = await self._ask(side, key, do="prepare")
            if "prepared" not in answer:
                return await self._pass_over(key, f"{side}: {answer.get('refused', 'it could not be prepared')}")
            methods[str(answer["prepared"])] = side
        if len(methods) > 1:
            told = " and ".join(f"{side} by {method}" for method, side in sorted(methods.items()))
            return await self._pass_over(key, f"the sides can not be timed by one method: {told}")
        loaded = None
        for side in (first, *[OTHER[first]] * EACH, first):
            answer = await self._ask(side, key, do="turn", loaded=loaded)
            if "timed" not in answer:
                return await self._pass_over(key, f"{side}: {answer.get('failed', 'its turn failed')}")
            loaded = time.monotonic()  # which time.perf_counter of every process of this machine reads as well
        for side in SIDES:
            await self._tell(side, do="next", why="")
        return True

    async def _pass_over(self, key: RowKey, why: str) -> bool:
        self._passed[key] = why
        for side in SIDES:
            await self._tell(side, do="next", why=why)
        return True

    async def _ask(self, side: Side, key: RowKey, **order: Any) -> Message:
        await self._tell(side, **order)
        answer = await self._ends[side].heard.get()
        if answer is None:
            raise _Lost(f"the {side} side's process ended at {_told(key)}")
        return answer

    async def _leave(self, side: Side) -> None:
        await self._tell(side, do="leave", why=self._lost)

    async def _tell(self, side: Side, **order: Any) -> None:
        writer = self._ends[side].writer
        if writer is not None:
            with contextlib.suppress(OSError):  # a side that is gone is noticed where it is waited for
                writer.write(json.dumps(order).encode() + b"\n")
                await writer.drain()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        side: Side | None = None
        try:
            side = self._side_of(await _heard(reader), writer)
            if side is None:
                return
            end = self._ends[side]
            end.writer = writer
            if self._lost:  # it comes too late
                await self._leave(side)
            while (message := await _heard(reader)) is not None:
                end.heard.put_nowait(message)
        except OSError:
            pass  # the same as an end of file
        finally:
            if side is not None:
                self._ends[side].over()
            writer.close()

    def _side_of(self, hello: Message | None, writer: asyncio.StreamWriter) -> Side | None:
        """The side that has connected; None for anybody else, or one that is there already."""
        said = None if hello is None else hello.get("side")
        side = next((one for one in SIDES if one == said), None)
        return side if side is not None and self._ends[side].writer is None and _is_ours(writer) else None


async def _heard(reader: asyncio.StreamReader) -> Message | None:
    """The next message, None at the end or for what is none."""
    line = await reader.readline()
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    """Whether the process at the other end is this user's."""
    peer: socket.socket = writer.get_extra_info("socket")
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    return bool(user == os.getuid())


def _row_of(message: Message) -> RowKey | None:
    row = message.get("row")
    if not isinstance(row, Mapping):
        return None
    node, operator, dtype, detail = (str(row.get(name, "")) for name in ("node", "operator", "dtype", "detail"))
    return RowKey(node, operator, dtype, int(row.get("ordinal", 0)), detail)


def _no_match(rows: Mapping[Side, RowKey | None]) -> str:
    at = [f"{side} at {_told(key)}" if key is not None else f"{side} has ended" for side, key in rows.items()]
    return f"the sides do not come to the same rows: {', '.join(at)}"


def _told(key: RowKey) -> str:
    number = f" #{key.ordinal}" if key.ordinal else ""
    return f"{key.operator} {key.dtype} {key.detail}{number}"
