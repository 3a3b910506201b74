"""The servers of a screen, against simulated ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.running.simulated import is_gone, simulated
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import Side
from zl_bench.running.servers import SideServers
from zl_bench.running.side_server import SidePlan

LIMIT = 20.0


def plans(folder: Path, before: str = "ready", after: str = "ready") -> dict[Side, SidePlan]:
    return {
        "before": simulated(folder, before, MARKER="off"),
        "after": replace(simulated(folder, after, MARKER="on"), side="after", log=folder / "after.log"),
    }


def within(sides: Mapping[Side, SidePlan], body: Callable[[SideServers], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with SideServers(sides) as servers:
            await body(servers)

    asyncio.run(asyncio.wait_for(whole(), LIMIT))


def test_each_side_has_one_server_of_its_own(tmp_path: Path) -> None:
    pids = []

    async def body(servers: SideServers) -> None:
        versions = await servers.start()
        assert {side: found["marker"] for side, found in versions.items()} == {"before": "off", "after": "on"}
        pids.extend(found["pid"] for found in versions.values())
        assert await servers.start() == versions
        assert (await servers.run("before", Path("code:1"), LIMIT)).code == 1
        assert (await servers.run("after", Path("code:2"), LIMIT)).code == 2
        assert (await servers.server("before")).versions == versions["before"]

    within(plans(tmp_path), body)
    assert len(set(pids)) == 2
    assert all(map(is_gone, pids))


def test_runs_that_come_together_start_one_server(tmp_path: Path) -> None:
    async def body(servers: SideServers) -> None:
        first, second = await asyncio.gather(servers.server("before"), servers.server("before"))
        assert first is second

    within(plans(tmp_path), body)


def test_a_server_that_died_is_replaced_for_the_next_run(tmp_path: Path) -> None:
    async def body(servers: SideServers) -> None:
        first = await servers.server("before")
        assert (await servers.run("before", Path("die"), LIMIT)).kind == "not started"
        assert (await servers.run("before", Path("code:4"), LIMIT)).code == 4
        second = await servers.server("before")
        assert second is not first
        assert second.versions["pid"] != first.versions["pid"]
        assert is_gone(first.versions["pid"])

    within(plans(tmp_path), body)


def test_a_side_that_can_not_start_is_told_and_the_other_one_ended(tmp_path: Path) -> None:
    pids = []

    async def body(servers: SideServers) -> None:
        try:
            await servers.start()
        finally:
            pids.append((await servers.server("before")).versions["pid"])

    with pytest.raises(EnvironmentUnfit, match="The after side can not start"):
        within(plans(tmp_path, after="dies"), body)
    assert is_gone(pids[0])


def test_an_error_inside_ends_the_servers(tmp_path: Path) -> None:
    pids = []

    async def body(servers: SideServers) -> None:
        pids.extend(found["pid"] for found in (await servers.start()).values())
        raise KeyError

    with pytest.raises(KeyError):
        within(plans(tmp_path), body)
    assert all(map(is_gone, pids))


def test_servers_that_never_started_need_no_end(tmp_path: Path) -> None:
    async def body(servers: SideServers) -> None:
        assert set(servers.plans) == {"before", "after"}

    within(plans(tmp_path), body)
