"""Runs the real command in a process of its own, as a user would, and reads what it recorded."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SUITES = Path(__file__).parent / "suites"
SMALL = SUITES / "small"
ODD = SUITES / "odd"
NULL = "TRITON_F32_DEFAULT=ieee..ieee"
LIMIT = 500


@dataclass(frozen=True)
class Finished:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "zl_bench", *map(str, arguments)]


def zl_bench(*arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> Finished:
    done = subprocess.run(
        command(*arguments),
        capture_output=True,
        text=True,
        timeout=LIMIT,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Finished(done.returncode, done.stdout, done.stderr)


def table(root: Path) -> dict[str, dict[str, str]]:
    """screen.tsv by `operator` or `operator:dtype`."""
    with (root / "screen.tsv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return {row["operator"] if row["dtype"] == "-" else f"{row['operator']}:{row['dtype']}": row for row in rows}


def records(root: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (root / "screen.jsonl").read_text(encoding="utf-8").splitlines()]


def events(directory: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "events.jsonl").read_text(encoding="utf-8").splitlines()]


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    """Poll until the condition holds; fails the test when it never does."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "what was waited for never came"
        time.sleep(0.05)


def processes_mentioning(text: str) -> list[int]:
    """Pids whose command line or environment at start holds the text."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            content = (folder / "cmdline").read_bytes() + (folder / "environ").read_bytes()
            state = (folder / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if text.encode() in content and state != "Z":
            found.append(int(folder.name))
    return found
