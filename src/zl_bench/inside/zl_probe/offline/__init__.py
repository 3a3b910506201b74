"""A stand-in device: what a process without a card needs to compile every kernel that its suite would launch.

`install("cuda:90")` gives Triton a driver that launches nothing (`driver`) and, where torch can be imported, gives torch
an accelerator whose tensors have shapes, types and addresses but no values (`tensors`, `torch_cuda`). What can not be
answered without a card raises `NeedsDevice`; nothing is guessed.
"""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any

from ..wire import HIDDEN_CARDS
from .driver import StandInDriver
from .errors import AlreadyInstalled, NeedsDevice, TargetError
from .pointers import FakePointer
from .targets import Target, parse_target

__all__ = [
    "AlreadyInstalled",
    "FakePointer",
    "NeedsDevice",
    "Target",
    "TargetError",
    "begin_call",
    "guesses",
    "install",
    "parse_target",
    "take_operations",
]


_observed: list[Any] = []
"""What can be asked of this process's stand-in, once one is installed: there can be only one."""


def guesses() -> int:
    """How many times a value that only the device knows has decided something in this process, guessed as it was."""
    return sum(int(seen.values.guesses) for seen in _observed)


def take_operations() -> dict[str, str]:
    """Which operators were called on the stand-in since this was last asked, and how: `view`, `native` or `library`."""
    return {name: how for seen in _observed for name, how in seen.operations.take().items()}


def begin_call() -> None:
    """A new call of the suite begins: what the stand-in has noted of earlier ones no longer counts."""
    for seen in _observed:
        seen.operations.take()
        seen.values.begin_call()


def install(target_text: str) -> None:
    """Make this process compile for a target with no device, for as long as it lives.

    Safe to call again with the same target. Raises TargetError for a target that this Triton can not compile for, and
    AlreadyInstalled when the process has a stand-in for another one.
    """
    from triton.runtime import driver as holder

    target = parse_target(target_text)
    _check_triton_can(target)
    os.environ.update(HIDDEN_CARDS)
    # Triton keeps its active driver in one of these, depending on its version; the property `active` would open a
    # real driver, so it is not asked.
    active = vars(holder).get("_active", vars(holder).get("active"))
    if type(active) is StandInDriver:
        if active.target != target:
            raise AlreadyInstalled(f"this process compiles for {active.target} already, not for {target}")
        return
    if find_spec("torch") is not None:
        from . import tensors

        observed = tensors.install(target)
        if observed is not None:
            _observed.append(observed)
    if find_spec("numpy") is not None:
        import numpy

        from . import sampling

        sampling.install(numpy)
    holder.set_active(StandInDriver(target))


def _check_triton_can(target: Target) -> None:
    """Refuse what would abort the interpreter instead of raising: Triton 3.1 on anything newer than cuda:90."""
    import triton

    version = tuple(int(part) for part in triton.__version__.split(".")[:2])
    if target.backend == "cuda" and isinstance(target.arch, int) and target.arch > 90 and version < (3, 2):
        raise TargetError(f"Triton {triton.__version__} compiles for cuda up to 90, not for {target}")
