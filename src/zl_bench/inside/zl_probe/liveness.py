"""Finds out what the installed Triton does: the passes of its TTGIR pipeline for a target, by compiling one small kernel, and
what the card of this process compiles for.
"""

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


def card_target() -> str:
    """What the card that this process sees compiles for, as in `cuda:90`. Opens the card; raises what Triton raises."""
    from triton.runtime import driver as holder

    target: Any = holder.active.get_current_target()
    return f"{target.backend}:{target.arch}"


def write_passes(target: str, out: str) -> None:
    """Write `{"passes": […]}` to `out`, whole or not at all."""
    _write({"passes": pipeline_passes(target)}, out)


def write_card_target(out: str) -> None:
    """Write `{"target": "cuda:90"}` to `out`, whole or not at all."""
    _write({"target": card_target()}, out)


def _write(answer: dict[str, Any], out: str) -> None:
    with open(out + ".part", "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    os.replace(out + ".part", out)
