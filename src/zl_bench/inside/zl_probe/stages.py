"""Compiles one kernel from a file of its IR, stage by stage, with nothing but Triton: no suite, no card, no cache.

This is what `triton.compile` does with an IR file, except that it can also start before the first stage, from what Triton
keeps as `source`. Source: triton/compiler/compiler.py, `compile`, Triton 3.1 to 3.9. It is also shipped in a repro, so it
imports nothing of the probe.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SOURCE = "source"
"""The stage before the first: the kernel as the frontend made it."""


@dataclass(frozen=True)
class KernelSource:
    """What is compiled. `made` is the stage whose result the file at `path` holds; `options` are the launch's, by name."""

    path: str
    made: str
    backend: str
    arch: Any
    warp_size: int
    options: Mapping[str, Any]


class StageNotThere(Exception):
    """The back end has no stage of that name, so the file can not be gone on from."""


def compile_stages(
    source: KernelSource,
    *,
    last: str = "",
    begins: Callable[[str], None] = lambda stage: None,
    ended: Callable[[str, Any], None] = lambda stage, content: None,
) -> dict[str, Any]:
    """Run the stages behind `source.made`, up to `last` where one is named, and return the metadata that they wrote.

    `ended` is told the result of each: text of what is text, bytes of machine code. Raises what Triton raises, and
    StageNotThere.
    """
    from triton._C.libtriton import ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import make_backend

    target = GPUTarget(source.backend, source.arch, source.warp_size)
    backend = make_backend(target)
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = ir.parse_mlir_module(source.path, context)
    module.context = context
    options = backend.parse_options(dict(source.options))
    stages: dict[str, Callable[[Any, Any], Any]] = {}
    backend.add_stages(stages, options, *_language(backend))
    metadata = {"target": target, **options.__dict__}
    for name in _behind(list(stages), source.made):
        begins(name)
        module = stages[name](module, metadata)
        ended(name, module if isinstance(module, bytes) else str(module))
        if name == last:
            break
    return metadata


def _language(backend: Any) -> tuple[Any, ...]:
    """The further argument that newer back ends want: which frontend the kernel comes from. It is Triton's own here."""
    if "language" not in inspect.signature(backend.add_stages).parameters:
        return ()
    from triton.backends.compiler import Language

    return (Language.TRITON,)


def _behind(stages: list[str], made: str) -> list[str]:
    if made == SOURCE:
        return stages
    if made not in stages:
        raise StageNotThere(f"there is no stage {made} in {', '.join(stages)}")
    return stages[stages.index(made) + 1 :]
