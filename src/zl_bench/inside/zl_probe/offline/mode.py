"""The dispatch mode that stands between a suite and aten, where a card's dispatcher would be.

It sees every aten operator below autograd. One that a library has registered for the accelerator goes to the library's
function; any other goes to `native`, which does what aten's own kernels would do. Both see the mode again in what they
call, so that nested calls are routed as on a card.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .errors import card_refused
from .leaves import make_leaves
from .native import Native
from .operations import LIBRARY, Operations
from .routes import Route, Routes
from .values import LIMIT, HostValues

REFERENCE_FAILURES = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
"""What an operator of the host may raise for arguments which the accelerator's would take."""

SCALARS = (bool, int, float)


def make_mode(device_type: str, routes: Routes, values: HostValues, philox: Any, operations: Operations) -> Any:
    """The mode, to be entered once and kept. Imports torch's fake tensors."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves, tree_map

    leaves = make_leaves(torch, FakeTensor)
    device_query = torch.ops.prim.device.default

    class DevicelessFakeMode(FakeTensorMode):
        """A fake mode that never believes a device to be there, whatever torch.cuda answers."""

        avoid_device_init = property(lambda self: True)

    class StandInAccelerator(TorchDispatchMode):
        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Keeps torch from wrapping each dispatch in what hides it from torch.compile, for which nothing compiles here.
            return False

        def __init__(self) -> None:
            super().__init__()
            self.fake_mode = DevicelessFakeMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)
            self.values = values
            self.native = Native(torch, self, device_type, values, philox, operations)
            self._composite: dict[Any, bool] = {}
            self._below_autograd = False

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is device_query and isinstance(args[0], FakeTensor):
                return args[0].fake_device
            kwargs = kwargs or {}
            with card_refused(func.name()):
                if not any(is_accelerated(leaf) for leaf in leaves(args, kwargs)):
                    return self.native.on_host(func, args, kwargs)
                route = routes.find(func.name())
                if route is None:
                    return self.native.call(func, args, kwargs)
                return self._routed(func, route, args, kwargs)

        def redispatched(self, func: Any, args: Any, kwargs: Any) -> Any:
            """A library's function asks for aten's own kernel, from inside a route."""
            below_autograd = torch._C._AutoDispatchBelowAutograd()
            with card_refused(func.name()), torch.utils._python_dispatch._disable_current_modes(), below_autograd:
                return self.native.call(func, args, kwargs)

        def _routed(self, func: Any, route: Route, args: Any, kwargs: Any) -> Any:
            operations.note(func.name(), LIBRARY)
            reference = self._reference_arguments(func, args, kwargs)
            with self, self.autograd_as_found(func):
                result = route(*args, **kwargs)
            if reference is not None:
                return self._learn(func, args, kwargs, result, reference)
            return self.native.suppose(func, result)

        @contextmanager
        def autograd_as_found(self, func: Any) -> Iterator[None]:
            """For what an operator calls: autograd as it was before the operator, where autograd has not recorded it.

            The dispatcher hides autograd from a mode. On a card it does not hide it from a composite operator, unless that
            was itself called by an operator that autograd had recorded.
            """
            if self.is_composite(func) and not self._below_autograd:
                with torch.overrides.enable_reentrant_dispatch():
                    yield
                return
            before, self._below_autograd = self._below_autograd, True
            try:
                yield
            finally:
                self._below_autograd = before

        def is_composite(self, func: Any) -> bool:
            """Whether torch decomposes the operator before autograd sees it, for every device."""
            if func not in self._composite:
                has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
                self._composite[func] = has_kernel(func.name(), "CompositeImplicitAutograd") and not (
                    has_kernel(func.name(), "Autograd") or has_kernel(func.name(), f"Autograd{device_type.upper()}")
                )
            return self._composite[func]

        def _reference_arguments(self, func: Any, args: Any, kwargs: Any) -> Any:
            """Copies of the arguments' values for aten's own operator on the host; None when some are not known."""
            if func.is_view:
                return None
            fakes = [leaf for leaf in leaves(args, kwargs) if isinstance(leaf, FakeTensor)]
            self.native.expect_overwrites(func, args, kwargs)
            if not all(fake.numel() <= LIMIT and values.known(fake) is not None for fake in fakes):
                return None
            return tree_map(lambda leaf: self.on_host(leaf, copied=True), (args, kwargs))

        def _learn(self, func: Any, args: Any, kwargs: Any, result: Any, reference: Any) -> Any:
            """The routed function's result has the values that aten's operator gives on the host."""
            outputs = tree_leaves(result)
            if any(isinstance(output, torch.Tensor) and output.numel() > LIMIT for output in outputs):
                return result
            guessed = self.native.rests_on_guess(func, args, kwargs)
            try:
                with values.drawing(func):
                    expected = func(*reference[0], **reference[1])
            except REFERENCE_FAILURES:
                return result
            if isinstance(result, SCALARS) and type(result) is type(expected):
                return expected
            before, after = leaves(args, kwargs), tree_leaves(reference)
            if len(before) == len(after):
                written = {id(value) for value in self.native.written(func, args, kwargs)}
                for fake, real in zip(before, after, strict=True):
                    if id(fake) in written and isinstance(fake, FakeTensor):
                        values.attach(fake, real, guessed)
            expectations = tree_leaves(expected)
            if len(outputs) == len(expectations):
                for fake, real in zip(outputs, expectations, strict=True):
                    if isinstance(fake, FakeTensor) and isinstance(real, torch.Tensor):
                        values.attach(fake, real, guessed)
            return result

        def on_host(self, leaf: Any, copied: bool = False) -> Any:
            """An argument as the host's operator takes it. Values of fake tensors must be known."""
            if isinstance(leaf, FakeTensor):
                known: Any = values.known(leaf)
                return known.clone() if copied else known
            if isinstance(leaf, torch.device) and leaf.type == device_type:
                return torch.device("cpu")
            return None if isinstance(leaf, torch.Generator) else leaf

    def is_accelerated(leaf: Any) -> bool:
        return isinstance(leaf, FakeTensor) or (isinstance(leaf, torch.device) and leaf.type == device_type)

    return StandInAccelerator()
