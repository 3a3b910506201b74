"""Has recorded kernels compiled again by a side's Triton, in a process without suite and card. Protocol: zl_probe/wire.py."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit
from zl_bench.inside.zl_probe import processes
from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.environment import PROBE_PATH

REQUEST_FILE = "replay.json"
LOG_FILE = "replay.log"
KILL_LIMIT = 20.0
"""Seconds that a killed process may take to end."""


@dataclass(frozen=True)
class ReplayedSource:
    """A kernel to compile: the file of its IR, the stage whose result that is, what for and with which options."""

    id: str
    source: str
    made: str
    target: str
    options: Mapping[str, object]


@dataclass(frozen=True)
class ReplayPlan:
    """One process that compiles kernels of one side. `directory` must be new or empty.

    `last` is the stage to stop behind, empty for none; with `passes` the IR after each pass is recorded.
    """

    side: Side
    interpreter: Path
    environment: Mapping[str, str]
    directory: Path
    kernels: tuple[ReplayedSource, ...]
    dropped_pass: Mapping[str, object] | None = None
    last: str = ""
    passes: bool = False


def run_replay(plan: ReplayPlan, timeout: float) -> ProcessOutcome:
    """Run it and say how its process ended; what it recorded lies in the directory. `timeout` is in seconds.

    Raises EnvironmentUnfit when it can not be started.
    """
    request = {
        "out": str(plan.directory),
        "kernels": [asdict(kernel) for kernel in plan.kernels],
        "drop_pass": plan.dropped_pass,
        "last": plan.last or None,
        "passes": plan.passes,
    }
    try:
        plan.directory.mkdir(parents=True, exist_ok=True)
        file = plan.directory / REQUEST_FILE
        file.write_text(json.dumps(request, indent=1, default=str) + "\n", encoding="utf-8")
        with (plan.directory / LOG_FILE).open("ab") as log:
            process = subprocess.Popen(
                [str(plan.interpreter), "-m", "zl_probe.replay", str(file)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**plan.environment, "TRITON_CACHE_DIR": str(plan.directory / "cache")},
                cwd=PROBE_PATH,
                start_new_session=True,  # so that its assembler can be ended with it
            )
    except OSError as error:
        raise EnvironmentUnfit(
            f"The {plan.side} side can not be compiled again in {plan.interpreter}: {error}."
        ) from error
    return _ended(process, timeout)


def _ended(process: subprocess.Popen[bytes], timeout: float) -> ProcessOutcome:
    try:
        code = process.wait(timeout)
    except subprocess.TimeoutExpired:
        return ProcessOutcome("timeout", detail=f"more than {timeout:g} s")
    finally:
        processes.kill_group(process.pid)  # also when we are interrupted
        process.wait(KILL_LIMIT)
    return ProcessOutcome("signal", -code) if code < 0 else ProcessOutcome("exited", code)
