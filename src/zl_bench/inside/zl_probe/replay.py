"""Compiles recorded kernels again, each from the file of its IR, and records every stage and, if asked, every pass.

Started as `python -m zl_probe.replay REQUEST.json` in the environment of a side; no suite is imported and no card is needed.
The request and the events are described in wire.py.
"""

import json
import os
import sys
from typing import Any

from . import diagnostics, stepwise, versions, wire
from .offline.targets import Target, parse_target
from .passes import Pipeline
from .recorder import Recorder
from .stages import KernelSource, compile_stages

PASS_TEXT = "mlir"
"""The suffix of the IR after a pass; that of a stage says the stage."""
LOAD = "load"
"""What follows the last stage: a card refuses code that asks for more than it has."""


class Replay:
    """Compiles one kernel after the other and says what comes of it. It is told of every pass, too."""

    def __init__(self, recorder: Recorder, pipeline: Pipeline, last: str):
        self._recorder = recorder
        self._pipeline = pipeline
        self._last = last
        self._kernel = ""
        self._stage = ""
        self._pass = ""

    def compile(self, given: dict[str, Any]) -> None:
        """Compile one kernel of the request."""
        self._kernel, self._stage, self._pass = given["id"], "", ""
        self._recorder.event("replay", kernel=self._kernel)
        target, position = parse_target(given["target"]), diagnostics.log_position()
        self._pipeline.added.clear()
        try:
            metadata = compile_stages(
                _source(given, target), last=self._last, begins=self._stage_begins, ended=self._stage_ended
            )
        except Exception as error:  # noqa: BLE001 - whatever a compiler raises is what there is to record
            self._failed(f"{type(error).__name__}: {error}", diagnostics.printed_since(position))
            return
        shared, limits = metadata.get("shared"), target.limits
        if shared is not None and limits is not None and shared > limits.max_shared_mem:
            self._stage = LOAD
            self._failed(f"OutOfResources: shared memory, required {shared}, limit {limits.max_shared_mem} bytes", "")
            return
        self._recorder.event("replayed", kernel=self._kernel, shared=shared, added=list(self._pipeline.added))

    def _failed(self, message: str, printed: str) -> None:
        self._recorder.event(
            "replay_failed",
            kernel=self._kernel,
            stage=self._stage,
            message=message,
            cause=diagnostics.cause(printed),
            added=list(self._pipeline.added),
            **{"pass": self._pass or diagnostics.failed_pass(printed)},
        )

    def _stage_begins(self, name: str) -> None:
        self._stage, self._pass = name, ""
        self._pipeline.start_stage(name)
        self._recorder.event("stage_begins", kernel=self._kernel, stage=name)

    def _stage_ended(self, name: str, content: Any) -> None:
        self._pass = ""
        self._recorder.event("stage", kernel=self._kernel, stage=name, **self._recorder.put_ir(name, content))

    def pass_begins(self, name: str) -> None:
        """Say so before it runs: it may end the process."""
        self._pass = name
        self._recorder.event("pass_begins", kernel=self._kernel, stage=self._stage, **{"pass": name})

    def pass_ended(self, name: str, module: Any, left_out: bool) -> None:
        """Record the IR after it."""
        text = self._recorder.put_ir(PASS_TEXT, str(module))
        event = {"kernel": self._kernel, "stage": self._stage, "pass": name, "left_out": left_out}
        self._recorder.event("pass", **event, **text)
        self._pass = ""


def _source(given: dict[str, Any], target: Target) -> KernelSource:
    options = {name: _as_given(value) for name, value in given["options"].items()}
    return KernelSource(given["source"], given["made"], target.backend, target.arch, target.warp_size, options)


def _as_given(value: Any) -> Any:
    """JSON has lists alone; options that hold several things are tuples."""
    return tuple(map(_as_given, value)) if isinstance(value, list) else value


def main() -> None:
    """Replay the request. The caller has set the environment and the standard streams."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        request = json.load(stream)
    recorder = Recorder(request["out"])
    recorder.event("begin", wire=wire.WIRE_VERSION, pid=os.getpid(), **versions.compiler_versions())
    drop = request.get("drop_pass") or {}
    pipeline = Pipeline(drop.get("name"), drop.get("occurrence"))
    pipeline.install()
    replay = Replay(recorder, pipeline, request.get("last") or "")
    if request["passes"]:
        stepwise.install(pipeline, replay)
    for given in request["kernels"]:
        replay.compile(given)
    recorder.event("end")


if __name__ == "__main__":
    main()
