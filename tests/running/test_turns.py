"""The keeper of turns: what it says to two sides that come, do not match, fail, die or never come. The socket is real."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from zl_bench.model import RowKey, Side
from zl_bench.running.turns import KeptTurns, TurnKeeper, TurnOrder

KEY = {"node": "t.py::t", "operator": "mm", "dtype": "float16", "ordinal": 0, "detail": "64"}
ROW = RowKey("t.py::t", "mm", "float16", 0, "64")
LIMIT = 20


class Player:
    """One end of the channel, as a probe would hold it; `log` is shared by both."""

    def __init__(self, keeper: TurnKeeper, side: Side, log: list[tuple[str, str]]):
        self.keeper, self.side, self.log = keeper, side, log

    async def come(self) -> None:
        """Connect, and be let in."""
        await self.connect()
        self.say(ready=True)
        assert (await self.hear())["do"] == "enter"

    async def connect(self) -> None:
        self.reader, self.writer = await asyncio.open_unix_connection("\0" + self.keeper.socket)
        self.say(side=self.side, pid=1)

    def say(self, **message: Any) -> None:
        self.writer.write(json.dumps(message).encode() + b"\n")

    async def hear(self) -> dict[str, Any]:
        line = await self.reader.readline()
        order: dict[str, Any] = json.loads(line) if line else {"do": "closed"}
        self.log.append((self.side, order["do"]))
        return order

    def end(self) -> None:
        self.writer.close()

    async def row(self, detail: str = "64", method: str = "graph") -> dict[str, Any]:
        """One row as it should go; gives the last order."""
        self.say(row={**KEY, "detail": detail})
        order = await self.hear()
        if order["do"] == "prepare":
            self.say(prepared=method)
            order = await self.hear()
        while order["do"] == "turn":
            self.say(timed=True)
            order = await self.hear()
        return order


Play = Callable[[Player], Awaitable[Any]]


def keep(
    before: Play, after: Play, first: Side = "before", wanted: Callable[[RowKey], bool] = lambda _: True
) -> tuple[KeptTurns, list[tuple[str, str]]]:
    """What the keeper made of two sides, and every order in the order in which it was heard."""
    log: list[tuple[str, str]] = []

    async def one(keeper: TurnKeeper, side: Side, play: Play) -> None:
        player = Player(keeper, side, log)
        await play(player)
        if hasattr(player, "writer"):
            player.end()
        keeper.ended(side)

    async def both() -> KeptTurns:
        async with TurnKeeper() as keeper:
            keeping = asyncio.create_task(keeper.keep(TurnOrder(wanted, lambda _: first)))
            await asyncio.gather(one(keeper, "before", before), one(keeper, "after", after))
            return await keeping

    return asyncio.run(asyncio.wait_for(both(), LIMIT)), log


async def two_rows(side: Player) -> None:
    await side.come()
    assert await side.row("64") == {"do": "next", "why": ""}
    assert await side.row("128") == {"do": "next", "why": ""}


def test_each_prepares_and_then_they_take_turns_abba() -> None:
    kept, log = keep(two_rows, two_rows, first="after")
    assert kept == KeptTurns("", {})
    row = [("after", "prepare"), ("before", "prepare"), ("after", "turn"), ("before", "turn"), ("before", "turn"),
           ("after", "turn")]  # fmt: skip
    orders = [one for one in log if one[1] not in ("enter", "next")]
    assert orders == row * 2


def test_nobody_is_let_in_before_turns_are_kept() -> None:
    async def body() -> None:
        async with TurnKeeper() as keeper:
            before, after = Player(keeper, "before", []), Player(keeper, "after", [])
            for player in (before, after):
                await player.connect()
                player.say(ready=True)
            hearing = [asyncio.create_task(player.hear()) for player in (before, after)]
            answered, _ = await asyncio.wait(hearing, timeout=0.1)
            assert not answered
            keeping = asyncio.create_task(keeper.keep(TurnOrder(lambda _: True, lambda _: "before")))
            assert await asyncio.gather(*hearing) == [{"do": "enter"}] * 2
            before.end()
            after.end()
            assert await keeping == KeptTurns("", {})

    asyncio.run(asyncio.wait_for(body(), LIMIT))


def test_a_side_that_ends_before_it_is_ready_frees_the_one_that_waits_to_be_let_in() -> None:
    async def ends(side: Player) -> None:
        await side.connect()

    async def stays(side: Player) -> None:
        await side.come()
        assert (await side.row())["do"] == "leave"

    for plays, gone in (((ends, stays), "before"), ((stays, ends), "after")):
        kept, _ = keep(*plays)
        assert f"{gone} has ended" in kept.lost


def test_a_row_before_the_side_was_let_in_loses_the_pair() -> None:
    async def rushes(side: Player) -> None:
        await side.connect()
        side.say(row=KEY)
        assert (await side.hear())["do"] == "leave"

    kept, _ = keep(rushes, rushes)
    assert "came to a row before it was let in" in kept.lost


def test_the_card_is_said_to_be_loaded_since_the_turn_before() -> None:
    heard: list[Any] = []

    async def play(side: Player) -> None:
        await side.come()
        side.say(row=KEY)
        await side.hear()
        side.say(prepared="graph")
        while (order := await side.hear())["do"] == "turn":
            heard.append(order["loaded"])
            side.say(timed=True)

    keep(play, play)
    assert heard[0] is None
    assert heard[1:] == sorted(heard[1:])
    assert len(heard) == 4


def test_a_row_that_is_not_wanted_is_passed_over_without_being_prepared() -> None:
    async def play(side: Player) -> None:
        await side.come()
        assert (await side.row())["why"] == "it was not to be timed"

    kept, log = keep(play, play, wanted=lambda _: False)
    assert kept.lost == ""
    assert list(kept.passed) == [ROW]
    assert ("before", "prepare") not in log


def test_sides_that_prepare_different_methods_do_not_time_the_row_and_go_on() -> None:
    def play(method: str) -> Play:
        async def playing(side: Player) -> None:
            await side.come()
            assert (await side.row("64", method))["do"] == "next"
            assert await side.row("128") == {"do": "next", "why": ""}

        return playing

    kept, _ = keep(play("graph"), play("queued"))
    assert kept.lost == ""
    assert kept.passed[ROW] == "the sides can not be timed by one method: before by graph and after by queued"


def test_a_side_that_can_not_prepare_or_fails_in_its_turn_costs_the_row_alone() -> None:
    async def refuses(side: Player) -> None:
        await side.come()
        side.say(row=KEY)
        await side.hear()
        side.say(refused="no method bears it")
        assert await side.hear() == {"do": "next", "why": "before: no method bears it"}

    async def goes_on(side: Player) -> None:
        await side.come()
        assert (await side.row())["do"] == "next"

    kept, _ = keep(refuses, goes_on)
    assert kept == KeptTurns("", {ROW: "before: no method bears it"})

    async def fails(side: Player) -> None:
        await side.come()
        side.say(row=KEY)
        await side.hear()
        side.say(prepared="graph")
        await side.hear()
        side.say(failed="RuntimeError: no")
        assert (await side.hear())["do"] == "next"

    kept, _ = keep(fails, goes_on)
    assert kept == KeptTurns("", {ROW: "before: RuntimeError: no"})


def test_other_rows_lose_the_pair_and_both_are_told_to_leave() -> None:
    def play(detail: str) -> Play:
        async def playing(side: Player) -> None:
            await side.come()
            side.say(row={**KEY, "detail": detail})
            assert (await side.hear())["do"] == "leave"

        return playing

    kept, _ = keep(play("64"), play("128"))
    assert kept.lost == "the sides do not come to the same rows: before at mm float16 64, after at mm float16 128"


def test_a_side_that_dies_frees_the_other() -> None:
    async def dies(side: Player) -> None:
        await side.come()
        side.say(row=KEY)
        await side.hear()

    async def stays(side: Player) -> None:
        await side.come()
        assert (await side.row())["do"] == "leave"

    kept, _ = keep(dies, stays)
    assert kept.lost == "the before side's process ended at mm float16 64"
    kept, _ = keep(stays, dies)
    assert kept.lost == "the after side's process ended at mm float16 64"


def test_a_side_that_never_comes_frees_the_other_and_one_that_comes_late_is_sent_away() -> None:
    async def never(side: Player) -> None:
        await asyncio.sleep(0.05)

    async def stays(side: Player) -> None:
        await side.come()
        assert (await side.row())["do"] == "leave"

    kept, _ = keep(never, stays)
    assert kept.lost == "the sides do not come to the same rows: before has ended, after at mm float16 64"

    async def body() -> None:
        async with TurnKeeper() as keeper:
            early, late = Player(keeper, "before", []), Player(keeper, "after", [])
            keeping = asyncio.create_task(keeper.keep(TurnOrder(lambda _: True, lambda _: "before")))
            await early.come()
            early.say(row=KEY)
            keeper.ended("after")
            assert (await early.hear())["do"] == "leave"
            assert (await keeping).lost
            await late.connect()
            assert (await late.hear())["do"] == "leave"
            early.end()
            late.end()

    asyncio.run(asyncio.wait_for(body(), LIMIT))


def test_a_stranger_and_a_second_of_a_side_are_shown_out() -> None:
    async def body() -> None:
        async with TurnKeeper() as keeper:
            keeping = asyncio.create_task(keeper.keep(TurnOrder(lambda _: True, lambda _: "before")))
            before, after = Player(keeper, "before", []), Player(keeper, "after", [])
            await before.come()
            await after.come()
            await asyncio.sleep(0.05)
            for words in (b'{"side": "neither"}\n', b"nonsense\n", b'{"side": "before"}\n'):
                reader, writer = await asyncio.open_unix_connection("\0" + keeper.socket)
                writer.write(words)
                assert await reader.readline() == b""
                writer.close()
            rows = await asyncio.gather(before.row(), after.row())
            assert rows == [{"do": "next", "why": ""}] * 2
            before.end()
            after.end()
            assert await keeping == KeptTurns("", {})

    asyncio.run(asyncio.wait_for(body(), LIMIT))
