"""Pays the imports once per side, in the parent of all its runs.

Only imports and pure look-ups: nothing here may start a thread, open a device or compile, because children are forked.
"""

import importlib
import sys
from typing import Any

from . import offline

ALWAYS = ["pytest", "triton", "triton.language", "triton.testing", "triton.compiler.code_generator"]
WHEN_THERE = ["numpy", "torch", "torch._subclasses.fake_tensor", "torch.utils._python_dispatch"]


def preload(modules: list[str], target: str | None) -> None:
    """Import what every run needs, what may be there, and `modules`; install the stand-in device for `target`.

    Raises ImportError for what every run needs and for `modules`, TargetError for a target that Triton does not have.
    """
    for name in WHEN_THERE:
        try:
            importlib.import_module(name)
        except ImportError:
            continue
    for name in ALWAYS + _pytest_plugins():
        importlib.import_module(name)
    if target:
        offline.install(target)  # starts nothing; torch's fake mode alone imports for two seconds
    for name in modules:  # a library may ask for the device's properties while it is imported
        importlib.import_module(name)
    _hash_compiler()
    _parse_yaml_fast()


def _pytest_plugins() -> list[str]:
    """The modules that every pytest session imports first."""
    from _pytest import config

    return ["_pytest." + name for name in getattr(config, "default_plugins", ())]


def _hash_compiler() -> None:
    """Have Triton compute the key of its own installation now: it reads all of libtriton, and caches the answer."""
    for module in ("triton.runtime.cache", "triton.compiler.compiler"):
        key = getattr(sys.modules.get(module), "triton_key", None)
        if key is not None:
            key()
            return


def _parse_yaml_fast() -> None:
    """Let `yaml.safe_load` use libyaml where it is built in: a suite's shape file takes half a second without, in every run."""
    yaml: Any = sys.modules.get("yaml")
    if yaml is not None and hasattr(yaml, "CSafeLoader"):
        yaml.SafeLoader = yaml.CSafeLoader
