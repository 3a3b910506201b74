"""A cache manager that keeps to a folder of its own."""

import pathlib

from triton.runtime.cache import FileCacheManager


class Manager(FileCacheManager):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.cache_dir = str(pathlib.Path(__file__).parent / "shared" / "manager" / self.key)
        pathlib.Path(self.cache_dir).mkdir(parents=True, exist_ok=True)
