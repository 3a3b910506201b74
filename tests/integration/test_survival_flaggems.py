"""A FlagGems suite whose runs abort, hang, exhaust memory, leave processes or compile where nobody looks, all at once.

Every other operator keeps its verdict, each bad one has its reason, and neither a process nor a file is left behind.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import threading
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import SUITES, Finished, command, processes_mentioning, table
from zl_bench.inside.zl_probe import memory, processes

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("flag_gems") is None, reason="needs flag_gems: pip install flag-gems"),
    pytest.mark.timeout(900),
]
TREE = Path(__file__).parent / "flaggems"
UNRULY = SUITES / "unruly" / "test_unruly.py"
MIB = 1 << 20
TIMEOUT = 45
"""Seconds per run: an orderly one takes two, on a machine that does nothing else."""
OUT_OF_MEMORY = "crashed: out of memory (limit 0.75 GiB, --memory)"
BAD = {
    "aborts": ("NO_IR_DIFF", "1", "both sides: killed by SIGABRT, after 1 row"),
    "hangs_here": ("NO_IR_DIFF", "1", f"both sides: ran out of time, more than {TIMEOUT} s, after 1 row"),
    "takes_memory": ("NO_IR_DIFF", "1", f"both sides: {OUT_OF_MEMORY}, after 1 row"),
    "takes_memory_at_once": ("NO_ROWS", "0", f"{OUT_OF_MEMORY}, before its first row"),
    "child_takes_memory": ("NO_IR_DIFF", "1", f"both sides: {OUT_OF_MEMORY}, after 1 row"),
    "grandchild_takes_memory": ("NO_IR_DIFF", "1", f"both sides: {OUT_OF_MEMORY}, after 1 row"),
    "compiles_elsewhere": ("NO_ROWS", "0", "1 kernel compiled in 2 rows, but no launch was captured"),
    "launches_in_child": ("NO_ROWS", "0", "1 kernel compiled in 2 rows, but no launch was captured"),
}
"""Verdict, rows and reason of each operator whose runs fail."""
UNTIDY = {
    "leaves_daemon": "2 processes were left behind and ended",
    "leaves_children": "12 processes were left behind and ended",
}
"""Operators that are screened in full, and what is noted of them."""
ORDERLY = ("orderly", "tells_environment", "orderly_too")
INHERITED = {
    "FLAGGEMS_DB_URL": "sqlite:////nowhere/shared.db",
    "USE_FLAGTUNE": "1",
    "USE_FLAGTUNE_COST_MODEL": "1",
    "FLAGTUNE_INCLUDE": "mm",
    "USE_C_EXTENSION": "1",
    "TRITON_CACHE_AUTOTUNING": "1",
    "TRITON_DEBUG": "1",
    "FLAGTREE_RLC_PHASE_MASK": "3",
}
"""What a user's shell may hold, and no run may inherit."""
OF_PYTEST = ("PYTEST_CURRENT_TEST", "PYTEST_VERSION")
"""Set by pytest itself in each of its sessions, this one included."""
GIVEN = {"FLAGTREE_RLC_POLICY": "7", "TRITON_PRINT_AUTOTUNING": "0"}


@dataclass
class Growth:
    """The memory of the side servers of a running tool, by pid, as it goes."""

    tool: int
    seen: dict[int, list[int]] = field(default_factory=dict)

    def watch(self, until: threading.Event) -> None:
        while not until.wait(0.5):
            children = processes.children_of(self.tool)
            for server in children:
                self.seen.setdefault(server, []).append(memory.at_most(server))


@dataclass(frozen=True)
class Screened:
    done: Finished
    root: Path
    home: Path
    notes: Path
    marker: str
    growth: Growth


@pytest.fixture(scope="module")
def screened(tmp_path_factory) -> Screened:
    folder = tmp_path_factory.mktemp("unruly")
    checkout = folder / "checkout"
    shutil.copytree(TREE, checkout, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(UNRULY, checkout / "benchmark")
    home, notes, marker = folder / "home", folder / "notes", f"zl-marker-{uuid.uuid4().hex}"
    home.mkdir()
    notes.mkdir()
    given = {**GIVEN, "ZL_TEST_MARKER": marker, "ZL_TEST_NOTES": str(notes)}
    tool = subprocess.Popen(
        command(
            "screen", "--switch", "ZL_TEST_SIDE=before..after", "--force", "--target", "cuda:90", "--stages", "ttgir",
            "--suite", "flaggems", "--checkout", checkout, "--root", folder / "root", "--jobs", "2",
            "--timeout", TIMEOUT, "--memory", "0.75",
            *(part for name, value in given.items() for part in ("--env", f"{name}={value}")),
            "orderly", *BAD, *UNTIDY, "no_kernel", "tells_environment", "orderly_too",
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **INHERITED, "HOME": str(home)},
    )  # fmt: skip
    growth, ended = Growth(tool.pid), threading.Event()
    watcher = threading.Thread(target=growth.watch, args=(ended,))
    watcher.start()
    try:
        out, err = tool.communicate(timeout=800)
    finally:
        tool.kill()
        ended.set()
        watcher.join()
    assert "Traceback" not in err, err
    return Screened(Finished(tool.returncode, out, err), folder / "root", home, notes, marker, growth)


def test_a_run_failed_is_exit_1(screened):
    assert screened.done.code == 1, screened.done.out + screened.done.err


@pytest.mark.parametrize("operator", ORDERLY)
def test_the_well_behaved_operators_keep_their_verdicts(screened, operator):
    row = table(screened.root)[operator]
    assert (row["verdict"], row["rows"], row["status"], row["reason"]) == ("NO_IR_DIFF", "2", "complete", "")


@pytest.mark.parametrize("operator", BAD)
def test_each_bad_one_has_its_reason_and_keeps_its_rows(screened, operator):
    row = table(screened.root)[operator]
    assert (row["verdict"], row["rows"], row["reason"]) == BAD[operator]
    assert row["status"] == "failed"


@pytest.mark.parametrize("operator", UNTIDY)
def test_processes_that_are_left_behind_cost_no_verdict_and_are_told(screened, operator):
    row = table(screened.root)[operator]
    assert (row["verdict"], row["rows"], row["status"]) == ("NO_IR_DIFF", "2", "complete")
    assert row["reason"] == UNTIDY[operator]


def test_without_a_kernel_in_the_cache_it_is_no_failure(screened):
    row = table(screened.root)["no_kernel"]
    assert (row["verdict"], row["status"]) == ("NO_KERNEL", "complete")


def test_nothing_is_left_running(screened):
    assert processes_mentioning(screened.marker) == []


def test_each_side_had_one_server_to_the_end_and_it_did_not_grow(screened):
    servers = [sizes for sizes in screened.growth.seen.values() if len(sizes) > 20]
    assert len(servers) == 2
    for sizes in servers:
        third = len(sizes) // 3
        assert max(sizes[-third:]) < max(sizes[third:-third]) + 32 * MIB
        assert max(sizes) < 1024 * MIB


def test_nothing_is_written_into_the_user_s_home(screened):
    assert list(screened.home.rglob("*")) == []


def test_no_run_writes_into_its_server_s_folders(screened):
    for side in ("before", "after"):
        caches = screened.root / f"side_{side}.cache"
        assert (caches / "flaggems").is_dir()
        assert [path for path in caches.rglob("*") if path.is_file()] == []


def told(file: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_run_had_the_environment_that_is_written_down(screened, side):
    had = {name: value for name, value in told(screened.notes / f"{side}.json").items() if name not in OF_PYTEST}
    folder = screened.root / f"tells_environment_{side}"
    written = told(folder / "env.json")["environment"]
    written = {name: value for name, value in written.items() if name not in OF_PYTEST}
    secret = {name for name, value in written.items() if value.startswith("(secret")}
    assert {name: had.get(name) for name in written.keys() - secret} == {
        name: value for name, value in written.items() if name not in secret
    }
    # What is not written down, libraries have set: pytest, FlagGems and the locale of the interpreter.
    added = had.keys() - written.keys()
    assert added <= {"FLAGGEMS_SOURCE_DIR", "LC_CTYPE", "TORCHINDUCTOR_CACHE_DIR", "CUDA_MODULE_LOADING"}
    assert had["FLAGGEMS_CACHE_DIR"] == str(folder / "cache" / "flaggems")
    assert had["TRITON_CACHE_DIR"] == str(folder / "cache" / "triton")
    assert {name: had.get(name) for name in GIVEN} == GIVEN
    assert {name: value for name, value in had.items() if name in INHERITED} == {
        "USE_FLAGTUNE": "0",
        "USE_C_EXTENSION": "0",
    }


def test_what_is_not_inherited_is_told(screened):
    names = ", ".join(sorted(name for name in INHERITED if name not in ("USE_FLAGTUNE", "USE_C_EXTENSION")))
    assert f"not inherited: {names};" in screened.done.out.replace("\n", " ")
