"""Drops skip guards from collected tests, before anything else can look at them."""

import sys
from typing import Any

import pytest

from ..recorder import EventSink
from .guards import SkipOverride


class Unskip:
    """A pytest plugin that acts only when flag_gems has dispatched to `vendor`.

    It removes a matching `skipif` from a test's own marks as soon as the test is collected, so that no plugin sees the
    item with it; marks of a parametrised case, a class or a module stay, as does every other mark.
    """

    def __init__(self, name: str, vendor: str, overrides: tuple[SkipOverride, ...], sink: EventSink):
        self._name = name
        self._vendor = vendor
        self._overrides = overrides
        self._sink = sink

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_itemcollected(self, item: Any) -> Any:
        """Rewrite the item's own marks; a wrapper, so that it comes before every plain implementation."""
        if dispatched_vendor() == self._vendor:
            self._rewrite(item)
        yield

    def _rewrite(self, item: Any) -> None:
        file = item.nodeid.split("::", 1)[0]
        for override in self._overrides:
            if override.file != file:
                continue
            dropped = [mark for mark in item.own_markers if _is_guard(mark, override.reason)]
            if dropped:
                item.own_markers[:] = [mark for mark in item.own_markers if mark not in dropped]
                self._sink.event(
                    "compat",
                    plugin=self._name,
                    node=item.nodeid,
                    dropped=["skipif"] * len(dropped),
                    reason=override.reason,
                    why=override.why,
                )


def dispatched_vendor() -> str | None:
    """The vendor that an imported flag_gems has chosen, None without one."""
    return getattr(sys.modules.get("flag_gems"), "vendor_name", None)


def _is_guard(mark: Any, reason: str) -> bool:
    return bool(mark.name == "skipif" and mark.kwargs.get("reason") == reason)
