"""Takes a TTGIR pass out of the installed Triton's pipeline, or lists the passes that a pipeline adds.

A back end builds its pipeline by calling `add_<pass>(pm, …)` through Python module objects (`passes.ttgpuir`, and the
vendor's own `nvidia.passes.…`, `amd.passes.…`), so replacing such an attribute in this process removes the pass.
Source: triton/backends/*/compiler.py, `make_ttgir`.
"""

from collections.abc import Callable, Collection, Iterator
from types import ModuleType
from typing import Any

ADD = "add_"


class PassNotFound(Exception):
    """The installed Triton has no pass of that name."""


def pass_modules(root: Any, seen: set[int] | None = None, depth: int = 0) -> Iterator[ModuleType]:
    """Every native sub-module of libtriton that offers passes."""
    seen = set() if seen is None else seen
    for value in list(vars(root).values()):
        if not isinstance(value, ModuleType) or id(value) in seen or depth > 4:
            continue
        if not value.__name__.startswith(root.__name__.split(".")[0]):
            continue
        seen.add(id(value))
        if any(name.startswith(ADD) for name in vars(value)):
            yield value
        yield from pass_modules(value, seen, depth + 1)


def _pass_functions() -> Iterator[tuple[ModuleType, str]]:
    from triton._C import libtriton

    for module in pass_modules(libtriton):
        for name, value in list(vars(module).items()):
            if name.startswith(ADD) and callable(value):
                yield module, name


class Pipeline:
    """Watches the passes of each TTGIR pipeline as it is built, and leaves one out if asked to.

    `occurrence` counts from 1 within one pipeline, and may be several; None leaves out all of them. Passes added by other
    stages are not touched: `pass:` speaks of TTGIR.
    """

    def __init__(self, drop: str | None = None, occurrence: int | Collection[int] | None = None):
        self.drop = drop
        self.occurrences = (occurrence,) if isinstance(occurrence, int) else occurrence
        self.added: list[str] = []
        self.left_out = 0
        """How many passes were left out so far."""
        self._watching = False
        self._seen = 0

    def install(self) -> None:
        """Wrap every `add_` function. Raises PassNotFound when the pass to drop does not exist in this Triton."""
        found = False
        for module, name in list(_pass_functions()):
            found = found or name == ADD + (self.drop or "")
            setattr(module, name, self._wrapped(name[len(ADD) :], getattr(module, name)))
        if self.drop and not found:
            raise PassNotFound(self.drop)

    def start_stage(self, stage: str) -> None:
        """Called before each stage of a compile."""
        self._watching = stage == "ttgir"
        self._seen = 0

    def _wrapped(self, name: str, add: Callable[..., Any]) -> Callable[..., Any]:
        def add_pass(*args: Any, **kwargs: Any) -> Any:
            if self._watching:
                self.added.append(name)
                if name == self.drop:
                    self._seen += 1
                    if self.occurrences is None or self._seen in self.occurrences:
                        self.left_out += 1
                        return None
            return add(*args, **kwargs)

        return add_pass
