"""Runs a back end's pipelines one pass at a time, so that the IR after each pass can be seen.

A back end makes `ir.pass_manager(context)`, hands it to functions of libtriton that add a pass each, and runs it. Here it is
given a stand-in that takes the passes and runs each in a pass manager of its own, in their order: the names are then those
by which `pass:NAME@N` knows them, a failure names its pass, and nothing is parsed out of what Triton prints.
Source: triton/backends/*/compiler.py, and MLIR's pass management documentation: between passes a module is always whole,
and a pass that must share an analysis with the next one would not be one.
"""

from collections.abc import Callable
from typing import Any, Protocol

from .passes import ADD, Pipeline, pass_modules


class PassWatch(Protocol):
    """Who is told of each pass."""

    def pass_begins(self, name: str) -> None:
        """A pass is about to run."""

    def pass_ended(self, name: str, module: Any, left_out: bool) -> None:
        """It has run, or was left out; `module` is what there is now."""


class StepwisePassManager:
    """In the place of MLIR's pass manager."""

    def __init__(self, native: Callable[[Any], Any], context: Any, pipeline: Pipeline, watch: PassWatch):
        self._native = native
        self._context = context
        self._pipeline = pipeline
        self._watch = watch
        self._taken: list[tuple[str, Callable[[Any], Any]]] = []
        self._debug = False

    def enable_debug(self) -> Any:
        """As the native one: prints what Triton's own variables ask for, and says whether it does."""
        self._debug = True
        return self._native(self._context).enable_debug()

    def take(self, name: str, add: Callable[[Any], Any]) -> None:
        """Remember a pass. `add` adds it to a native pass manager."""
        self._taken.append((name, add))

    def run(self, module: Any, *arguments: Any) -> None:
        """Run the passes taken so far, one after the other. Raises what Triton raises when one fails."""
        taken, self._taken = self._taken, []
        for name, add in taken:
            manager = self._native(self._context)
            if self._debug:
                manager.enable_debug()
            left_out = self._pipeline.left_out
            self._watch.pass_begins(name)
            add(manager)
            manager.run(module, *arguments)
            self._watch.pass_ended(name, module, self._pipeline.left_out > left_out)


def install(pipeline: Pipeline, watch: PassWatch) -> None:
    """Have every pipeline of this process run stepwise. `pipeline` must have been installed before, if it is to be at all."""
    from triton._C import libtriton

    native = libtriton.ir.pass_manager
    for module in pass_modules(libtriton):
        for name, function in list(vars(module).items()):
            if callable(function) and not isinstance(function, type) and not name.startswith("_"):
                setattr(module, name, _taken_by_a_stand_in(name, function))
    libtriton.ir.pass_manager = lambda context: StepwisePassManager(native, context, pipeline, watch)


def _taken_by_a_stand_in(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but a stand-in that is given to it takes the pass instead."""

    def take_pass(*arguments: Any, **named: Any) -> Any:
        if not (arguments and isinstance(arguments[0], StepwisePassManager)):
            return function(*arguments, **named)
        manager, *rest = arguments
        manager.take(name.removeprefix(ADD), lambda real: function(real, *rest, **named))
        return None

    return take_pass
