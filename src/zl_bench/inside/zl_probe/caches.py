"""Keeps what a run compiles in that run's own Triton cache, whatever folder its suite sets meanwhile."""

import functools
import inspect
import os
from typing import Any

TUNING_RESULTS = ".autotune.json"
"""The tail of what an autotuner's timings are stored under; it is no kernel."""


class RunCache:
    """The cache folder of one run. What Triton leaves out of its cache key, such as a pass that was taken out, would
    otherwise be answered from the other side's kernels.

    A cache manager that is no FileCacheManager can not be pinned; a kernel that comes from there is marked `foreign`.
    """

    def __init__(self, folder: str):
        self._folder = os.path.abspath(folder)

    def install(self) -> None:
        """Have every FileCacheManager of this process, and of processes forked off it, use the run's folder.

        The folders for dumps and overrides are not touched. Source: triton/runtime/cache.py, Triton 3.1 to 3.9.
        """
        from triton.runtime.cache import FileCacheManager

        original = FileCacheManager.__init__
        signature = inspect.signature(original)

        @functools.wraps(original)
        def __init__(manager: Any, *args: Any, **kwargs: Any) -> None:
            original(manager, *args, **kwargs)
            given = signature.bind(manager, *args, **kwargs).arguments
            if given.get("override") or given.get("dump"):
                return
            manager.cache_dir = os.path.join(self._folder, manager.key)
            manager.lock_path = os.path.join(manager.cache_dir, "lock")
            os.makedirs(manager.cache_dir, exist_ok=True)

        FileCacheManager.__init__ = __init__

    def kernels(self) -> int:
        """How many compiled kernels the folder holds: entries with the metadata that ends a compilation."""
        try:
            entries = [entry.path for entry in os.scandir(self._folder) if entry.is_dir()]
        except FileNotFoundError:
            return 0
        return sum(any(_is_metadata(name) for name in os.listdir(entry)) for entry in entries)


def _is_metadata(name: str) -> bool:
    return name.endswith(".json") and not name.endswith(TUNING_RESULTS)
