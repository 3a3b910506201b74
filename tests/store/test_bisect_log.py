"""The log of a bisection: gone on with, of one question, whole after a kill."""

from __future__ import annotations

from pathlib import Path

import pytest

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import RowKey
from zl_bench.store.bisect_log import BisectLog, Outcome, Timed

ASKED = {"kernel": "k", "parts": ["a", "b"]}


def test_steps_are_read_back(tmp_path: Path) -> None:
    log = BisectLog(tmp_path / "new" / "log.jsonl")
    assert log.steps(ASKED) == {}
    log.add(("a", "b"), Outcome("1f"), 0.5)
    log.add(("a",), Outcome(None, "fails at llir: no"), 0.25)
    assert log.steps(ASKED) == {("a", "b"): Outcome("1f"), ("a",): Outcome(None, "fails at llir: no")}


def test_timed_steps_are_read_back(tmp_path: Path) -> None:
    log = BisectLog(tmp_path / "log.jsonl")
    assert log.timed_steps(ASKED) == {}
    slower = Timed(
        "SLOWER", RowKey("t.py::t", "one", "float32", 1, "n=1"), 6, 0.8, 0.79, 0.81, 0.01, numerics_differ=True
    )
    log.add(("a", "b"), slower, 9.5)
    log.add(("a",), Timed("IDENTICAL"), 0.5)
    assert log.timed_steps(ASKED) == {("a", "b"): slower, ("a",): Timed("IDENTICAL")}


def test_a_line_that_was_cut_short_is_passed_over_and_not_written_into(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    log = BisectLog(file)
    log.steps(ASKED)
    log.add(("a",), Outcome("1f"), 0.5)
    file.write_bytes(file.read_bytes()[:-10])
    assert log.steps(ASKED) == {}
    log.add(("b",), Outcome("2f"), 0.5)
    assert log.steps(ASKED) == {("b",): Outcome("2f")}


def test_the_log_of_another_question_is_refused(tmp_path: Path) -> None:
    BisectLog(tmp_path / "log").steps(ASKED)
    with pytest.raises(UsageError, match="another question"):
        BisectLog(tmp_path / "log").steps({**ASKED, "kernel": "other"})


def test_a_place_that_can_not_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentUnfit, match="can not be written"):
        BisectLog(tmp_path / "file" / "log").steps(ASKED)
