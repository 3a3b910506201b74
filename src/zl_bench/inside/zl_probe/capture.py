"""Captures what a row's timed call launches: the compiled kernels, in order, and nothing else."""

import contextlib
from collections.abc import Iterator
from typing import Any

from . import kernels
from .compiling import NO_BINARY, OPTIONS_ATTRIBUTE
from .recorder import Recorder


class Capture:
    """Wraps `CompiledKernel.launch_metadata`, which every launch path calls.

    JITFunction.run calls it, and so does `compiled[grid](…)`, the direct launch that LibEntry-style caches use. What a
    cache directory holds is never consulted: losers of an autotuner lie there too.
    """

    def __init__(self, recorder: Recorder):
        self._recorder = recorder
        self._launches: list[int] | None = None
        self._paused = 0
        self._known: dict[int, int] = {}
        self._alive: list[Any] = []  # keeps captured handles, so that an id() is never reused
        self.configuration = ""
        """The autotuner's configuration that is being launched, if any; set by the pins."""

    def install(self) -> None:
        """Replace `launch_metadata` in this process."""
        from triton.compiler import CompiledKernel

        original = CompiledKernel.launch_metadata

        def launch_metadata(compiled: Any, *args: Any, **kwargs: Any) -> Any:
            self._launched(compiled)
            return original(compiled, *args, **kwargs)

        CompiledKernel.launch_metadata = launch_metadata

    @property
    def active(self) -> bool:
        """Whether launches are being collected."""
        return self._launches is not None and not self._paused

    def start(self) -> None:
        """Begin to collect the launches of one call. Raises RuntimeError while those of another are being collected."""
        if self._launches is not None:
            raise RuntimeError("the launches of another call are being collected")
        self._launches = []

    def stop(self) -> list[int]:
        """End the collection and return the kernel ids in launch order. Raises RuntimeError without a start."""
        if self._launches is None:
            raise RuntimeError("no launches are being collected")
        launches, self._launches = self._launches, None
        return launches

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leave out what is launched meanwhile, such as the candidates that an autotuner times."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    def _launched(self, compiled: Any) -> None:
        if self._launches is None or self._paused:
            return
        if not _loads(compiled):
            return
        number = self._known.get(id(compiled))
        if number is None:
            number = len(self._alive)
            self._known[id(compiled)] = number
            self._alive.append(compiled)
            self._record(number, compiled)
        self._launches.append(number)

    def _record(self, number: int, compiled: Any) -> None:
        asked = getattr(compiled, OPTIONS_ATTRIBUTE, None)
        options, source = asked or compiled.metadata._asdict(), compiled.asm.get(kernels.SOURCE)
        stages = {
            name: self._recorder.put_ir(name, content)
            for name, content in kernels.stages(compiled)
            if content != NO_BINARY
        }
        complete = any(content != NO_BINARY for name, content in kernels.stages(compiled) if isinstance(content, bytes))
        self._recorder.event(
            "kernel",
            id=number,
            shared=kernels.shared_bytes(compiled) if complete else None,
            **kernels.registers(compiled),
            configuration=self.configuration,
            stages=stages,
            source=None if source is None else self._recorder.put_ir(kernels.SOURCE, source),
            target=kernels.target_text(compiled),
            options=None if asked is None else kernels.compile_options(asked),
            **kernels.identity(compiled.src, options),
        )


def _loads(compiled: Any) -> bool:
    """Load the kernel, as its launch is about to do; one that does not fit is never launched, though a launch was tried.

    Raises Triton's OutOfResources as that launch would; newer Tritons then keep a launcher that raises it again.
    """
    return getattr(getattr(compiled.run, "func", None), "__name__", "") != "_raise_error"
