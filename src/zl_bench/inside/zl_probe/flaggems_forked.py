"""What of FlagGems is one process's own: a server imports it, and every run that is forked from there has caches and locks."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from typing import Any

LIBENTRY_MODULE = "flag_gems.utils.libentry"
"""The attribute `libentry` of its package is a function of that name; the module is only in sys.modules."""


def leave_server() -> None:
    """Make FlagGems' caches and locks this process's own, after the fork from the server that imported it."""
    _rebind_caches()
    kernels: Any = getattr(sys.modules.get(LIBENTRY_MODULE), "LibEntry", None)
    if kernels is not None:
        kernels.lock = _OwnLocks()


def _rebind_caches() -> None:
    """Name the FlagGems caches under FLAGGEMS_CACHE_DIR as it is now, not as it was at import."""
    code_cache = sys.modules.get("flag_gems.utils.code_cache")
    if code_cache is not None:
        code_cache.cache_dir_path.cache_clear()
    cache = getattr(sys.modules.get(LIBENTRY_MODULE), "libcache", None)
    if code_cache is None or cache is None or os.environ.get("FLAGGEMS_DB_URL"):
        return
    file_name = os.path.basename(cache.db_url)
    cache.db_url = f"sqlite:///{os.path.join(code_cache.config_cache_dir(), file_name)}"
    model = type(cache.model)(cache.db_url)
    cache.model.__dict__.update(model.__dict__)  # tuners made at import hold the old object


class _OwnLocks:
    """Stands for the attribute `lock` of FlagGems' kernels: each has a lock of this process.

    FlagGems makes them as semaphores of the system when a kernel is defined, so all runs that are forked from the server that
    imported it would share them: a run that is killed while it compiles, or waits there for the other side's choice of a
    configuration, would hold up every other run of that kernel for good.
    """

    def __init__(self) -> None:
        self._locks: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()

    def __get__(self, kernel: Any, kind: Any = None) -> Any:
        return self if kernel is None else self._locks.setdefault(kernel, threading.Lock())

    def __set__(self, kernel: Any, lock: Any) -> None:
        """Kernels that are defined in this process get theirs in the same way."""
