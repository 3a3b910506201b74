"""What aten itself does for an operator of the accelerator that no library has taken over.

A card's kernels for such operators are no Triton kernels and launch nothing here. But many of them call the dispatcher
again (`clone` copies, `zeros` fills), and what they call may be a library's. Operators that aten composes in C++ for every
device are run as they are, on the fake tensors; those which only CUDA composes are re-enacted by `composed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from . import composed, shapes, views
from .errors import NeedsDevice
from .leaves import make_leaves
from .operations import NATIVE, VIEW, Operations
from .signatures import Signatures, base_name
from .values import LIMIT, HostValues

REFERENCE_FAILURES = (RuntimeError, NotImplementedError, TypeError, ValueError, IndexError)
RANDOM = frozenset(
    [
        "normal_",
        "uniform_",
        "random_",
        "bernoulli_",
        "exponential_",
        "geometric_",
        "cauchy_",
        "log_normal_",
        "native_dropout",
        "_fused_dropout",
        "bernoulli",
        "randperm",
        "multinomial",
        "poisson",
        "binomial",
        "_sample_dirichlet",
        "_standard_gamma",
        "rrelu_with_noise",
        "rrelu_with_noise_",
    ]
)
"""Operators whose CUDA kernels draw from the generator themselves."""
OVERWRITING = frozenset(
    [
        "copy_",
        "fill_",
        "zero_",
        "normal_",
        "uniform_",
        "random_",
        "exponential_",
        "bernoulli_",
        "geometric_",
        "cauchy_",
        "log_normal_",
    ]
)
"""In-place operators that keep nothing of what their first argument held."""
HOST_FACTORIES = frozenset(
    ["rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "normal"]
)
SEQUENCES = frozenset(["arange", "range", "linspace"])
INTERNAL = "INTERNAL ASSERT FAILED"
RANDOM_LIMIT = 1 << 22
"""Elements of a random tensor of the host above which it is not made."""
SEQUENCE_LIMIT = 1 << 28
"""Elements of a sequence of numbers of the host above which it is not made: it takes seconds, and gigabytes."""
PLAUSIBLE = {"aten::any": False, "aten::any.dim": False, "aten::all": True, "aten::all.dim": True, "aten::equal": True}
"""What the answers of these are supposed to be where they are not known: suites and libraries check arguments by them."""
LEAVES = frozenset(
    ["copy_", "empty_like", "_unsafe_view", "lift_fresh", "lift", "set_data", "resize_", "record_stream"]
)
"""Composite explicit operators that launch nothing through the dispatcher, or that `composed` knows better."""


class Native:
    """Runs operators on fake tensors, and beside them on what is known of their values."""

    def __init__(
        self, torch: Any, mode: Any, device_type: str, values: HostValues, philox: Any, operations: Operations
    ) -> None:
        from torch._subclasses.fake_tensor import (
            DataDependentOutputException,
            DynamicOutputShapeException,
            FakeTensor,
            UnsupportedFakeTensorException,
            UnsupportedOperatorException,
        )
        from torch.utils._pytree import tree_leaves, tree_map

        self.torch = torch
        self.mode = mode
        self.values = values
        self.device_type = device_type
        self.fake_tensor = FakeTensor
        self._philox = philox
        self._operations = operations
        self._leaves, self._map = tree_leaves, tree_map
        self._call_leaves = make_leaves(torch, FakeTensor)
        self._unmade = UnsupportedFakeTensorException
        self._unanswerable = (
            DataDependentOutputException,
            DynamicOutputShapeException,
            UnsupportedOperatorException,
            NotImplementedError,
        )
        self._kinds: dict[Any, str] = {}
        self._signatures = Signatures(torch)
        self._views = views.FastViews(torch, mode.fake_mode)

    def call(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Do what aten would. Expects the mode to be inactive; what aten would dispatch sees it again."""
        try:
            return self._call(func, args, kwargs)
        except self._unmade as error:  # a quantised tensor, say
            raise NeedsDevice(func.name(), f"the stand-in has no such tensor ({error})") from error
        except RuntimeError as error:
            if INTERNAL in str(error):  # a part of torch that takes the accelerator's tensors for its own
                raise NeedsDevice(func.name(), "torch refuses the stand-in's tensors there") from error
            raise

    def _call(self, func: Any, args: Any, kwargs: Any) -> Any:
        kind = self._kinds.get(func)
        if kind is None:
            kind = self._kinds[func] = self._kind(func)
        if kind == "composed":
            with self.mode.autograd_as_found(func):
                result = composed.TABLE[base_name(func)](self, func, args, kwargs)
            if result is not NotImplemented:
                if not self.mode.is_composite(func):
                    self._operations.note(func.name(), NATIVE)
                return result
        elif kind == "explicit":
            with self.mode, self.mode.autograd_as_found(func):
                return func._op_dk(self.torch._C.DispatchKey.CompositeExplicitAutograd, *args, **kwargs)
        elif kind == "implicit":
            with self.mode, self.mode.autograd_as_found(func):
                return func.decompose(*args, **kwargs)
        elif kind == "functional":
            with self.mode, self.mode.autograd_as_found(func):
                return func._op_dk(self.torch._C.DispatchKey.CompositeExplicitAutogradNonFunctional, *args, **kwargs)
        return self.leaf(func, args, kwargs)

    def on_host(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run an operator that has nothing to do with the accelerator.

        Gigabytes of random numbers of the host are not drawn: such a tensor is fake too, its values being anybody's guess.
        Neither are gigabytes of a sequence counted out.
        """
        name = base_name(func)
        if name == "_pin_memory":  # pinned memory is plain memory here
            return args[0]
        kwargs = {**kwargs, "pin_memory": False} if kwargs.get("pin_memory") else kwargs
        random = name in HOST_FACTORIES and self.torch.Tag.nondeterministic_seeded in func.tags
        if (random or name in SEQUENCES) and "out" not in kwargs:
            with self.mode.fake_mode:
                fake = func(*args, **kwargs)
            if fake.numel() > (RANDOM_LIMIT if random else SEQUENCE_LIMIT):
                return fake
        return func(*args, **kwargs)

    def leaf(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Run one operator whose kernel dispatches nothing."""
        self._operations.note(func.name(), VIEW if func.is_view else NATIVE)
        if base_name(func) in RANDOM:
            self._draw(args, kwargs)
        self._refuse_writing_to_host(func, args, kwargs)
        if func.is_view:
            view = self._views.make(func, args, kwargs)
            if view is not None:
                return view
        numbers, args = args, self._numbers_as_tensors(func, args)
        try:
            with self.mode.fake_mode:
                result = func(*(numbers if self._numbers_tell_the_same(func, args) else args), **kwargs)
        except self._unanswerable as exception:
            return self._by_values(func, args, kwargs, exception)
        if not func.is_view:
            self.learn(func, args, kwargs, result)
        return result

    def _numbers_as_tensors(self, func: Any, args: Any) -> Any:
        """Undo what the dispatcher did on the way to Python: a number that aten had wrapped as a tensor came as a number."""
        found = [
            position
            for position in self._signatures.of(func).tensors
            if position < len(args) and isinstance(args[position], (bool, int, float, complex))
        ]
        if not found:
            return args
        return tuple(self.torch.tensor(value) if place in found else value for place, value in enumerate(args))

    def _numbers_tell_the_same(self, func: Any, args: Any) -> bool:
        """Whether a number in a tensor's place has the fake operator find the same shape and dtype as a tensor of no
        dimension would: beside a tensor that has some. Torch's fake mode keeps such results, and none of host tensors.
        """
        return self._signatures.of(func).takes_numbers and any(
            isinstance(value, self.fake_tensor) and value.dim() > 0 for value in args
        )

    def written(self, func: Any, args: Any, kwargs: Any) -> Iterator[Any]:
        """The tensors that the operator's schema says it writes."""
        for position, name in self._signatures.of(func).written:
            value = args[position] if position < len(args) else kwargs.get(name)
            yield from (leaf for leaf in self._leaves(value) if isinstance(leaf, self.torch.Tensor))

    def expect_overwrites(self, func: Any, args: Any, kwargs: Any) -> None:
        """Before an operator that writes over all of a tensor: what the tensor held is no input."""
        if base_name(func) in OVERWRITING:
            self.values.expect_overwrite(args[0])
        elif func._schema.is_mutable and isinstance(kwargs.get("out"), self.fake_tensor):
            self.values.expect_overwrite(kwargs["out"])

    def rests_on_guess(self, func: Any, args: Any, kwargs: Any) -> bool:
        """Whether the values of this call's result are a guess: drawn by the device, or computed from such."""
        if self.torch.Tag.nondeterministic_seeded in func.tags:
            return True
        return any(self.values.is_guessed(fake) for fake in self._fakes(args, kwargs))

    def fake_like(self, real: Any, device: Any) -> Any:
        """A fake tensor of the accelerator with a host tensor's shape, strides, dtype and values."""
        with self.mode.fake_mode:
            fake = self.torch.empty_strided(real.size(), real.stride(), dtype=real.dtype, device=device)
        self.values.attach(fake, real)
        return fake

    def _kind(self, func: Any) -> str:
        has_kernel = self.torch._C._dispatch_has_kernel_for_dispatch_key
        name = base_name(func)
        if func.namespace == "aten" and name in composed.TABLE:
            return "composed"
        if name in LEAVES or func.namespace == "prim":
            return "leaf"
        if has_kernel(func.name(), "CompositeImplicitAutograd"):
            return "implicit"
        if func.is_view:
            return "leaf"
        if has_kernel(func.name(), "CompositeExplicitAutograd"):
            return "explicit"
        # An operator that has kernels for devices is composed only where it has none; the host's tell of the accelerator's.
        composed_only = not has_kernel(func.name(), "CPU")
        return (
            "functional"
            if composed_only and has_kernel(func.name(), "CompositeExplicitAutogradNonFunctional")
            else "leaf"
        )

    def _fakes(self, args: Any, kwargs: Any) -> list[Any]:
        return [leaf for leaf in self._call_leaves(args, kwargs) if isinstance(leaf, self.fake_tensor)]

    def learn(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        """Compute the values beside the shapes when all inputs' are known and small; else forget what was written."""
        outputs = [leaf for leaf in self._leaves(result) if isinstance(leaf, self.fake_tensor)]
        written = list(self.written(func, args, kwargs))
        if not outputs and not written:
            return
        inputs = self._fakes(args, kwargs)
        small = all(output.numel() <= LIMIT for output in outputs)
        if small and base_name(func).startswith(("empty", "new_empty")):
            # What is read before it is written has no meaning; parts of it may get values one by one.
            for output in outputs:
                self.values.expect_overwrite(output)
        elif small:
            self.expect_overwrites(func, args, kwargs)
            known = all(fake.numel() <= LIMIT and self.values.known(fake) is not None for fake in inputs)
            if known and self._compute(func, args, kwargs, result, written):
                return
        for tensor in written:
            if isinstance(tensor, self.fake_tensor):
                self.values.forget(tensor)
        self.suppose(func, result)

    def suppose(self, func: Any, result: Any) -> Any:
        """A check whose outcome nobody knows is supposed to find nothing wrong; it counts when it is asked for."""
        answer = PLAUSIBLE.get(func.name())
        if answer is None:
            return result
        if isinstance(result, bool):
            self.values.guesses += 1
            return answer
        if isinstance(result, self.fake_tensor) and result.dtype == self.torch.bool:
            self.values.attach(result, self.torch.full(tuple(result.shape), answer), guessed=True)
        return result

    def _compute(self, func: Any, args: Any, kwargs: Any, result: Any, written: list[Any]) -> bool:
        guessed = self.rests_on_guess(func, args, kwargs)
        host_args, host_kwargs = self._map(self.mode.on_host, (args, kwargs))
        try:
            with self.values.drawing(func):
                expected = self._leaves(func(*host_args, **host_kwargs))
        except REFERENCE_FAILURES:
            return False
        in_place = {id(tensor) for tensor in written}
        outputs = self._leaves(result)
        if len(outputs) == len(expected):
            for fake, real in zip(outputs, expected, strict=True):
                fresh = isinstance(fake, self.fake_tensor) and id(fake) not in in_place
                if fresh and isinstance(real, self.torch.Tensor):
                    self.values.attach(fake, real, guessed)
        if guessed:
            self.values.mark_guessed(tensor for tensor in written if isinstance(tensor, self.fake_tensor))
        return True

    def _by_values(self, func: Any, args: Any, kwargs: Any, reason: Exception) -> Any:
        """An operator whose result's shape hangs on values, or that has no fake: run it on values, or guess the shape."""
        fakes = self._fakes(args, kwargs)
        if any(fake.numel() > LIMIT and self.values.known(fake) is None for fake in fakes):
            return shapes.guess(self, func, args, kwargs, reason)
        needed = {id(fake): self.values.needed(fake, func.name()) for fake in fakes}
        host = self._map(lambda leaf: needed.get(id(leaf), self.mode.on_host(leaf)), (args, kwargs))
        try:
            result = func(*host[0], **host[1])
        except NotImplementedError:
            raise NeedsDevice(func.name(), type(reason).__name__) from reason
        for tensor in self.written(func, args, kwargs):
            if isinstance(tensor, self.fake_tensor) and tensor.shape != needed[id(tensor)].shape:
                raise NeedsDevice(func.name(), "it resizes its output to fit values") from reason
        device = self.torch.device(self.device_type, 0)
        originals = {id(real): fake for fake in fakes for real in (needed[id(fake)],)}

        def faked(leaf: Any) -> Any:
            if not isinstance(leaf, self.torch.Tensor):
                return leaf
            if leaf.layout != self.torch.strided or leaf.is_quantized:
                raise NeedsDevice(func.name(), f"a {leaf.layout} tensor has no stand-in") from reason
            return originals.get(id(leaf)) if id(leaf) in originals else self.fake_like(leaf, device)

        return self._map(faked, result)

    def _draw(self, args: Any, kwargs: Any) -> None:
        generator = kwargs.get("generator")
        philox = getattr(generator, "philox", None) or self._philox
        first = next(iter(self._fakes(args, kwargs)), None)
        if first is not None:
            philox.draw(first.numel(), 2 if first.dtype == self.torch.float64 else 4)

    def _refuse_writing_to_host(self, func: Any, args: Any, kwargs: Any) -> None:
        """An in-place operator would leave stale values in a real tensor and nobody would know."""
        for tensor in self.written(func, args, kwargs):
            if not isinstance(tensor, self.fake_tensor):
                raise NeedsDevice(str(func), "writes values of the device into a tensor of the host")
