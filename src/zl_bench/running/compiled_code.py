"""Gives the runs of a measurement the code that their own side's screen run has compiled, and nothing of the other side's."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit
from zl_bench.running.planner import CACHES

TRITON = "TRITON_CACHE_DIR"


def seed_code(screened: Path, folder: Path) -> Path:
    """Put what the screen's run in the directory `screened` has compiled into `folder`, once; return the cache below it.

    A run that took several processes has a cache for each. Files are linked where the file system can: Triton replaces the
    files of its cache and never writes into one. Raises EnvironmentUnfit when the disk does not take them.
    """
    cache = folder / "triton"
    if cache.is_dir():
        return cache
    making = folder / f".triton.{os.getpid()}"
    own = screened / CACHES[TRITON]
    try:
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir(parents=True)
        for source in sorted(own.parent.glob(f"{own.name}*")):
            shutil.copytree(source, making, copy_function=_link_or_copy, dirs_exist_ok=True)
        making.rename(cache)  # whole or not at all: an interrupted copy would miss code and compile it afresh
    except (OSError, shutil.Error) as error:
        raise EnvironmentUnfit(
            f"The compiled code of {screened} can not be put into {folder}: {error}. Every finished round is kept; make room "
            "and go on with --resume."
        ) from error
    return cache


def _link_or_copy(source: str, target: str) -> None:
    if Path(target).exists():
        return
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
