"""The tool's end of a side server, against a simulated one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.running.simulated import is_gone, simulated
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import ProcessOutcome
from zl_bench.running import side_server
from zl_bench.running.side_server import SidePlan, SideServer

LIMIT = 20.0


def with_server(plan: SidePlan, body: Callable[[SideServer], Awaitable[None]]) -> None:
    """Start the server, do something with it, and close it; nothing of it may be left."""

    async def whole() -> None:
        server = await SideServer.start(plan)
        try:
            await body(server)
        finally:
            await server.close()
        assert not server.alive
        assert is_gone(server.versions["pid"])

    asyncio.run(asyncio.wait_for(whole(), LIMIT))


def refused(plan: SidePlan) -> str:
    with pytest.raises(EnvironmentUnfit) as error:
        asyncio.run(asyncio.wait_for(SideServer.start(plan), LIMIT))
    return str(error.value)


def test_a_ready_server_says_its_versions_and_got_its_plan(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        assert server.alive
        assert server.versions["given"] == {"modules": ["json"], "target": "cuda:90"}
        assert server.versions["marker"] == "x"

    with_server(simulated(tmp_path, MARKER="x"), body)


def test_it_has_the_side_s_environment_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKER", "the tool's own")

    async def body(server: SideServer) -> None:
        assert server.versions["marker"] is None

    with_server(simulated(tmp_path), body)


@pytest.mark.parametrize("code", [0, 1, 70])
def test_an_exit_status(tmp_path: Path, code: int) -> None:
    async def body(server: SideServer) -> None:
        assert await server.run(Path(f"code:{code}"), LIMIT) == ProcessOutcome("exited", code)

    with_server(simulated(tmp_path), body)


@pytest.mark.parametrize("number", [6, 11, 63])
def test_a_signal(tmp_path: Path, number: int) -> None:
    async def body(server: SideServer) -> None:
        assert await server.run(Path(f"signal:{number}"), LIMIT) == ProcessOutcome("signal", number)

    with_server(simulated(tmp_path), body)


def test_a_run_that_took_too_much_memory(tmp_path: Path) -> None:
    plan = replace(simulated(tmp_path), memory=3 << 29)

    async def body(server: SideServer) -> None:
        assert server.versions["given"]["memory"] == 3 << 29
        end = 'say:{"id": 1, "signal": 9, "memory": true, "left": 2}'
        assert await server.run(Path(end), LIMIT) == ProcessOutcome("memory", 9, "limit 1.5 GiB, --memory", 2)

    with_server(plan, body)


def test_a_kill_while_the_machine_was_out_of_memory_says_so(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        outcome = await server.run(Path('say:{"id": 1, "signal": 9, "kernel_kills": 1}'), LIMIT)
        assert outcome == ProcessOutcome("signal", 9, side_server.KERNEL_KILLS)

    with_server(simulated(tmp_path), body)


def test_processes_left_behind_are_counted(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        outcome = await server.run(Path('say:{"id": 1, "code": 0, "left": 3}'), LIMIT)
        assert outcome == ProcessOutcome("exited", left=3)

    with_server(simulated(tmp_path), body)


def test_the_server_s_own_caches_are_not_the_user_s(tmp_path: Path) -> None:
    plan = simulated(tmp_path, FLAGGEMS_CACHE_DIR="/home/me/.flaggems")
    assert plan.own_environment == plan.environment
    own = replace(plan, caches=tmp_path / "own").own_environment
    assert own["FLAGGEMS_CACHE_DIR"] == str(tmp_path / "own" / "flaggems")
    assert own["TRITON_CACHE_DIR"] == str(tmp_path / "own" / "triton")
    assert {**own, "FLAGGEMS_CACHE_DIR": "", "TRITON_CACHE_DIR": ""} == {
        **plan.environment,
        "FLAGGEMS_CACHE_DIR": "",
        "TRITON_CACHE_DIR": "",
    }


def test_runs_at_the_same_time_get_their_own_answers(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        waiting = asyncio.create_task(server.run(Path("wait"), 0.3))
        outcomes = await asyncio.gather(*(server.run(Path(f"code:{code}"), LIMIT) for code in range(20)))
        assert [outcome.code for outcome in outcomes] == list(range(20))
        assert (await waiting).kind == "timeout"

    with_server(simulated(tmp_path), body)


def test_passes_are_asked_for(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        assert await server.passes("hip:gfx942", tmp_path / "out", LIMIT) == ProcessOutcome("exited", 0)
        assert (tmp_path / "out").read_text() == "hip:gfx942"

    with_server(simulated(tmp_path), body)


def test_the_card_s_target_is_asked_for(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        assert await server.target(tmp_path / "out", LIMIT) == ProcessOutcome("exited", 0)
        assert (tmp_path / "out").read_text() == "its card's"

    with_server(simulated(tmp_path), body)


def test_the_timer_s_self_test_is_asked_for(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        ended = await server.selftest("musa", ("direct", "queued"), tmp_path / "out", LIMIT)
        assert ended == ProcessOutcome("exited", 0)
        assert (tmp_path / "out").read_text() == "musa direct queued"

    with_server(simulated(tmp_path), body)


def test_files_that_hold_a_lock_are_kept_open_by_the_server(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as stream:
        descriptor = stream.fileno()

        async def body(server: SideServer) -> None:
            assert server.versions["given"]["held"] == [descriptor]
            link = Path(f"/proc/{server.versions['pid']}/fd/{descriptor}")
            assert link.readlink() == tmp_path / "lock"

        with_server(replace(simulated(tmp_path), held=(descriptor,)), body)


def test_a_run_that_takes_too_long_is_killed_and_the_server_goes_on(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        outcome = await server.run(Path("wait"), 0.05)
        assert outcome == ProcessOutcome("timeout", detail="more than 0.05 s")
        assert server.alive
        assert (await server.run(Path("code:5"), LIMIT)).code == 5

    with_server(simulated(tmp_path), body)


def test_a_server_that_can_not_kill_its_run_is_killed_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_server, "KILL_LIMIT", 0.1)

    async def body(server: SideServer) -> None:
        other = asyncio.create_task(server.run(Path("wait"), LIMIT))
        assert (await server.run(Path("stubborn"), 0.05)).kind == "timeout"
        assert (await other).kind == "not started"
        assert not server.alive

    with_server(simulated(tmp_path), body)


def test_a_server_that_dies_takes_its_runs_along_and_takes_no_more(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        other = asyncio.create_task(server.run(Path("wait"), LIMIT))
        await asyncio.sleep(0)
        gone = ProcessOutcome("not started", detail="the side's server ended unexpectedly")
        assert await server.run(Path("die"), LIMIT) == gone
        assert await other == gone
        assert not server.alive
        assert await server.run(Path("code:0"), LIMIT) == gone

    with_server(simulated(tmp_path), body)


@pytest.mark.parametrize("words", ["no json", "3", "[]", "null", "{}", '{"id": []}', "x" * (1 << 17)])
def test_a_server_that_talks_nonsense_is_ended(tmp_path: Path, words: str) -> None:
    async def body(server: SideServer) -> None:
        assert (await server.run(Path(f"say:{words}"), LIMIT)).kind == "not started"
        assert not server.alive
        await asyncio.wait_for(server._process.wait(), LIMIT)

    with_server(simulated(tmp_path), body)


def test_news_of_an_unknown_run_is_passed_over(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        assert (await server.run(Path('say:{"id": 99, "code": 0}'), 0.05)).kind == "timeout"
        assert server.alive

    with_server(simulated(tmp_path), body)


def test_the_time_of_a_run_that_waits_counts_from_when_it_is_let_in(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        entered = asyncio.Event()
        running = asyncio.create_task(server.run(Path("waits"), 0.02, entered))
        done, _ = await asyncio.wait([running], timeout=0.2)
        assert not done
        entered.set()
        assert (await running).kind == "timeout"

    with_server(simulated(tmp_path), body)


def test_a_run_that_ends_before_it_is_let_in_has_ended(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        assert await server.run(Path("code:3"), LIMIT, asyncio.Event()) == ProcessOutcome("exited", 3)

    with_server(simulated(tmp_path), body)


def test_a_run_that_is_cancelled_while_it_waits_is_killed(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        task = asyncio.create_task(server.run(Path("waits"), LIMIT, asyncio.Event()))
        done, _ = await asyncio.wait([task], timeout=0.1)
        assert not done
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert "asked to kill 1" in (tmp_path / "before.log").read_text()

    with_server(simulated(tmp_path), body)


def test_a_cancelled_run_is_killed(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        task = asyncio.create_task(server.run(Path("wait"), LIMIT))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert "asked to kill 1" in (tmp_path / "before.log").read_text()
        assert server.alive
        assert server._ends == {}

    with_server(simulated(tmp_path), body)


def test_closing_ends_the_waiting_runs_and_can_be_repeated(tmp_path: Path) -> None:
    async def body(server: SideServer) -> None:
        task = asyncio.create_task(server.run(Path("wait"), LIMIT))
        await asyncio.sleep(0.05)
        await server.close()
        assert (await task).kind == "not started"

    with_server(simulated(tmp_path), body)


def test_a_server_that_does_not_end_when_asked_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side_server, "KILL_LIMIT", 0.1)
    monkeypatch.setattr(side_server, "START_LIMIT", 0.1)
    begin = time.monotonic()
    message = refused(simulated(tmp_path, "sleeps"))
    assert "the imports took more than 0 s" in message
    assert time.monotonic() - begin < 5


def test_a_failed_import_is_told(tmp_path: Path) -> None:
    text = '{"failed": "Traceback (most recent call last):\\n  …\\nModuleNotFoundError: No module named \'triton\'\\n"}'
    message = refused(simulated(tmp_path, text))
    assert message.startswith(
        f"The before side can not start in {simulated(tmp_path).interpreter}: ModuleNotFoundError"
    )
    assert "Traceback" not in message
    assert str(tmp_path / "before.log") in message
    assert "zl-bench doctor" in message


@pytest.mark.parametrize("words", ["no json", "", "3", "null", "[]", "{}", '{"ready": 1}', '{"failed": "\\n"}'])
def test_a_first_word_that_makes_no_sense(tmp_path: Path, words: str) -> None:
    assert "its first word was" in refused(simulated(tmp_path, words))


def test_a_first_word_without_end(tmp_path: Path) -> None:
    assert "can not start" in refused(simulated(tmp_path, "x" * 100_000))


def test_dying_at_the_start(tmp_path: Path) -> None:
    assert "the interpreter ended while it started" in refused(simulated(tmp_path, "dies"))
    assert "nothing to be said" in (tmp_path / "before.log").read_text()


def test_what_is_no_interpreter(tmp_path: Path) -> None:
    assert "can not be started" in refused(replace(simulated(tmp_path), interpreter=tmp_path / "absent"))


def test_a_program_that_is_no_interpreter(tmp_path: Path) -> None:
    assert "the interpreter ended" in refused(replace(simulated(tmp_path), interpreter=Path("/bin/true")))


def test_a_log_that_can_not_be_written(tmp_path: Path) -> None:
    message = refused(replace(simulated(tmp_path), log=tmp_path))
    assert f"{tmp_path} can not be written: Is a directory" in message


def test_giving_up_while_it_starts_leaves_no_process(tmp_path: Path) -> None:
    async def whole() -> None:
        plan = simulated(tmp_path, "sleeps")
        task = asyncio.create_task(SideServer.start(plan))
        while not (plan.log.exists() and plan.log.read_text().endswith("\n")):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_gone(int(plan.log.read_text()))

    asyncio.run(asyncio.wait_for(whole(), LIMIT))
