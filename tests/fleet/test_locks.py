"""Locks of cards, held and fought for by real processes; the cards are simulated."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fleet.simulated import HOLDER, other_holder
from zl_bench.errors import EnvironmentUnfit
from zl_bench.fleet import locks as module
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder, lock_folder

CARD = Card("simulated", 0, "SIM-a")
OTHER = Card("simulated", 1, "SIM-b")
ME = Holder.of_this_process(Path("/my/root"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return lock_folder({module.VARIABLE: str(tmp_path / "locks")})


def eventually(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_lock_is_taken_and_let_go_of(folder: Path) -> None:
    first, second = CardLock(CARD, folder), CardLock(CARD, folder)
    assert first.take(ME)
    assert not second.take(ME)
    first.release()
    assert second.take(ME)
    first.release()
    assert not first.take(ME)


def test_another_card_has_another_lock(folder: Path) -> None:
    assert CardLock(CARD, folder).take(ME)
    assert CardLock(OTHER, folder).take(ME)


def test_another_process_keeps_the_card_and_says_who_it_is(folder: Path) -> None:
    with other_holder(CARD, folder) as other:
        lock = CardLock(CARD, folder)
        assert not lock.take(ME)
        holder = lock.holder()
        assert holder is not None
        assert (holder.pid, holder.root) == (other.pid, "/their/root")
        assert f"process {other.pid} of {holder.user} on " in str(holder)
        assert "(/their/root)" in str(holder)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_holder_that_dies_lets_go(folder: Path, number: signal.Signals) -> None:
    with other_holder(CARD, folder) as other:
        lock = CardLock(CARD, folder)
        assert not lock.take(ME)
        other.send_signal(number)
        other.wait()
        assert lock.take(ME)
        assert lock.holder() == ME


def test_a_card_is_not_free_before_the_processes_of_a_dead_holder_are_gone(folder: Path) -> None:
    """Side servers keep the lock open: what they run may be on the card for a moment after the tool was killed."""
    with other_holder(CARD, folder, child=True) as other:
        assert other.stdout is not None
        child = int(other.stdout.readline())
        lock = CardLock(CARD, folder)
        other.kill()
        other.wait()
        assert not lock.take(ME)
        os.kill(child, signal.SIGKILL)
        eventually(lambda: lock.take(ME))


def test_letting_go_counts_for_whoever_has_inherited_the_lock(folder: Path) -> None:
    lock = CardLock(CARD, folder)
    assert lock.take(ME)
    with subprocess.Popen(["sleep", "60"], pass_fds=[lock.descriptor]) as child:
        lock.release()
        assert CardLock(CARD, folder).take(ME)
        child.kill()


def test_programs_do_not_inherit_it_unasked(folder: Path) -> None:
    lock = CardLock(CARD, folder)
    assert lock.take(ME)
    assert not os.get_inheritable(lock.descriptor)
    lock.release()
    with pytest.raises(ValueError, match="is not held"):
        _ = lock.descriptor


def test_only_one_of_many_gets_it(folder: Path) -> None:
    arguments = [sys.executable, "-c", HOLDER, "0", CARD.uuid, str(folder)]
    racers = [subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    try:
        said = [racer.stdout.readline().strip() for racer in racers if racer.stdout is not None]
        assert sorted(said) == ["busy"] * 4 + ["held"]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()


def test_who_held_it_last_is_not_told_of_a_free_card(folder: Path) -> None:
    lock = CardLock(CARD, folder)
    assert lock.holder() is None
    assert lock.take(ME)
    lock.release()
    assert lock.holder() is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}', "\xff"])
def test_a_holder_that_can_not_be_understood(folder: Path, text: str) -> None:
    lock = CardLock(CARD, folder)
    next_to = folder / f"{CARD.identity}.lock"
    next_to.write_text(text, encoding="latin-1")
    assert lock.holder() is None
    assert lock.take(ME)


def test_everybody_may_use_the_folder_and_the_files(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        folder = lock_folder({module.VARIABLE: str(tmp_path / "new" / "locks")})
        assert CardLock(CARD, folder).take(ME)
    finally:
        os.umask(before)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o1777
    (file,) = folder.iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o666


def test_the_folder_is_the_same_for_all_users_unless_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "FOLDER", tmp_path / "shared")
    assert lock_folder({"TMPDIR": str(tmp_path / "mine")}) == tmp_path / "shared"
    assert lock_folder({module.VARIABLE: ""}) == tmp_path / "shared"
    assert lock_folder({module.VARIABLE: str(tmp_path / "other")}) == tmp_path / "other"


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in ("file", "file/below"):
        with pytest.raises(EnvironmentUnfit, match=r"ZL_BENCH_LOCKS"):
            lock_folder({module.VARIABLE: str(tmp_path / path)})


def test_a_file_that_can_not_be_a_lock(folder: Path) -> None:
    (folder / f"{CARD.identity}.lock").mkdir()
    with pytest.raises(EnvironmentUnfit, match=r"Is a directory.*ZL_BENCH_LOCKS"):
        CardLock(CARD, folder).take(ME)


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (folder / f"{CARD.identity}.lock").symlink_to(tmp_path / "precious")
    with pytest.raises(EnvironmentUnfit):
        CardLock(CARD, folder).take(ME)
    assert (tmp_path / "precious").read_text() == "precious"


def test_a_lock_whose_file_was_cleaned_away_is_not_taken_for_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on a file that nobody finds any more keeps nobody out."""
    old = CardLock(CARD, folder)
    opened = [old._open()]
    shutil.rmtree(folder)
    folder.mkdir()
    monkeypatch.setattr(old, "_open", lambda: opened.pop() if opened else CardLock(CARD, folder)._open())
    assert old.take(ME)
    assert not CardLock(CARD, folder).take(ME)


def test_a_number_tells_cards_of_one_machine_apart_only(folder: Path) -> None:
    assert CardLock(Card("simulated", 0), folder).take(ME)
    (file,) = folder.iterdir()
    assert os.uname().nodename in file.name


def test_what_is_written_beside_the_lock_is_the_holder(folder: Path) -> None:
    assert CardLock(CARD, folder).take(ME)
    told = json.loads((folder / f"{CARD.identity}.lock").read_text())
    assert told == {"pid": os.getpid(), "user": ME.user, "host": ME.host, "root": "/my/root", "since": ME.since}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp(prefix="zl-bench-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield lock_folder({module.VARIABLE: str(folder / "locks")})
    shutil.rmtree(folder)


AS_USER = """
import os, sys
from pathlib import Path
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder
os.setuid(int(sys.argv[1]))
os.umask(0o077)
lock = CardLock(Card("simulated", 0, "SIM-a"), Path(sys.argv[2]))
print("held" if lock.take(Holder.of_this_process(Path("/"))) else "busy")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be several users")
def test_users_share_the_locks(open_folder: Path) -> None:
    def told(user: int) -> str:
        arguments = [sys.executable, "-c", AS_USER, str(user), str(open_folder)]
        return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout.strip()

    assert told(60001) == "held"
    assert told(60002) == "held"
    lock = CardLock(CARD, open_folder)
    assert lock.take(ME)
    assert told(60001) == told(60002) == "busy"
    lock.release()
    assert told(60002) == "held"
