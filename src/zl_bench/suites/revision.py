"""Which commit of its repository a suite was read from: what a second person needs to find the same files."""

from __future__ import annotations

import subprocess
from pathlib import Path

PATIENCE = 20.0
"""Seconds for git; a slow file system must not hold up a screen."""
CHANGED = ", with changes"


def revision(root: Path) -> str | None:
    """The commit that is checked out there, and whether tracked files differ from it; None where git can not tell."""
    commit = _git(root, "rev-parse", "HEAD")
    if not commit:
        return None
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit if changes == "" else f"{commit}{CHANGED}"


def _git(root: Path, *words: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
