"""The real command and real side servers on simulated cards: `nvidia-smi` is a script, and no test of the suite needs a device.

What a kernel does on a card is not tested here; everything around it is: finding cards, masks, locks, servers, records.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.running import command, events, processes_mentioning, records, table, wait_for, zl_bench
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder

pytestmark = pytest.mark.integration

SUITE = """
import os, pathlib, time
import triton.testing

def note(name):
    pathlib.Path(os.environ["ZL_TEST_NOTES"], name).write_text(os.environ["CUDA_VISIBLE_DEVICES"])

def test_plain():
    note(f"plain.{os.getpid()}")
    triton.testing.do_bench(lambda: None)

def test_other():
    note(f"other.{os.getpid()}")
    triton.testing.do_bench(lambda: None)

def test_stays():
    note("stays")
    time.sleep(300)
"""
SMI = """#!/bin/sh
case "$1" in
*compute-apps*) echo "SIM-b1, 4711, simulated, 3";;
*) echo "0, SIM-a0, Simulated H1, 0A"; echo "1, SIM-b1, Simulated H1, 0B";;
esac
"""
CARDS = (Card("nvidia", 0, "SIM-a0"), Card("nvidia", 1, "SIM-b1"))
SWITCH = ("--switch", "TRITON_F32_DEFAULT=ieee..ieee")


@dataclass(frozen=True)
class Machine:
    """A machine with two simulated cards."""

    folder: Path
    marker: str

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "ZL_BENCH_LOCKS": str(self.folder / "locks"),
            "ZL_TEST_NOTES": str(self.folder / "notes"),
            "ZL_TEST_MARKER": self.marker,
        }

    @property
    def suite(self) -> Path:
        return self.folder / "suite"

    def notes(self, pattern: str) -> list[str]:
        return [path.read_text() for path in sorted((self.folder / "notes").glob(pattern))]

    def is_free(self, card: Card) -> bool:
        lock = CardLock(card, self.folder / "locks")
        taken = lock.take(Holder.of_this_process(Path()))
        lock.release()
        return taken


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    for name in ("bin", "locks", "notes", "suite"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "nvidia-smi").write_text(SMI)
    (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
    (tmp_path / "suite" / "test_all.py").write_text(SUITE)
    made = Machine(tmp_path, f"zl-marker-{uuid.uuid4().hex}")
    yield made
    for pid in processes_mentioning(made.marker):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_screen_on_two_cards(machine: Machine, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = zl_bench(
        "screen", *SWITCH, "--cards", "all", "--suite", machine.suite, "--root", root, "plain", "other",
        env=machine.environment,
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    found = table(root)
    assert [found[name]["verdict"] for name in ("plain", "other")] == ["NO_KERNEL", "NO_KERNEL"]
    for name in ("plain", "other"):
        before, after = machine.notes(f"{name}.*")
        assert before == after
    assert {*machine.notes("*")} <= {"SIM-a0", "SIM-b1"}
    assert events(root / "plain_before")[0]["target"] is None
    request = json.loads((root / "screen.json").read_text())
    assert [card["uuid"] for card in request["cards"]] == ["SIM-a0", "SIM-b1"]
    assert (root / "side_before.card0.log").is_file()
    assert len(records(root)) == 2
    assert all(map(machine.is_free, CARDS))
    assert processes_mentioning(machine.marker) == []


def test_the_mask_is_respected_and_foreign_processes_are_told(machine: Machine, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = zl_bench(
        "screen", *SWITCH, "--suite", machine.suite, "--root", root, "plain",
        env={**machine.environment, "CUDA_VISIBLE_DEVICES": "1"},
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    assert machine.notes("plain.*") == ["SIM-b1", "SIM-b1"]
    assert "4711 (simulated, 3 MiB)" in done.out
    assert '"pid": 4711' in (root / "cards.jsonl").read_text()


def test_a_run(machine: Machine, tmp_path: Path) -> None:
    root = tmp_path / "root"
    done = zl_bench("run", "--suite", machine.suite, "--root", root, "plain", env=machine.environment)
    given = json.loads((root / "plain_before" / "input.json").read_text())
    assert given["timing"] == {"method": "graph", "l2": "cold", "baseline": True}
    assert machine.notes("plain.*")[:1] == ["SIM-a0"]
    assert f"zl-bench summary {root}" in done.out.replace("\n", "")
    assert machine.is_free(CARDS[0])


def test_a_killed_tool_frees_its_card_when_its_runs_are_gone(machine: Machine, tmp_path: Path) -> None:
    root = tmp_path / "root"
    arguments = ("screen", *SWITCH, "--suite", machine.suite, "--root", root, "stays")
    with subprocess.Popen(
        command(*arguments), env={**os.environ, **machine.environment}, stdout=subprocess.DEVNULL
    ) as tool:
        wait_for(lambda: machine.notes("stays"))
        assert not machine.is_free(CARDS[0])
        waiting = zl_bench(
            "screen", *SWITCH, "--suite", machine.suite, "--root", tmp_path / "second", "--wait", "0", "plain",
            env=machine.environment,
        )  # fmt: skip
        assert waiting.code == 3
        assert f"process {tool.pid} of " in waiting.err
        assert str(root) in waiting.err
        tool.kill()
    wait_for(lambda: machine.is_free(CARDS[0]))
    wait_for(lambda: processes_mentioning(machine.marker) == [])
