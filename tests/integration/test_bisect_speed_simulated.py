"""The real command, with real servers and rounds, on a simulated card: `bisect --goal speed` from a root to its answer."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.integration.running import Finished, command, processes_mentioning, wait_for, zl_bench
from tests.integration.test_measure_simulated import SUITE, SWITCH, environment  # noqa: F401 - the fixture
from zl_bench.store.layout import bisect_step_folder

pytestmark = pytest.mark.integration

PARTS = """
SLOWER = os.environ.get("ZL_TEST_SLOWER") == "1"
CHANGED = SLOWER or os.environ.get("ZL_TEST_ALIKE") == "1"
"""
PLANTED = (
    SUITE.replace('AFTER = os.environ["TRITON_F32_DEFAULT"] == "tf32"', PARTS)
    .replace("changed * AFTER", "changed * (1 + SLOWER) * CHANGED")
    .replace("1.1 if changed and AFTER", "1.1 if changed and SLOWER")
    .replace('self.asm = {"ttgir"', 'self.asm = {"ttir": TTGIR.format(value=0), "ttgir"')
)
"""Two variables: with either the code of two rows is another, and with one of them they take longer."""


@pytest.fixture
def root(tmp_path: Path, environment: dict[str, str]) -> Path:  # noqa: F811
    """A root that was screened on the card, with a switch of two variables."""
    (tmp_path / "suite" / "test_all.py").write_text(PLANTED)
    return screened(tmp_path, environment, "ZL_TEST_SLOWER", "--env-after", "ZL_TEST_ALIKE=1")


def screened(folder: Path, environment: dict[str, str], *switch: str) -> Path:  # noqa: F811
    root = folder / "root"
    done = zl_bench(
        "screen", "--force", "--suite", folder / "suite", "--root", root, "changed", "--switch", *switch,
        env=environment,
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    return root


def bisect(root: Path, environment: dict[str, str], *arguments: str) -> Finished:  # noqa: F811
    return zl_bench("bisect", root, "changed", "--goal", "speed", "--rounds", "2", *arguments, env=environment)


def test_the_variable_that_makes_it_slower_is_named(root: Path, environment: dict[str, str]) -> None:  # noqa: F811
    done = bisect(root, environment, "--row", "1", "--seed", "1")
    assert done.code == 0, done.out + done.err
    assert "ZL_TEST_SLOWER=1 alone makes it slower: speedup 0.9" in done.out
    assert "without it, ZL_TEST_ALIKE=1 does not" in done.out
    assert "run on" in done.err
    assert processes_mentioning(environment["ZL_TEST_MARKER"]) == []
    (log,) = (root / "bisect").glob("*.jsonl")
    step = bisect_step_folder(log, ("ZL_TEST_SLOWER=1",))
    shown = zl_bench("show", step, "changed", env=environment)
    assert shown.code == 0, shown.err


def test_a_killed_bisection_goes_on(root: Path, environment: dict[str, str]) -> None:  # noqa: F811
    arguments = ("bisect", root, "changed", "--goal", "speed", "--rounds", "2")
    with subprocess.Popen(command(*arguments), env={**os.environ, **environment}, stdout=subprocess.DEVNULL) as tool:
        wait_for(lambda: steps(root))
        tool.send_signal(signal.SIGKILL)
    wait_for(lambda: processes_mentioning(environment["ZL_TEST_MARKER"]) == [])
    kept = steps(root)
    done = zl_bench(*arguments, env=environment)
    assert done.code == 0, done.out + done.err
    assert "ZL_TEST_SLOWER=1 alone makes it slower" in done.out
    assert done.out.count("(from the log)") == len(kept)
    assert steps(root)[: len(kept)] == kept


def steps(root: Path) -> list[object]:
    """The finished steps in the only log."""
    logs = list((root / "bisect").glob("*.jsonl"))
    lines = logs[0].read_text().split("\n")[1:-1] if logs else []
    return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("switch", "words"), [(f"{SWITCH}=ieee..ieee", "nothing was timed"), ("ZL_TEST_ALIKE", "NO_CHANGE")]
)
def test_a_null_switch_ends_in_those_words(
    tmp_path: Path,
    environment: dict[str, str],  # noqa: F811
    switch: str,
    words: str,
) -> None:
    (tmp_path / "suite" / "test_all.py").write_text(PLANTED)
    done = bisect(screened(tmp_path, environment, switch), environment)
    assert done.code == 0, done.out + done.err
    (line,) = [line for line in done.out.splitlines() if line.startswith("no part")]
    assert line.startswith("no part makes a difference that these rounds can show")
    assert words in line


def test_without_a_card_nothing_is_started(root: Path, environment: dict[str, str]) -> None:  # noqa: F811
    folder = Path(environment["PATH"].split(":")[0])
    (folder / "nvidia-smi").write_text("#!/bin/sh\nexit 1\n")
    done = bisect(root, environment)
    assert done.code == 3
    assert "No card was found" in done.err
    assert not (root / "bisect").exists()


def test_options_of_this_goal_are_refused_with_the_others(root: Path, environment: dict[str, str]) -> None:  # noqa: F811
    done = zl_bench("bisect", root, "changed", "--goal", "code", "--rounds", "3", env=environment)
    assert done.code == 2
    assert "--rounds is for --goal speed" in done.err
    done = bisect(root, environment, "--kernel", "1")
    assert done.code == 2
    assert "--kernel is for the other goals" in done.err
