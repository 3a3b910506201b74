"""`zl-bench doctor` says what this environment can do, and what to do about what it can not."""

from __future__ import annotations

import subprocess
import sys

from tests.integration.running import zl_bench


def test_a_sound_environment_with_a_live_switch(tmp_path):
    done = zl_bench("doctor", "--target", "cuda:90", "--switch", "pass:pipeline")
    assert done.code == 0, done.out + done.err
    assert "BAD" not in done.out
    for subject in ("triton", "torch", "target", "switch"):
        assert f"ok   {subject}: " in done.out
    assert "SHA-256" in done.out
    assert "remove_layout_conversions" in done.out


def test_a_dead_switch_is_exit_4_with_a_remedy():
    done = zl_bench("doctor", "--switch", "ZL_NO_SUCH_SWITCH")
    assert done.code == 4
    assert "BAD  switch: ZL_NO_SUCH_SWITCH" in done.out
    assert "Remedy:" in done.out


def test_an_interpreter_without_triton_is_exit_3_with_a_remedy(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    done = zl_bench("doctor", "--python", tmp_path / "bare" / "bin" / "python")
    assert done.code == 3
    assert "BAD  interpreter:" in done.out
    assert "pip install" in done.out


def test_a_target_that_this_triton_lacks_is_exit_3():
    done = zl_bench("doctor", "--target", "musa:31")
    assert done.code == 3
    assert "musa" in done.out
    assert "Remedy:" in done.out
