"""The suites by name."""

from __future__ import annotations

from pathlib import Path

from zl_bench.suites import flaggems, pytest_suite
from zl_bench.suites.base import Suite


def load_suite(name: str, checkout: Path | None) -> Suite:
    """`flaggems` in that checkout, `builtin`, or the folder of that path. Raises UsageError when there is nothing to run."""
    if name == flaggems.NAME and checkout is not None:
        return flaggems.load(checkout)
    return pytest_suite.load(name)
