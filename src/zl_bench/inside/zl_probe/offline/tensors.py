"""Accelerator tensors without values: shapes, types, strides and addresses, on top of torch's FakeTensorMode.

Only what touches the accelerator is faked. Tensors of the host stay real and keep their values, so a suite's own
bookkeeping goes on working; a value that would have to come from the accelerator raises NeedsDevice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import NeedsDevice
from .operations import Operations
from .pointers import AddressSpace
from .targets import Target
from .values import HostValues


@dataclass(frozen=True)
class Observed:
    """What can be asked of an installed accelerator: the values of its tensors, with guesses counted, and its calls."""

    values: HostValues
    operations: Operations


def install(target: Target) -> Observed | None:
    """Give this thread's torch an accelerator for the target, until the process ends. Torch must be importable.

    Returns None for a target whose device type torch itself does not have, which is left to the vendor's own torch.
    """
    from .driver import torch_device_type

    device_type = torch_device_type(target)
    if device_type != "cuda":
        return None
    import torch

    from . import autograd, cudnn, generators, python_api, subclass_checks, torch_cuda, writes
    from .mode import make_mode
    from .routes import Routes
    from .values import HostValues

    generator, generator_class = generators.make_generators(target, torch)
    values, operations = HostValues(torch), Operations()
    routes = Routes(device_type.upper(), operations, whole=subclass_checks.OVERLOADS)
    # First, since making a fake mode imports torch._dynamo, which takes stock of torch.cuda's functions.
    mode = make_mode(device_type, routes, values, generator.philox, operations)
    torch_cuda.install(target, generator)
    torch.Generator = generator_class
    _neutralise_device_initialisation(torch)
    _give_addresses()
    _give_lists(torch, values)
    _redispatch_through(torch, mode)
    autograd.install(torch, lambda tensor: tensor.device.type == device_type)
    python_api.install(torch, device_type, routes)
    mode.kept = [*cudnn.install(torch, target), subclass_checks.register(torch, device_type.upper())]
    routes.install()
    writes.watch(values.forget)
    # Kept for good: nothing leaves this mode again before the process ends.
    mode.__enter__()
    _check_honesty(torch)
    return Observed(values, operations)


def _neutralise_device_initialisation(torch: Any) -> None:
    from torch._subclasses import fake_tensor

    # FakeTensor would warm up the device's context with a real tensor.
    if hasattr(fake_tensor, "init_gpu_context"):
        fake_tensor.init_gpu_context = lambda device: None
    # torch.tensor(…, device=…) must make a host tensor first and move it through the dispatcher, where the mode sees it.
    torch._C._set_only_lift_cpu_tensors(True)
    _set_device_guard(torch)


def _set_device_guard(torch: Any) -> None:
    """Give CUDA a device guard that does nothing; without one, every slice of a CUDA tensor fails or aborts, in C++.

    Torch makes such a guard on demand, but only in the place of one that counts no devices, and a build without CUDA has
    none at all there. So for the time of that one call it is shown an object whose every virtual function returns 0.
    The registry is an exported array of one pointer per device type, in the order of c10::DeviceType: CPU, CUDA.
    """
    import ctypes

    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):
        return
    library = Path(torch.__file__).parent / "lib" / "libc10.so"
    try:
        registry = (ctypes.c_void_p * 2).in_dll(ctypes.CDLL(str(library)), "_ZN3c104impl26device_guard_impl_registryE")
    except (OSError, ValueError):  # another torch keeps it elsewhere; _check_honesty sees whether that matters
        torch._C._ensureCUDADeviceGuardSet()
        return
    counts_none = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(lambda this: 0)
    functions = (ctypes.c_void_p * 64)(*[ctypes.cast(counts_none, ctypes.c_void_p).value] * 64)
    guard = ctypes.c_void_p(ctypes.addressof(functions))
    if not registry[1]:
        registry[1] = ctypes.addressof(guard)
    torch._C._ensureCUDADeviceGuardSet()
    if registry[1] == ctypes.addressof(guard):
        registry[1] = None


def _give_lists(torch: Any, values: HostValues) -> None:
    """Answer `tolist` at once; torch would ask for each element."""
    from torch._subclasses.fake_tensor import FakeTensor

    def tolist(tensor: Any) -> Any:
        with torch.utils._python_dispatch._disable_current_modes():
            return values.needed(tensor, "Tensor.tolist").tolist()

    FakeTensor.tolist = tolist


def _redispatch_through(torch: Any, mode: Any) -> None:
    """A library's function that hands a call back to aten's own kernel must not reach a kernel which is not there."""
    from torch._subclasses.fake_tensor import FakeTensor
    from torch.utils._pytree import tree_leaves

    original = torch._ops.OpOverload.redispatch

    def redispatch(overload: Any, keyset: Any, /, *args: Any, **kwargs: Any) -> Any:
        if any(_on_accelerator(leaf, FakeTensor, torch) for leaf in tree_leaves((args, kwargs))):
            return mode.redispatched(overload, args, kwargs)
        return original(overload, keyset, *args, **kwargs)

    torch._ops.OpOverload.redispatch = redispatch


def _on_accelerator(leaf: Any, fake_tensor: type, torch: Any) -> bool:
    return isinstance(leaf, fake_tensor) or (isinstance(leaf, torch.device) and leaf.type == "cuda")


def _check_honesty(torch: Any) -> None:
    """Refuse a torch under which a tensor asked for on the accelerator would silently stay on the host, or fail."""
    host = torch.ones(2)
    made = [host.cuda(), host.to("cuda"), torch.tensor([1.0, 2.0], device="cuda"), torch.empty(2, device="cuda")]
    for tensor in made:
        if tensor[1:].device != torch.device("cuda", 0):
            raise NeedsDevice(f"torch {torch.__version__}", "the stand-in can not keep its tensors on the device")


def _give_addresses() -> None:
    """Answer `data_ptr` as the card would: an aligned base per storage, plus the offset; 0 for an empty tensor."""
    from torch._subclasses.fake_tensor import FakeTensor

    addresses = AddressSpace()

    def data_ptr(tensor: Any) -> int:
        if tensor.numel() == 0:
            return 0
        return addresses.base(tensor.untyped_storage()) + int(tensor.storage_offset()) * int(tensor.element_size())

    def no_values(name: str) -> Callable[..., Any]:
        def refuse(tensor: Any, *arguments: Any, **options: Any) -> Any:
            raise NeedsDevice(f"Tensor.{name}")

        return refuse

    FakeTensor.data_ptr = data_ptr
    FakeTensor.names = property(lambda tensor: (None,) * tensor.dim())  # torch has none for a subclass like it
    for name in ("numpy", "__array__", "__dlpack__"):
        setattr(FakeTensor, name, no_values(name))
    FakeTensor.__cuda_array_interface__ = property(no_values("__cuda_array_interface__"))
