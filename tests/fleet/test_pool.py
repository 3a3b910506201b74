"""Handing out cards: which one, who is waited for, and for how long."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tests.fleet.simulated import other_holder
from zl_bench.errors import EnvironmentUnfit
from zl_bench.fleet import pool as module
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, lock_folder
from zl_bench.fleet.pool import CardPool, HeldCard

A, B = Card("simulated", 0, "SIM-a"), Card("simulated", 1, "SIM-b")
LIMIT = 30.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "POLL", 0.01)
    return lock_folder({"ZL_BENCH_LOCKS": str(tmp_path / "locks")})


def within(body: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        await asyncio.wait_for(body(), LIMIT)

    asyncio.run(limited())


def pool_for(folder: Path, told: list[str], *cards: Card, wait: float | None = None) -> CardPool:
    return CardPool(cards or (A, B), folder, Path("/root"), told.append, wait)


async def taken(pool: CardPool) -> HeldCard:
    held = await pool.take()
    assert held is not None
    return held


def test_each_card_is_given_once_in_the_order_asked(folder: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        pool = pool_for(folder, told, B, A)
        first, second = await taken(pool), await taken(pool)
        assert (first.card, second.card) == (B, A)
        assert first.descriptor != second.descriptor
        pool.release(first)
        assert (await taken(pool)).card == B
        assert told == []

    within(body)


def test_whichever_card_is_free(folder: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        with other_holder(A, folder):
            assert (await taken(pool_for(folder, told))).card == B

    within(body)


def test_a_busy_card_is_waited_for_and_it_is_said_for_whom_once(folder: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        pool = pool_for(folder, told, A)
        with other_holder(A, folder) as other:
            waiting = asyncio.create_task(pool.take())
            await asyncio.sleep(0.2)
            assert not waiting.done()
            (note,) = told
            assert note.startswith(f"card 0 (simulated, SIM-a) is used by process {other.pid} of ")
            assert "/their/root" in note
            assert note.endswith(": waiting for it")
            other.kill()
            held = await waiting
        assert held is not None
        assert held.card == A
        assert len(told) == 1

    within(body)


def test_a_second_holder_is_told_of_too(folder: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        pool = pool_for(folder, told, A)
        with other_holder(A, folder) as first:
            waiting = asyncio.create_task(pool.take())
            while not told:
                await asyncio.sleep(0.01)
            waiting.cancel()
            first.kill()
            first.wait()
        with other_holder(A, folder) as second:
            waiting = asyncio.create_task(pool.take())
            while len(told) < 2:
                await asyncio.sleep(0.01)
            assert f"process {second.pid} " in told[1]
            waiting.cancel()

    within(body)


@pytest.mark.parametrize("wait", [0.0, 0.1])
def test_after_the_waiting_time_the_holders_are_named(folder: Path, wait: float) -> None:
    async def body() -> None:
        told: list[str] = []
        with other_holder(A, folder) as one, other_holder(B, folder) as two:
            pool = pool_for(folder, told, wait=wait)
            with pytest.raises(EnvironmentUnfit) as error:
                await pool.take()
        assert f"card 0 (simulated, SIM-a) is used by process {one.pid} " in str(error.value)
        assert f"card 1 (simulated, SIM-b) is used by process {two.pid} " in str(error.value)
        assert "--wait" in str(error.value)
        assert bool(told) is bool(wait)

    within(body)


def test_not_to_wait_does_not_mean_not_to_take(folder: Path) -> None:
    async def body() -> None:
        assert (await taken(pool_for(folder, [], A, wait=0.0))).card == A

    within(body)


def test_with_one_card_it_goes_on_without_the_others_and_says_so_once(folder: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        with other_holder(B, folder):
            pool = pool_for(folder, told, wait=0.0)
            assert (await taken(pool)).card == A
            assert await pool.take() is None
            assert await pool.take() is None
        (note,) = told
        assert note.startswith("card 1 (simulated, SIM-b) is used by")
        assert note.endswith("going on without it")

    within(body)


def test_a_card_that_is_no_longer_wanted_is_no_longer_waited_for(folder: Path) -> None:
    async def body() -> None:
        wanted = True
        with other_holder(A, folder):
            waiting = asyncio.create_task(pool_for(folder, [], A).take(lambda: wanted))
            await asyncio.sleep(0.05)
            wanted = False
            assert await waiting is None

    within(body)


def test_a_worker_that_gives_up_waiting_holds_nothing(folder: Path) -> None:
    async def body() -> None:
        with other_holder(A, folder) as other:
            waiting = asyncio.create_task(pool_for(folder, [], A).take())
            await asyncio.sleep(0.05)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            other.kill()
            other.wait()
        assert (await taken(pool_for(folder, [], A, wait=0.0))).card == A

    within(body)


WORKER = """
import asyncio, os, sys
from pathlib import Path
from zl_bench.fleet import pool
from zl_bench.fleet.cards import Card
pool.POLL = 0.005
locks, marks, rounds = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
cards = [Card("simulated", 0, "SIM-a"), Card("simulated", 1, "SIM-b")]

async def worker(mine):
    for _ in range(rounds):
        held = await mine.take()
        mark = marks / held.card.uuid
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
        await asyncio.sleep(0.01)
        mark.unlink()
        mine.release(held)
        await asyncio.sleep(0.01)

async def main():
    mine = pool.CardPool(cards, locks, Path("/"), lambda _: None)
    await asyncio.gather(worker(mine), worker(mine))

asyncio.run(main())
"""


def test_processes_that_share_cards_never_use_one_at_the_same_time(folder: Path, tmp_path: Path) -> None:
    """Two workers in each of three processes, two cards: everybody gets through, and no mark is ever there already."""
    marks = tmp_path / "marks"
    marks.mkdir()
    arguments = [sys.executable, "-c", WORKER, str(folder), str(marks), "10"]
    others = [subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    for other in others:
        _, err = other.communicate(timeout=LIMIT)
        assert other.returncode == 0, err
    assert list(marks.iterdir()) == []


def test_a_killed_process_lets_the_next_one_in(folder: Path, tmp_path: Path) -> None:
    async def body() -> None:
        told: list[str] = []
        with other_holder(A, folder) as one, other_holder(B, folder) as two:
            pool = pool_for(folder, told)
            waiting = [asyncio.create_task(pool.take()) for _ in range(2)]
            while len(told) < 2:
                await asyncio.sleep(0.01)
            two.kill()
            done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            (first,) = done
            held = first.result()
            assert held is not None
            assert held.card == B
            one.kill()
            cards = {result.card for task in waiting if (result := await task) is not None}
        assert cards == {A, B}
        assert not CardLock(A, folder).take(module.Holder.of_this_process(tmp_path))
        assert os.getpid() in {holder.pid for card in (A, B) if (holder := CardLock(card, folder).holder())}

    within(body)
