"""The side servers of one screen: started when first needed, started again should one die, ended together."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.side_server import SidePlan, SideServer


class SideServers:
    """One live server per side. An async context manager: leaving it ends every process it started."""

    def __init__(self, plans: Mapping[Side, SidePlan]):
        self.plans = plans
        self._servers: dict[Side, SideServer] = {}
        self._starting = {side: asyncio.Lock() for side in plans}

    async def __aenter__(self) -> SideServers:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(*(server.close() for server in self._servers.values()))

    async def server(self, side: Side) -> SideServer:
        """The side's live server. Raises EnvironmentUnfit when it can not start."""
        async with self._starting[side]:
            current = self._servers.get(side)
            if current is None or not current.alive:
                if current is not None:
                    await current.close()
                self._servers[side] = await SideServer.start(self.plans[side])
            return self._servers[side]

    async def start(self) -> dict[Side, dict[str, Any]]:
        """Start all sides at once; return the versions that each reports."""
        started = await asyncio.gather(*(self.server(side) for side in self.plans), return_exceptions=True)
        for result in started:
            if isinstance(result, BaseException):
                raise result
        return {side: self._servers[side].versions for side in self.plans}

    async def run(
        self, side: Side, input_file: Path, timeout: float, entered: asyncio.Event | None = None
    ) -> ProcessOutcome:
        """Run one case on its side; its time counts from when `entered` is set, if that is given."""
        server = await self.server(side)
        return await server.run(input_file, timeout, entered)
