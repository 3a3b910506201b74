"""Integration tests run the real command on real compiles; the suites they screen are not tests of this project."""

from __future__ import annotations

import importlib.util

import pytest

collect_ignore_glob = ["suites/*", "flaggems/*"]

MISSING = [name for name in ("torch", "triton") if importlib.util.find_spec(name) is None]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "/integration/" not in item.path.as_posix():
            continue
        item.add_marker(pytest.mark.integration)
        if MISSING:
            item.add_marker(pytest.mark.skip(reason=f"needs {' and '.join(MISSING)}: pip install 'zl-bench[offline]'"))
