"""Writes down what a run is to do: its directory, input.json and env.json, before any process is asked to do it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.inside.zl_probe import wire
from zl_bench.model import L2Policy, Pin, Side, TimingMethod
from zl_bench.running.environment import recordable

CACHES = {"TRITON_CACHE_DIR": "cache/triton", "FLAGGEMS_CACHE_DIR": "cache/flaggems"}
"""Every run has caches of its own (R2), as folders of its directory."""

PinMode = Literal["tune", "first", "all", "replay"]


@dataclass(frozen=True)
class Timing:
    """How rows are timed on a card. With `baseline`, what the suite compares the operator with is timed too."""

    method: TimingMethod
    l2: L2Policy
    baseline: bool = False


@dataclass(frozen=True)
class Continuation:
    """Where a process takes over from one that timing had left unusable: of the calls that the benchmark itself times, those
    before `from_call` are done; `avoid` has the methods that calls must not be timed by; with `queue_rest` none is by graph.
    """

    from_call: int
    avoid: Mapping[int, tuple[TimingMethod, ...]]
    queue_rest: bool = False


@dataclass(frozen=True)
class TakingTurns:
    """A run that times its rows in turns with the other side's, `each` times: the socket at which it hears when, and after how
    many seconds without a word it ends.
    """

    socket: str
    each: int
    patience_s: float


@dataclass(frozen=True)
class RunPlan:
    """One run: one case on one side, into one directory."""

    operator: str
    dtype: str | None
    node: str
    side: Side
    directory: Path
    suite: str
    rootdir: Path
    pytest_args: tuple[str, ...]
    target: str | None
    stages: str
    dropped_pass: Mapping[str, object] | None
    pin_mode: PinMode
    pins: Sequence[Pin] = ()
    follow: Path | None = None
    """The run whose choices are replayed while it is still going on."""
    compat_plugins: tuple[str, ...] = ()
    """Of the backend; the probe loads them before any other plugin (R10)."""
    dtype_by: Literal["parameter", "option"] = "parameter"
    """How the suite is told the dtype: by choosing among the values of a parameter, or by an argument of its own."""
    timing: Timing | None = None
    """None times nothing."""
    numerics: bool = False
    """Whether the outputs of each row's first call are sampled; for a card, since nothing is computed without one."""
    device: str = ""
    """torch's module for the card, such as `cuda`; empty without one."""
    turns: TakingTurns | None = None
    continuation: Continuation | None = None
    """What is known of its calls from an earlier run of the same code."""
    caches: Mapping[str, Path] | None = None
    """Its caches, by their variables; folders of its own directory unless given."""


def prepare(plan: RunPlan, environment: Mapping[str, str]) -> Path:
    """Make the run's directory afresh and write its inputs; return the path of input.json.

    Raises EnvironmentUnfit when the disk does not take it.
    """
    given = _given(plan)
    hidden = wire.HIDDEN_CARDS if plan.target is not None else {}
    written_down = {"side": plan.side, "environment": recordable({**environment, **given["caches"], **hidden})}
    try:
        if plan.directory.exists():
            _require_a_run(plan.directory)
            shutil.rmtree(plan.directory)  # what an interrupted attempt left must not be taken for this run's
        plan.directory.mkdir(parents=True)
        input_file = plan.directory / wire.INPUT_FILE
        input_file.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
        (plan.directory / wire.ENVIRONMENT_FILE).write_text(json.dumps(written_down, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise _unprepared(plan, error) from error
    return input_file


def prepare_next(plan: RunPlan, continuation: Continuation, pins: Sequence[Pin], number: int) -> Path:
    """Write the input of the run's process of that number (2, 3 …), which goes on where an earlier one had to be given up.

    What the earlier ones recorded stays. `pins` are those that it replays beside its plan's. Its caches are new: what is
    in those of another process was not compiled by it. Returns the path of the input; raises EnvironmentUnfit as `prepare`.
    """
    given = _given(replace(plan, pins=(*plan.pins, *pins)))
    given["caches"] = {name: f"{folder}.{number}" for name, folder in given["caches"].items()}
    given["continue"] = asdict(continuation)
    input_file = (plan.directory / wire.INPUT_FILE).with_suffix(f".{number}.json")
    try:
        input_file.write_text(json.dumps(given, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise _unprepared(plan, error) from error
    return input_file


def _given(plan: RunPlan) -> dict[str, Any]:
    """The input of a run's first process."""
    given: dict[str, Any] = {
        "wire": wire.WIRE_VERSION,
        "operator": plan.operator,
        "dtype": plan.dtype,
        "side": plan.side,
        "node": plan.node,
        "suite": plan.suite,
        "rootdir": str(plan.rootdir),
        "pytest_args": list(plan.pytest_args),
        "target": plan.target,
        "stages": plan.stages,
        "drop_pass": plan.dropped_pass,
        "pins": {"mode": plan.pin_mode, "records": [asdict(pin) for pin in plan.pins]},
        "caches": {name: str(folder) for name, folder in (plan.caches or _own_caches(plan)).items()},
        "out": str(plan.directory),
    }
    if plan.follow is not None:
        given["pins"]["follow"] = str(plan.follow)
    if plan.compat_plugins:
        given["compat_plugins"] = list(plan.compat_plugins)
    if plan.dtype_by != "parameter":
        given["dtype_by"] = plan.dtype_by
    if plan.timing is not None:
        given["timing"] = asdict(plan.timing)
    if plan.numerics:
        given["numerics"] = True
    if plan.device:
        given["device"] = plan.device
    if plan.turns is not None:
        given["turns"] = asdict(plan.turns)
    if plan.continuation is not None:
        given["continue"] = asdict(plan.continuation)
    return given


def _own_caches(plan: RunPlan) -> dict[str, Path]:
    return {name: plan.directory / folder for name, folder in CACHES.items()}


def _unprepared(plan: RunPlan, error: OSError) -> EnvironmentUnfit:
    return EnvironmentUnfit(
        f"The run of {plan.operator} can not be prepared in {plan.directory}: {error.strerror or error}. "
        "Every finished operator is kept; make room and go on with --resume."
    )


def _require_a_run(directory: Path) -> None:
    """Refuse to replace anything but what a run has left. Raises UsageError for a user's own folder of that name."""
    if directory.is_dir() and ((directory / wire.INPUT_FILE).is_file() or not any(directory.iterdir())):
        return
    raise UsageError(
        f"{directory} is not a run's and would have to make way for one. Nothing was removed; name another folder "
        "with --root."
    )
