"""What the arguments that `screen` and `run` share ask for: operators of a suite, an interpreter, a share of the memory."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.cli.options import choose_interpreter, choose_operators, choose_suite
from zl_bench.config import Config
from zl_bench.errors import UsageError
from zl_bench.running.memory import GIB, shared_out
from zl_bench.running.switch import Switch
from zl_bench.store.request import read_request
from zl_bench.suites.base import Entry, Suite, select, selection_notes
from zl_bench.suites.shape_file import ShapePlan, plan_shapes


@dataclass(frozen=True)
class Work:
    """The operators to work on, and with what. `notes` are for people."""

    suite: Suite
    entries: tuple[Entry, ...]
    shapes: ShapePlan | None
    interpreter: Path
    notes: tuple[str, ...]


def choose_work(
    config: Config,
    *,
    suite: str,
    checkout: Path | None,
    dtypes: str,
    shapes: Sequence[str],
    shape_file: Path | None,
    operators: Sequence[str],
    operator_file: Path | None,
    whole_suite: bool,
    python: str | None,
) -> Work:
    """Everything by its option's name. Raises UsageError for what does not exist or does not fit together."""
    chosen = choose_suite(suite, checkout, config)
    if dtypes == "first" and chosen.dtype_option is None:
        raise UsageError("--dtypes first is for suites that choose dtypes by an option, such as flaggems.")
    shape_plan = plan_shapes(chosen, shape_file, shapes)
    wanted = choose_operators(operators, operator_file, whole_suite=whole_suite)
    entries = select(chosen, wanted)
    notes = (*(selection_notes(entries) if wanted else ()), *(shape_plan.notes if shape_plan is not None else ()))
    return Work(chosen, entries, shape_plan, choose_interpreter(python or config.python), notes)


def require_numbers(timeout: float, memory: float | None, wait: float | None) -> None:
    """Raise UsageError for what click takes for a number and is none."""
    if math.isnan(timeout):
        raise UsageError("--timeout nan is no number of seconds.")
    if memory is not None and not math.isfinite(memory):
        raise UsageError(f"--memory {memory:g} is no number of GiB.")
    if wait is not None and not math.isfinite(wait):
        raise UsageError(f"--wait {wait:g} is no number of seconds; leave it out to wait for as long as it takes.")


def require_something_to_resume(root: Path | None, file: str, what: str) -> None:
    """Raise UsageError for --resume where nothing was started."""
    if root is None:
        raise UsageError("--resume goes on in a root: name it with --root.")
    if read_request(root, file) is None:
        raise UsageError(
            f"--resume: {root} is no root of {what}; there is nothing to go on with. Leave out --resume to start."
        )


def require_free(switch: Switch, *assignments: Mapping[str, str]) -> None:
    """Raise UsageError where --env sets the switch under test."""
    if any(switch.kind == "variable" and switch.name in pairs for pairs in assignments):
        raise UsageError(f"{switch.name} is the switch under test; write its values there, as in {switch.name}=x..y.")


def memory_share(jobs: int | None, memory: float | None, available: int) -> tuple[int, int]:
    """(operators at a time, bytes of each run), of `available` bytes; `memory` is in GiB."""
    given = None if memory is None else math.ceil(memory * GIB)
    return shared_out(jobs, given, len(os.sched_getaffinity(0)), available)
