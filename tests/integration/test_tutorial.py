"""docs/tutorial.md, step by step, as a reader would type it: each command prints what the page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import DOCUMENTS, says, steps

(TUTORIAL,) = (path for path in DOCUMENTS if path.name == "tutorial.md")


def test_the_tutorial(tmp_path: Path) -> None:
    triton = pytest.importorskip("triton")
    if not triton.__version__.startswith("3.6."):
        pytest.skip("the page shows what Triton 3.6 does")
    home = tmp_path / "bin"
    home.mkdir()
    tool = home / "zl-bench"
    tool.write_text(f'#!/bin/sh\nexec {sys.executable} -m zl_bench "$@"\n')
    tool.chmod(0o755)
    environment = {**os.environ, "PATH": f"{home}:{os.environ['PATH']}", "COLUMNS": "400"}
    code = 0
    for step in steps(TUTORIAL):
        # One shell a step: `$?` is the only thing that a step hands on.
        done = subprocess.run(
            ["sh", "-c", f"(exit {code}); {step.command}"],
            cwd=tmp_path, env=environment, text=True, capture_output=True, timeout=300, check=False,
        )  # fmt: skip
        code = done.returncode
        assert "Traceback" not in done.stderr, done.stderr
        assert says(step.output, done.stdout) == "", f"{step.command}\n{done.stdout}{done.stderr}"
