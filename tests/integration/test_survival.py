"""Whatever happens to a run or to the tool: finished operators keep their verdict, and nothing is left running."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import uuid
from pathlib import Path

import pytest

from tests.integration.running import NULL, ODD, command, events, processes_mentioning, table, wait_for, zl_bench

SIDES = ("--switch", "ZL_TEST_SIDE=before..after", "--force")


@pytest.fixture(autouse=True)
def _heeded_interrupts():
    """A shell has what it starts in the background ignore Ctrl-C, which these tests would pass on to the tool."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """All the operators that misbehave, screened together; the marker is in the environment of every process."""
    root = tmp_path_factory.mktemp("odd") / "root"
    marker = f"zl-marker-{uuid.uuid4().hex}"
    operators = [
        "plain",
        "aborts",
        "hangs",
        "hangs_after",
        "leaves_early",
        "prints_binary",
        "leaves_child",
        "fails_late",
    ]
    operators.append("raises_only_after")
    done = zl_bench(
        "screen", *SIDES, "--target", "cuda:90", "--suite", ODD, "--root", root, "--timeout", "6",
        "--env", f"ZL_TEST_MARKER={marker}", *operators,
    )  # fmt: skip
    return done, root, marker


def test_a_run_failed_is_exit_1(odd):
    done, _, _ = odd
    assert done.code == 1, done.out + done.err


def test_the_well_behaved_operator_keeps_its_verdict(odd):
    _, root, _ = odd
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    assert table(root)["plain"]["status"] == "complete"


def test_an_abort_on_both_sides_is_named_and_keeps_its_rows(odd):
    _, root, _ = odd
    row = table(root)["aborts"]
    assert (row["verdict"], row["status"], row["rows"]) == ("NO_IR_DIFF", "failed", "1")
    assert "SIGABRT" in row["reason"]


def test_a_hang_on_both_sides_runs_out_of_time_and_keeps_its_rows(odd):
    _, root, _ = odd
    row = table(root)["hangs"]
    assert (row["verdict"], row["status"], row["rows"]) == ("NO_IR_DIFF", "failed", "1")
    assert "6 s" in row["reason"]


def test_a_hang_on_one_side_is_broken(odd):
    _, root, _ = odd
    row = table(root)["hangs_after"]
    assert (row["verdict"], row["status"]) == ("BROKEN", "failed")
    assert "after" in row["reason"]
    assert "time" in row["reason"]


def test_leaving_without_a_word_is_a_crash(odd):
    _, root, _ = odd
    row = table(root)["leaves_early"]
    assert row["status"] == "failed"
    assert "before the end of its record" in row["reason"]


def test_binary_output_goes_to_the_log_and_hurts_nothing(odd):
    _, root, _ = odd
    assert table(root)["prints_binary"]["verdict"] == "NO_IR_DIFF"
    assert bytes(range(256)) in (root / "prints_binary_before" / "run.log").read_bytes()


def test_a_late_failure_keeps_the_earlier_rows(odd):
    _, root, _ = odd
    row = table(root)["fails_late"]
    assert (row["verdict"], row["rows"], row["status"]) == ("NO_IR_DIFF", "2", "partial")
    assert "no such count" in row["reason"]


def test_a_failure_on_one_side_is_broken_and_says_where(odd):
    _, root, _ = odd
    row = table(root)["raises_only_after"]
    assert row["verdict"] == "BROKEN"
    assert "after" in row["reason"]
    assert "RuntimeError: wrong side" in row["reason"]
    assert "test_odd.py:" in row["reason"]


def test_the_table_has_one_line_per_operator_and_broken_first(odd):
    _, root, _ = odd
    lines = (root / "screen.tsv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 10
    assert [line.split("\t")[2] for line in lines[1:3]] == ["BROKEN", "BROKEN"]
    assert all(len(line.split("\t")) == 15 for line in lines)


def test_nothing_is_left_running(odd):
    _, _, marker = odd
    assert processes_mentioning(marker) == []


def start(root: Path, marker: str, *operators: str, jobs: int = 1, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(
            "screen", "--switch", NULL, "--target", "cuda:90", "--suite", ODD, "--root", root, "--jobs", jobs,
            "--env", f"ZL_TEST_MARKER={marker}", "--env", "ZL_TEST_SLOW=300", *operators,
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONFAULTHANDLER": "1", **env},
    )  # fmt: skip


def ended(tool: subprocess.Popen[str], patience: float = 60) -> tuple[str, str]:
    """What a tool that was told to end has printed; if it does not end, where it hangs."""
    try:
        return tool.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        tool.send_signal(signal.SIGABRT)
        out, err = tool.communicate()
        pytest.fail(f"the tool did not end within {patience:.0f} s:\n{out}\n{err}")


def first_event(directory: Path, kind: str) -> bool:
    path = directory / "events.jsonl"
    return path.exists() and f'"event": "{kind}"' in path.read_text(encoding="utf-8")


def resume(root: Path, marker: str, *operators: str):
    return zl_bench(
        "screen", "--switch", NULL, "--target", "cuda:90", "--suite", ODD, "--root", root, "--resume",
        "--env", f"ZL_TEST_MARKER={marker}", "--env", "ZL_TEST_SLOW=300", *operators, "--timeout", "5",
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_ending_the_tool_keeps_what_is_finished_and_leaves_nothing_running(tmp_path, number):
    root, marker = tmp_path / "root", f"zl-marker-{uuid.uuid4().hex}"
    tool = start(root, marker, "plain", "slow")
    wait_for(lambda: first_event(root / "slow_before", "row"))
    tool.send_signal(number)
    _, err = ended(tool)
    if number != signal.SIGKILL:
        assert tool.returncode == 130
        assert "--resume" in err
        assert "Traceback" not in err
    wait_for(lambda: processes_mentioning(marker) == [])
    assert table(root).keys() == {"plain"}
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    done = resume(root, marker, "plain", "slow")
    assert "1 finished operator" in done.out
    assert "plain" in done.out
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    assert table(root)["slow"]["status"] == "failed"  # still slower than its limit, but no longer missing


def test_killing_one_run_loses_only_that_run_and_resume_repeats_it(tmp_path):
    root, marker = tmp_path / "root", f"zl-marker-{uuid.uuid4().hex}"
    tool = start(root, marker, "slow", "plain")
    wait_for(lambda: first_event(root / "slow_before", "row"))
    os.kill(events(root / "slow_before")[0]["pid"], signal.SIGKILL)
    wait_for(lambda: first_event(root / "slow_after", "row"))
    os.kill(events(root / "slow_after")[0]["pid"], signal.SIGKILL)
    out, _ = tool.communicate(timeout=120)
    assert tool.returncode == 1, out
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    assert table(root)["slow"]["status"] == "failed"
    assert "SIGKILL" in table(root)["slow"]["reason"]
    done = zl_bench(
        "screen", "--switch", NULL, "--target", "cuda:90", "--suite", ODD, "--root", root, "--resume",
        "--env", f"ZL_TEST_MARKER={marker}", "--env", "ZL_TEST_SLOW=300", "slow", "plain", "--timeout", "5",
    )  # fmt: skip
    assert "skipped: plain" in done.out


def test_killing_a_side_server_does_not_end_the_screen(tmp_path):
    root, marker = tmp_path / "root", f"zl-marker-{uuid.uuid4().hex}"
    tool = start(root, marker, "slow", "plain")
    wait_for(lambda: first_event(root / "slow_before", "row"))
    run = events(root / "slow_before")[0]["pid"]
    server = int(Path(f"/proc/{run}/stat").read_text().rsplit(")", 1)[1].split()[1])
    os.kill(server, signal.SIGKILL)
    wait_for(lambda: first_event(root / "slow_after", "row"))
    assert run not in processes_mentioning(marker)
    os.kill(events(root / "slow_after")[0]["pid"], signal.SIGKILL)
    tool.communicate(timeout=120)
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    assert table(root)["slow"]["status"] == "failed"
    assert processes_mentioning(marker) == []


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 32 MB; where this machine lets nobody mount one, the test is skipped by name."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk_keeps_what_is_finished_and_resume_goes_on(small_disk):
    root, marker = small_disk / "root", f"zl-marker-{uuid.uuid4().hex}"
    ask = (
        "screen", "--switch", NULL, "--target", "cuda:90", "--suite", ODD, "--root", root, "--jobs", "1",
        "--env", f"ZL_TEST_MARKER={marker}",
    )  # fmt: skip
    assert zl_bench(*ask, "plain").code == 0
    ballast = small_disk / "ballast"
    with contextlib.suppress(OSError), ballast.open("wb", buffering=0) as stream:
        while stream.write(b"\0" * 4096):
            pass
    done = zl_bench(*ask, "--resume", "plain", "fails_late")
    assert done.code == 3, done.out + done.err
    assert "--resume" in done.err
    assert table(root)["plain"]["verdict"] == "NO_IR_DIFF"
    ballast.unlink()
    done = zl_bench(*ask, "--resume", "plain", "fails_late")
    assert done.code == 1  # fails_late fails late, as always
    assert table(root)["fails_late"]["rows"] == "2"
    assert json.loads((root / "screen.jsonl").read_text().splitlines()[0])["operator"] == "plain"
