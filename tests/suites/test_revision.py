"""The commit that a suite was read from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from zl_bench.suites.revision import revision


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_commit_and_whether_its_files_were_changed(tmp_path: Path) -> None:
    (tmp_path / "benchmark").mkdir()
    (tmp_path / "benchmark" / "test_x.py").write_text("")
    git(tmp_path, "init", "-q")
    assert revision(tmp_path) is None, "nothing is committed"
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert revision(tmp_path / "benchmark") == commit
    (tmp_path / "untracked.py").write_text("")
    assert revision(tmp_path) == commit
    (tmp_path / "benchmark" / "test_x.py").write_text("1")
    assert revision(tmp_path) == f"{commit}, with changes"


def test_where_there_is_no_repository_or_no_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert revision(tmp_path) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert revision(tmp_path) is None
