"""Options that several commands share, and how they become a backend and a switch."""

from __future__ import annotations

import sys
from pathlib import Path

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import backend_for_target, backend_named
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.running.switch import Switch, is_interpreter, parse_switch


def choose_backend(vendor: str | None, target: str | None) -> DeviceBackend:
    """The vendor named, or else the one that the target belongs to."""
    if vendor is not None:
        return backend_named(vendor)
    if target is None:
        raise EnvironmentUnfit(
            "Measuring on a card is not part of this version. To screen without a card, name what to compile for: "
            "--target cuda:90 (also cuda:80, cuda:100, hip:gfx942)."
        )
    return backend_for_target(target)


def choose_switch(text: str, backend: DeviceBackend, segment: str | None) -> Switch:
    """The switch, with the vendor's segment in its name where it asks for one."""
    return parse_switch(text, segment if segment is not None else backend.segment)


def choose_interpreter(python: str | None) -> Path:
    """The Python of the measured processes; this one unless another is named."""
    if python is None:
        return Path(sys.executable)
    path = Path(python).absolute()
    if not is_interpreter(str(path)):
        raise UsageError(f"--python {python}: there is no interpreter that can be executed.")
    return path
