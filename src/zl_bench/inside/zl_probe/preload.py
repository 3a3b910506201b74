"""Pays the imports once per side, in the parent of all its runs.

Only imports and pure look-ups: nothing here may start a thread, open a device or compile, because children are forked.
"""

import importlib
import os
import subprocess
import sys
from typing import Any

from . import offline
from .untouched import Untouched, UntouchedImports, answers_of

ALWAYS = ["pytest", "triton", "triton.language", "triton.testing", "triton.compiler.code_generator"]
WHEN_THERE = ["numpy", "torch", "torch._subclasses.fake_tensor", "torch.utils._python_dispatch"]
PYTEST_NEEDS = ["pdb", "faulthandler"]
"""What pytest's plugins import when a session is configured."""


def preload(modules: list[str], target: str | None, device: str = "") -> Untouched | None:
    """Import what every run needs, what may be there, and `modules`; install the stand-in device for `target`.

    With `device`, torch's module for a card, `modules` are imported without touching that card, if there is one, and what
    stands before it is returned. Raises ImportError for what every run needs and for `modules`, TargetError for a target that
    Triton does not have, DeviceInitialised for modules that do touch the card.
    """
    for name in WHEN_THERE:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for name in ALWAYS + PYTEST_NEEDS + _pytest_plugins():
        importlib.import_module(name)
    if target:
        offline.install(target)  # starts nothing; torch's fake mode alone imports for two seconds
    untouched = None
    if device and modules:
        untouched = _import_untouched(modules, device)
    else:
        for name in modules:  # a library may ask for the device's properties while it is imported
            importlib.import_module(name)
    _one_thread()
    _hash_compiler()
    if target:
        _ask_assembler()
    _parse_yaml_fast()
    return untouched


def _import_untouched(modules: list[str], device: str) -> Untouched | None:
    answers = answers_of(device) if hasattr(sys.modules.get("torch"), device) else None
    if answers is None:
        return None  # each run finds out for itself, and says so
    with UntouchedImports(getattr(sys.modules["torch"], device), answers) as untouched:
        for name in modules:
            importlib.import_module(name)
    return untouched


def _pytest_plugins() -> list[str]:
    """The modules that every pytest session imports first."""
    from _pytest import config

    return ["_pytest." + name for name in getattr(config, "default_plugins", ())]


def _one_thread() -> None:
    """Have torch compute on one thread unless the user has said otherwise: runs go on side by side, and threads that wait
    for each other on a busy machine take many times as long.
    """
    torch: Any = sys.modules.get("torch")
    if torch is not None and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(1)


def _hash_compiler() -> None:
    """Have Triton compute the key of its own installation now: it reads all of libtriton, and caches the answer."""
    for module in ("triton.runtime.cache", "triton.compiler.compiler"):
        key = getattr(sys.modules.get(module), "triton_key", None)
        if key is not None:
            key()
            return


def _ask_assembler() -> None:
    """Have the back end find out its assembler's version now, for which it runs it; Triton keeps the answer, and would
    ask in every run. A back end that can not say now says so when a run compiles.
    """
    compiler, holder = sys.modules["triton.compiler.compiler"], sys.modules["triton.runtime.driver"]
    try:
        compiler.make_backend(getattr(holder, "driver", holder).active.get_current_target()).hash()
    except (OSError, RuntimeError, subprocess.SubprocessError):
        return


def _parse_yaml_fast() -> None:
    """Let `yaml.safe_load` use libyaml where it is built in: a suite's shape file takes half a second without, in every run."""
    yaml: Any = sys.modules.get("yaml")
    if yaml is not None and hasattr(yaml, "CSafeLoader"):
        yaml.SafeLoader = yaml.CSafeLoader
