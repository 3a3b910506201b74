"""Pins of an earlier root, for `--pins`."""

from __future__ import annotations

from pathlib import Path

from zl_bench.errors import UsageError
from zl_bench.inside.zl_probe.wire import EVENTS_FILE
from zl_bench.model import Pin
from zl_bench.store.layout import operator_folder
from zl_bench.store.runs import read_outcome, read_run


def recorded_pins(root: Path, operator: str, dtype: str | None) -> tuple[Pin, ...]:
    """The choices that the before side of that operator entry recorded in `root`; empty when it has none."""
    folder = operator_folder(root, operator, dtype, "before")
    found: dict[tuple[str, str, str], Pin] = {}
    for events in sorted(folder.rglob(EVENTS_FILE)):
        run = read_run(events.parent, "", "before", read_outcome(events.parent))
        found |= {(pin.tuner, pin.key, pin.configuration): pin for pin in run.pins}
    return tuple(found.values())


def require_runs(root: Path) -> None:
    """Raise UsageError if `root` holds no recorded run at all."""
    if not any(root.rglob(EVENTS_FILE)):
        raise UsageError(f"--pins {root}: there are no recorded runs in it. Name the root of an earlier screen.")
