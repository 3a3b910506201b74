"""Follows every compilation of this process: what was compiled, how long it took, in which stage it failed."""

import sys
import time
from collections.abc import Callable
from typing import Any

from . import diagnostics, kernels
from .passes import Pipeline
from .recorder import EventSink

FAILURE_ATTRIBUTE = "_zl_compile_failure"
OPTIONS_ATTRIBUTE = "_zl_asked_options"
FRONTEND = "frontend"
"""The name of what happens before the first stage: from the kernel's Python source to Triton IR."""


def compile_failure(error: BaseException | None) -> dict[str, Any] | None:
    """The compile_failed record that an exception, or one that it was raised from, carries."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        record = getattr(error, FAILURE_ATTRIBUTE, None)
        if record is not None:
            return dict(record)
        error = error.__cause__ or error.__context__
    return None


def skipped_by_autotuner() -> tuple[type, ...]:
    """The errors for which Triton's own Autotuner skips a candidate."""
    from triton.compiler import errors as compiler_errors
    from triton.runtime import errors as runtime_errors

    found = [getattr(runtime_errors, name, None) for name in ("OutOfResources", "PTXASError")]
    found.append(getattr(compiler_errors, "CompileTimeAssertionFailure", None))
    return tuple(error for error in found if error is not None)


class Compiling:
    """Wraps `triton.compile` and the back ends' stages. `stop_after` ends the pipeline early (`ttgir`)."""

    def __init__(self, recorder: EventSink, pipeline: Pipeline, stop_after: str | None = None):
        self._recorder = recorder
        self._pipeline = pipeline
        self._stop_after = stop_after
        self._stage = ""
        self._own: set[str] = set()  # hashes of what this process compiled itself

    def install(self) -> None:
        """Replace the compile functions and each back end's add_stages in this process."""
        import triton
        import triton.compiler
        from triton.backends import backends

        # `triton.compiler.compiler` as an attribute can be shadowed; the loaded module is what counts.
        compiler: Any = sys.modules["triton.compiler.compiler"]
        wrapped = self._wrapped_compile(compiler.compile)
        for holder in (compiler, triton.compiler, triton):
            if hasattr(holder, "compile"):
                holder.compile = wrapped
        for backend in backends.values():
            backend.compiler.add_stages = self._wrapped_add_stages(backend.compiler.add_stages)

    def _wrapped_add_stages(self, add_stages: Callable[..., Any]) -> Callable[..., Any]:
        def add_watched_stages(backend: Any, stages: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
            result = add_stages(backend, stages, *args, **kwargs)
            if self._stop_after in stages:
                _cut_after(stages, str(self._stop_after))
            for name, function in list(stages.items()):
                stages[name] = self._watched(name, function)
            return result

        return add_watched_stages

    def _watched(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def stage(*args: Any) -> Any:
            self._stage = name
            self._pipeline.start_stage(name)
            return function(*args)

        return stage

    def _wrapped_compile(self, compile_kernel: Callable[..., Any]) -> Callable[..., Any]:
        def watched_compile(src: Any, *args: Any, **kwargs: Any) -> Any:
            options = dict(kwargs.get("options") or (args[1] if len(args) > 1 and args[1] else {}))
            name = str(getattr(src, "name", src))
            self._stage = FRONTEND
            start, position = time.perf_counter(), diagnostics.log_position()
            try:
                compiled = compile_kernel(src, *args, **kwargs)
            except Exception as error:
                printed = diagnostics.printed_since(position)
                failure = {
                    "kernel": name,
                    "signature": kernels.identity(src, options)["signature"] if not isinstance(src, str) else "",
                    "stage": self._stage,
                    "error": type(error).__name__,
                    "message": str(error),
                    "pass": diagnostics.failed_pass(printed),
                    "cause": diagnostics.cause(printed),
                    "diagnostics": printed,
                }
                setattr(error, FAILURE_ATTRIBUTE, failure)
                self._recorder.event("compile_failed", **failure)
                raise
            setattr(compiled, OPTIONS_ATTRIBUTE, options)
            seconds = round(time.perf_counter() - start, 4)
            cached = self._stage == FRONTEND  # a cache hit runs no stage at all
            foreign = cached and compiled.hash not in self._own
            self._own.add(compiled.hash)
            self._recorder.event("compile", kernel=name, seconds=seconds, cached=cached, foreign=foreign)
            return compiled

        return watched_compile


def _cut_after(stages: dict[str, Any], last: str) -> None:
    """Drop the stages behind `last`, but for a stand-in under the binary's name that Triton needs to build a handle.

    The stand-in is never recorded: `recorded_stages` below leaves it out.
    """
    names: list[str] = list(stages)
    later = names[names.index(last) + 1 :]
    if not later:
        return
    for name in later:
        del stages[name]
    stages[later[-1]] = _no_binary


def _no_binary(module: Any, metadata: dict[str, Any]) -> bytes:
    """Ends a compile that stops early: no code, and the metadata that Triton's handle reads."""
    entry = getattr(module, "get_entry_func_name", None)
    metadata.setdefault("name", entry() if entry else "kernel")
    for field in ("shared", "global_scratch_size", "profile_scratch_size", "tmem_size"):
        metadata.setdefault(field, 0)
    for field in ("global_scratch_align", "profile_scratch_align"):
        metadata.setdefault(field, 1)
    return NO_BINARY


NO_BINARY = b"zl-bench: this compile stopped before machine code\n"
