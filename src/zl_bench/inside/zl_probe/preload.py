"""Pays the imports once per side, in the parent of all its runs.

Only imports and pure look-ups: nothing here may start a thread, open a device or compile, because children are forked.
"""

import importlib
import sys

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
    for name in ALWAYS + _pytest_plugins() + modules:
        importlib.import_module(name)
    if target:
        offline.install(target)  # starts nothing; torch's fake mode alone imports for two seconds
    _hash_compiler()


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
