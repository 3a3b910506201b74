"""Finds out which passes the installed Triton's TTGIR pipeline adds for a target, by compiling one small kernel."""

import json
import os
from typing import Any

from . import offline
from .compiling import Compiling
from .passes import Pipeline


class _Silent:
    """A recorder for a compile that belongs to no run."""

    def event(self, event: str, **fields: Any) -> None:
        """Record nothing."""


def pipeline_passes(target: str) -> list[str]:
    """Names of the passes added for `target`, in order, repetitions included. Sets this process's driver."""
    from . import probe_kernel

    offline.install(target)
    pipeline = Pipeline()
    pipeline.install()
    Compiling(_Silent(), pipeline, "ttgir").install()
    probe_kernel.launch()
    return list(pipeline.added)


def write_passes(target: str, out: str) -> None:
    """Write `{"passes": […]}` to `out`, whole or not at all."""
    with open(out + ".part", "w", encoding="utf-8") as stream:
        json.dump({"passes": pipeline_passes(target)}, stream)
    os.replace(out + ".part", out)
