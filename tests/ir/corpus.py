"""Where the tests' IR comes from: the committed fixtures, and fresh compiles of kernels."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.running import zl_bench
from zl_bench.errors import ExitCode

DATA = Path(__file__).resolve().parent / "data"
DROPPED_PASS = "remove_layout_conversions"


def fixtures() -> list[Path]:
    """The committed TTGIR texts."""
    return sorted(DATA.glob("*.ttgir"))


def read_fixture(name: str) -> str:
    """The text of one fixture, such as `matmul.cuda90`."""
    return (DATA / f"{name}.ttgir").read_text(encoding="utf-8")


def run_make(folder: Path, *options: str, script: Path = DATA / "make.py") -> list[Path]:
    """Compile kernels afresh in a process and with caches of their own; the written files, sorted."""
    environment = {
        **os.environ,
        "TRITON_CACHE_DIR": str(folder / "cache"),
        "FLAGGEMS_CACHE_DIR": str(folder / "flaggems"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    output = folder / "out"
    command = [sys.executable, str(script), str(output), *options]
    finished = subprocess.run(command, env=environment, check=False, capture_output=True, text=True, timeout=500)
    assert finished.returncode == 0, finished.stderr[-2000:]
    return sorted(output.iterdir())


def collect_suite_ttgir(folder: Path, target: str) -> list[Path]:
    """The TTGIR of every kernel that the built-in suite launches, as a screen recorded it with and without a pass."""
    root = folder / "root"
    switch = f"pass:{DROPPED_PASS}"
    done = zl_bench("screen", "--switch", switch, "--target", target, "--stages", "ttgir", "--root", root)
    assert done.code in (ExitCode.OK, ExitCode.FAILED_RUN), done.err  # some kernel may not do without the pass
    return sorted(root.glob("*_*/ir/*.ttgir"))


def collect_flag_gems_ttgir(tmp_path: Path) -> list[Path]:
    """TTGIR files of FlagGems' kernels, as many as compile by guessed signatures. Expects flag_gems to be installed."""
    return run_make(tmp_path / "flag_gems", script=DATA / "make_flag_gems.py")
