"""Runs one operator's pair: before, then after with the pins that before recorded, and judges the two (R1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.backends.base import DeviceBackend
from zl_bench.inside.zl_probe.wire import FIRST_DTYPE
from zl_bench.model import AskedShapes, JudgedOperator, Pin, Run, Side
from zl_bench.running.planner import PinMode, RunPlan, Timing
from zl_bench.running.servers import SideServers
from zl_bench.running.switch import Switch
from zl_bench.store.layout import Folder, run_directory
from zl_bench.store.runs import read_run, write_outcome
from zl_bench.suites.base import Entry, Suite
from zl_bench.workflow.attempts import distinct_pins, run_case
from zl_bench.workflow.judge import StageFingerprints, judge_operator, recorded_stages


@dataclass(frozen=True)
class PairSettings:
    """What is the same for every operator of a screen, or of runs of one side. `configs` is how autotuners choose."""

    root: Path
    suite: Suite
    switch: Switch | None
    target: str | None
    stages: str
    configs: PinMode
    criterion: str
    timeout: float
    self_check: bool
    first_dtype: bool = False
    """Only the first of each operator's own dtypes, where none is asked for."""
    shapes: AskedShapes | None = None
    backend: DeviceBackend | None = None
    """Whose compat plugins and option names every run gets."""
    timing: Timing | None = None


async def screen_operator(
    entry: Entry, settings: PairSettings, servers: SideServers, given_pins: Sequence[Pin] | None
) -> JudgedOperator:
    """Run and judge one operator. `given_pins` are those of --pins; None lets the before side choose."""
    start = time.monotonic()
    pairs, again, fingerprints = [], {}, StageFingerprints()
    for node in entry.nodes:
        before = await run_node(entry, node, "before", "before", settings, servers, given_pins)
        chosen = distinct_pins(before.pins)
        # Fingerprints of the before side are taken while the after side compiles.
        taken = asyncio.create_task(asyncio.to_thread(fingerprints.of, list(recorded_stages([before]))))
        after = await run_node(entry, node, "after", "after", settings, servers, chosen)
        await taken
        pairs.append((before, after))
        if settings.self_check:
            again[node] = await run_node(entry, node, "before", "again", settings, servers, chosen)
    return await asyncio.to_thread(  # the other operators' runs go on meanwhile
        judge_operator,
        entry.operator,
        entry.dtype,
        pairs,
        again=again,
        criterion=settings.criterion,
        seconds=time.monotonic() - start,
        fingerprints=fingerprints,
        shapes=settings.shapes,
    )


async def run_node(
    entry: Entry,
    node: str,
    side: Side,
    folder: Folder,
    settings: PairSettings,
    servers: SideServers,
    pins: Sequence[Pin] | None,
) -> Run:
    """Run one node of the entry on that side, into that folder. Without `pins` its autotuners choose, else they replay."""
    directory = run_directory(
        settings.root, entry.operator, entry.dtype, folder, node, several=len(entry.nodes) > 1
    ).absolute()
    backend, arguments = settings.backend, settings.suite.arguments(entry.dtype)
    plan = RunPlan(
        operator=entry.operator,
        dtype=FIRST_DTYPE if entry.dtype is None and settings.first_dtype else entry.dtype,
        node=node,
        side=side,
        directory=directory,
        suite=settings.suite.name,
        rootdir=settings.suite.root,
        pytest_args=backend.named_options(arguments) if backend else arguments,
        target=settings.target,
        stages=settings.stages,
        dropped_pass=settings.switch.dropped_pass(side) if settings.switch is not None else None,
        pin_mode=settings.configs if pins is None else "replay",
        pins=pins or (),
        compat_plugins=backend.compat_plugins if backend else (),
        dtype_by="parameter" if settings.suite.dtype_option is None else "option",
        timing=settings.timing,
        numerics=settings.target is None,
        device=backend.torch_device if backend is not None and settings.target is None else "",
    )
    outcome = await run_case(plan, servers, settings.timeout)
    write_outcome(directory, outcome)
    return read_run(directory, node, side, outcome)
