"""Screens of the small checkout in `flaggems/`: a benchmark tree of our own over the operators of the flag-gems wheel."""

from __future__ import annotations

import importlib.util
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import NULL, Finished, zl_bench

CHECKOUT = Path(__file__).parent / "flaggems"
DROPPED = "pass:remove_layout_conversions"
TUNED_ELSEWHERE = "postgres://nobody@nowhere/tuned-elsewhere"
"""A tuner database that no run must ever ask; whoever did would fail."""

INHERITED = {
    "USE_C_EXTENSION": "1",
    "USE_FLAGTUNE": "1",
    "USE_FLAGTUNE_COST_MODEL": "1",
    "FLAGTUNE_INCLUDE": "mm",
    "FLAGGEMS_DB_URL": TUNED_ELSEWHERE,
    "FLAGGEMS_CACHE_DIR": "/nonexistent/flaggems",
    "GEMS_VENDOR": "mthreads",
    "TRITON_CACHE_DIR": "/nonexistent/triton",
    "TRITON_CACHE_AUTOTUNING": "1",
    "TRITON_ALWAYS_COMPILE": "1",
    "TRITON_KERNEL_OVERRIDE": "1",
    "TRITON_INTERPRET": "1",
}
"""What a user's shell may hold; every screen here inherits all of it."""

MEASURED = (
    "softmax",
    "softmax_backward",
    "layer_norm",
    "topk",
    "mm",
    "dropout",
    "conj_physical",
    "nonzero",
    "absolute",
    "fails_third",
    "transpose",
    "not_on_cuda",
)
"""Screened both under a null control and without the pass."""
ONLY_NULL = (
    "softmax:float32",
    "topk:int32",
    "conj_physical:float16",
    "by_parameter:bfloat16",
    "banned",
    "elsewhere",
    "host_timed",
)
RECORDED = (
    "mm",
    "mm_self_transpose",
    "mm_out",
    "addmm",
    "addmm_out",
    "dropout",
    "native_dropout_backward",
    "group_norm",
    "instance_norm",
    "cross_entropy_loss",
    "log_softmax",
    "log_softmax_backward_data",
    "upsample_nearest2d",
)
"""Operators that a card has launched; screened in float16 as there, without the pass on the other side."""

needs_flag_gems = pytest.mark.skipif(
    importlib.util.find_spec("flag_gems") is None, reason="needs the flag-gems wheel: see the Makefile"
)


@cache
def null_control(folder: Path) -> tuple[Finished, Path]:
    """How the command ended and its root, in `folder`, which is the session's; made once, as the others."""
    return _screen(folder, NULL, *MEASURED, *ONLY_NULL)


@cache
def without_the_pass(folder: Path) -> tuple[Finished, Path]:
    """Its before sides compile with the whole pipeline, as a card does."""
    return _screen(folder, DROPPED, *MEASURED, *(f"{operator}:float16" for operator in RECORDED))


@cache
def cut_short(folder: Path) -> tuple[Finished, Path]:
    return _screen(folder, NULL, "--timeout", 6, "hangs", "crashes")


def _screen(folder: Path, switch: str, *arguments: object) -> tuple[Finished, Path]:
    root = Path(tempfile.mkdtemp(prefix="flaggems-", dir=folder)) / "root"
    suite = ("--suite", "flaggems", "--checkout", CHECKOUT)
    options = (*suite, "--target", "cuda:90", "--stages", "ttgir", "--root", root, "--switch", switch)
    return zl_bench("screen", *options, *arguments, env=INHERITED), root
