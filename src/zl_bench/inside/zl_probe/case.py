"""Runs one case in this process: installs the probe's parts, hands the node to pytest, and says how it ended."""

import gc
import importlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import devices, diagnostics, flaggems, flaggems_forked, seeding, versions, wire
from .caches import RunCache
from .capture import Capture
from .compiling import Compiling
from .outputs import Outputs
from .passes import Pipeline
from .pins import Pins
from .pins_followed import FollowedPins
from .plugin import ProbePlugin
from .recorder import Recorder
from .rows import Rows
from .timing.entrance import Entrance
from .timing.timer import NoTimer, Timer, TimingPlan, leave
from .timing.turns import Turns
from .untouched import Untouched

PYTEST_ARGUMENTS = [
    "--capture=no",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:unraisableexception",
    "-p",
    "no:threadexception",
]
"""Everything printed goes to the run's log, native code's words too; no cache folder in the suite's checkout; no repeated
garbage collection over all of torch at the session's end."""


YOUNG_OBJECTS = 5_000
"""New objects after which garbage is looked for; a compilation makes ten times Python's own 700 in no time, and all of use."""


def load_input(path: str) -> dict[str, Any]:
    """The run's input.json. Raises ValueError for another wire version."""
    with open(path, encoding="utf-8") as stream:
        given: dict[str, Any] = json.load(stream)
    if given.get("wire") != wire.WIRE_VERSION:
        raise ValueError("{}: wire version {} is not {}".format(path, given.get("wire"), wire.WIRE_VERSION))
    return given


@dataclass(frozen=True)
class Parts:
    """The installed parts that are asked again when the run ends."""

    rows: Rows
    pins: Pins
    cache: RunCache
    entrance: Entrance | None = None
    """Where a run that takes turns must be let in before its first test, if it has not been by then."""


def install(given: dict[str, Any], recorder: Recorder, untouched: Untouched | None = None) -> Parts:
    """Put every part of the probe that the input asks for into this process, before a benchmark file is imported."""
    if given["target"]:
        from . import offline

        offline.install(given["target"])
    drop = given.get("drop_pass") or {}
    pipeline = Pipeline(drop.get("name"), drop.get("occurrence"))
    if drop:
        pipeline.install()
    Compiling(recorder, pipeline, "ttgir" if given["stages"] == "ttgir" else None).install()
    capture = Capture(recorder)
    capture.install()
    follow = given["pins"].get("follow")
    followed = FollowedPins(follow) if follow else None
    pins = Pins(given["pins"]["mode"], given["pins"]["records"], recorder, capture, followed)
    pins.install()
    rows = Rows(
        recorder,
        capture,
        pins,
        outputs=Outputs(recorder, given["out"]) if given.get("numerics") else None,
        from_call=(given.get("continue") or {}).get("from_call", 0),
    )
    do_bench = rows.install()
    entrance = None if given["target"] else _use_card(given, recorder, rows, pins, do_bench, untouched)
    cache = RunCache(given["caches"]["TRITON_CACHE_DIR"])
    cache.install()
    return Parts(rows, pins, cache, entrance)


def _use_card(
    given: dict[str, Any],
    recorder: Recorder,
    rows: Rows,
    pins: Pins,
    do_bench: Callable[..., Any],
    untouched: Untouched | None,
) -> Entrance | None:
    """Seed the device's random numbers, have tuning leave them alone, and time the rows if that is asked for.

    Returns the entrance at which a run that takes turns waits; all others use the card at once.
    """
    from .timing.nvml import clocks_of
    from .timing.torch_device import TorchDevice

    name, plan = given.get("device") or "cuda", TimingPlan.of(given)
    takes_turns = plan is not None and bool(given.get("turns"))
    if untouched is not None and not takes_turns:
        untouched.touch()
        untouched.require_same()
    device = TorchDevice.of(name)
    if device is None:
        if plan is not None:
            rows.timer = NoTimer(plan, recorder, f"torch has no {name} device to time it on")
        return None
    device.seed()
    pins.random_numbers = device
    if plan is None:
        return None
    gate = Turns.of(given, recorder, leave)

    def use() -> None:
        device.use_own_stream()
        rows.timer = Timer(plan, device, clocks_of(device.module), recorder, do_bench, gate=gate)

    if not takes_turns:
        use()
        return None
    return Entrance.before(untouched or Untouched.without_answers(device.module), gate, recorder, use)


def compat_plugins(given: dict[str, Any], recorder: Recorder) -> list[Any]:
    """The compat plugins that the input names, in its order; they come before every other plugin."""
    return [importlib.import_module(name).compat_plugin(recorder) for name in given.get("compat_plugins") or ()]


def _probe_plugin(given: dict[str, Any], recorder: Recorder, parts: Parts) -> ProbePlugin:
    rows, dtype, by_option = parts.rows, given["dtype"], given.get("dtype_by") == "option"
    collected = None if parts.entrance is None else parts.entrance.enter
    if given["suite"] != flaggems.SUITE:
        return ProbePlugin(recorder, rows, dtype, dtype_by_option=by_option, collected=collected)
    watch = flaggems.BenchmarkWatch(recorder, rows, dtype)
    only = os.path.join(given["rootdir"], given["node"].split("::", 1)[0])
    chosen = None if dtype == wire.FIRST_DTYPE else dtype
    return ProbePlugin(
        recorder, rows, chosen, dtype_by_option=by_option, start=watch.start, only=only, collected=collected
    )


def run(given: dict[str, Any], untouched: Untouched | None = None) -> int:
    """Run the case and return pytest's exit status. The caller has set the environment and the standard streams.

    `untouched` stands before the card that this process may not have used so far.
    """
    import pytest

    gc.set_threshold(YOUNG_OBJECTS)
    recorder = Recorder(given["out"])
    begun = {"pid": os.getpid(), "target": given["target"], "opened": devices.opened()}
    recorder.event("begin", wire=wire.WIRE_VERSION, **begun, **versions.versions())
    if not given["target"]:
        devices.require_untouched()  # a server that imported more after it said that it was ready
    flaggems_forked.leave_server()
    seeding.seed_host()
    parts = install(given, recorder, untouched)
    arguments = [*PYTEST_ARGUMENTS, "--rootdir", given["rootdir"], *given["pytest_args"], given["node"]]
    position = diagnostics.log_position()
    probe = _probe_plugin(given, recorder, parts)
    status = int(pytest.main(arguments, plugins=[*compat_plugins(given, recorder), probe]))
    usage_error = status == int(pytest.ExitCode.USAGE_ERROR)
    message = diagnostics.printed_since(position).strip() if usage_error else ""
    parts.pins.finish()
    recorder.event(
        "end",
        exit=status,
        message=message,
        stopped=probe.stopped,
        unrun=probe.unrun(),
        cached_kernels=parts.cache.kernels(),
    )
    return status
