"""Runs one operator's pair: before, then after with the pins that before recorded, and judges the two (R1)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    at_once: bool = False
    """Whether the after side starts with the before side, and takes over its choices as they are made. Only where no choice is
    timed: one that is may be another by the end."""


async def screen_operator(
    entry: Entry, settings: PairSettings, servers: SideServers, given_pins: Sequence[Pin] | None
) -> JudgedOperator:
    """Run and judge one operator. `given_pins` are those of --pins; None lets the before side choose."""
    start = time.monotonic()
    pairs, again, fingerprints = [], {}, StageFingerprints()
    for node in entry.nodes:
        if settings.at_once and given_pins is None:
            before, after = await _at_once(entry, node, settings, servers)
        else:
            before, after = await _one_after_the_other(entry, node, settings, servers, given_pins, fingerprints)
        pairs.append((before, after))
        if settings.self_check:
            again[node] = await run_node(entry, node, "before", "again", settings, servers, distinct_pins(before.pins))
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


async def _one_after_the_other(
    entry: Entry,
    node: str,
    settings: PairSettings,
    servers: SideServers,
    given_pins: Sequence[Pin] | None,
    fingerprints: StageFingerprints,
) -> tuple[Run, Run]:
    """Before, then after. Fingerprints of the before side are taken while the after side compiles."""
    before = await run_node(entry, node, "before", "before", settings, servers, given_pins)
    taken = asyncio.create_task(asyncio.to_thread(fingerprints.of, list(recorded_stages([before]))))
    after = await run_node(entry, node, "after", "after", settings, servers, distinct_pins(before.pins))
    await taken
    return before, after


async def _at_once(entry: Entry, node: str, settings: PairSettings, servers: SideServers) -> tuple[Run, Run]:
    """Both sides at once. The after side is run again, by itself, if the before side ended early or if its own time ran out: it
    may have waited for choices that came late or never, and waiting is on no run's account.
    """
    before_folder = _directory(entry, node, "before", settings)
    following = asyncio.create_task(
        run_node(entry, node, "after", "after", settings, servers, (), follow=before_folder)
    )
    try:
        before = await run_node(entry, node, "before", "before", settings, servers, None)
        if before.absence is None:
            after = await following
            if after.absence is None or after.absence.kind != "timeout":
                return before, after
    finally:
        following.cancel()
        await asyncio.wait([following])
    return before, await run_node(entry, node, "after", "after", settings, servers, distinct_pins(before.pins))


async def run_node(
    entry: Entry,
    node: str,
    side: Side,
    folder: Folder,
    settings: PairSettings,
    servers: SideServers,
    pins: Sequence[Pin] | None,
    follow: Path | None = None,
) -> Run:
    """Run one node of the entry on that side, into that folder. Without `pins` its autotuners choose, else they replay, also
    what the run in the directory `follow` is only about to choose.
    """
    directory = _directory(entry, node, folder, settings)
    plan = replace(run_plan(entry, node, side, directory, settings, pins), follow=follow)
    outcome = await run_case(plan, servers, settings.timeout)
    write_outcome(directory, outcome)
    return read_run(directory, node, side, outcome)


def _directory(entry: Entry, node: str, folder: Folder, settings: PairSettings) -> Path:
    several = len(entry.nodes) > 1
    return run_directory(settings.root, entry.operator, entry.dtype, folder, node, several=several).absolute()


def run_plan(
    entry: Entry, node: str, side: Side, directory: Path, settings: PairSettings, pins: Sequence[Pin] | None
) -> RunPlan:
    """The run of one node of the entry on that side. Without `pins` its autotuners choose, else they replay."""
    backend, arguments = settings.backend, settings.suite.arguments(entry.dtype)
    return RunPlan(
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
