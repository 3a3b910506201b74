"""Writes down what a run is to do: its directory, input.json and env.json, before any process is asked to do it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.inside.zl_probe import wire
from zl_bench.model import Pin, Side
from zl_bench.running.environment import recordable

CACHES = {"TRITON_CACHE_DIR": "cache/triton", "FLAGGEMS_CACHE_DIR": "cache/flaggems"}
"""Every run has caches of its own (R2), as folders of its directory."""

PinMode = Literal["tune", "first", "all", "replay"]


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
    compat_plugins: tuple[str, ...] = ()
    """Of the backend; the probe loads them before any other plugin (R10)."""
    dtype_by: Literal["parameter", "option"] = "parameter"
    """How the suite is told the dtype: by choosing among the values of a parameter, or by an argument of its own."""


def prepare(plan: RunPlan, environment: Mapping[str, str]) -> Path:
    """Make the run's directory afresh and write its inputs; return the path of input.json.

    Raises EnvironmentUnfit when the disk does not take it.
    """
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
        "caches": {name: str(plan.directory / folder) for name, folder in CACHES.items()},
        "out": str(plan.directory),
    }
    if plan.compat_plugins:
        given["compat_plugins"] = list(plan.compat_plugins)
    if plan.dtype_by != "parameter":
        given["dtype_by"] = plan.dtype_by
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
        raise EnvironmentUnfit(
            f"The run of {plan.operator} can not be prepared in {plan.directory}: {error.strerror or error}. "
            "Every finished operator is kept; make room and go on with --resume."
        ) from error
    return input_file


def _require_a_run(directory: Path) -> None:
    """Refuse to replace anything but what a run has left. Raises UsageError for a user's own folder of that name."""
    if directory.is_dir() and ((directory / wire.INPUT_FILE).is_file() or not any(directory.iterdir())):
        return
    raise UsageError(
        f"{directory} is not a run's and would have to make way for one. Nothing was removed; name another folder "
        "with --root."
    )
