"""`zl-bench doctor` says what this environment can do, and what to do about what it can not."""

from __future__ import annotations

import os
import subprocess
import sys

from tests.integration.running import zl_bench
from zl_bench.fleet.cards import Card
from zl_bench.fleet.locks import CardLock, Holder


def test_a_sound_environment_with_a_live_switch(tmp_path):
    done = zl_bench("doctor", "--target", "cuda:90", "--switch", "pass:pipeline")
    assert done.code == 0, done.out + done.err
    assert "BAD" not in done.out
    for subject in ("triton", "torch", "target", "switch"):
        assert f"ok   {subject}: " in done.out
    assert "SHA-256" in done.out
    assert "remove_layout_conversions" in done.out


def test_a_dead_switch_is_exit_4_with_a_remedy():
    done = zl_bench("doctor", "--target", "cuda:90", "--switch", "ZL_NO_SUCH_SWITCH")
    assert done.code == 4
    assert "BAD  switch: ZL_NO_SUCH_SWITCH" in done.out
    assert "Remedy:" in done.out


def test_an_interpreter_without_triton_is_exit_3_with_a_remedy(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    done = zl_bench("doctor", "--target", "cuda:90", "--python", tmp_path / "bare" / "bin" / "python")
    assert done.code == 3
    assert "BAD  interpreter:" in done.out
    assert "pip install" in done.out


def test_a_target_that_this_triton_lacks_is_exit_3():
    done = zl_bench("doctor", "--target", "musa:31")
    assert done.code == 3
    assert "musa" in done.out
    assert "Remedy:" in done.out


SMI = """#!/bin/sh
case "$1" in
*compute-apps*) echo "SIM-a0, 4711, simulated, 3";;
*) echo "0, SIM-a0, Simulated H1, 0A";;
esac
"""


def test_a_card_that_nothing_can_use_is_exit_3_and_is_free_again(tmp_path):
    """The real sides are started on it; only the vendor's command is simulated."""
    smi = tmp_path / "bin" / "nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(SMI)
    smi.chmod(0o755)
    environment = {
        "PATH": f"{smi.parent}:{os.environ['PATH']}",
        "ZL_BENCH_LOCKS": str(tmp_path / "locks"),
        "CUDA_VISIBLE_DEVICES": "SIM-a0",
    }
    done = zl_bench("doctor", "--switch", "TRITON_F32_DEFAULT", env=environment)
    assert done.code == 3, done.out + done.err
    assert "ok   cards: 1 card of nvidia: card 0 (Simulated H1, SIM-a0)." in done.out
    assert "4711 (simulated, 3 MiB)" in done.out
    assert "ok   card 0 lock: was free" in done.out
    assert "BAD  card 0 target: What the card compiles for could not be found out" in done.out
    assert "ok   switch: TRITON_F32_DEFAULT is mentioned" in done.out
    lock = CardLock(Card("nvidia", 0, "SIM-a0"), tmp_path / "locks")
    assert lock.take(Holder.of_this_process(tmp_path))
    lock.release()


def test_a_machine_without_cards_is_told_so_and_a_target_is_looked_at(tmp_path):
    done = zl_bench("doctor", env={"PATH": str(tmp_path)})
    assert "No card was found" in done.out
    assert "--target cuda:90" in done.out
    assert "ok   interpreter: " in done.out
