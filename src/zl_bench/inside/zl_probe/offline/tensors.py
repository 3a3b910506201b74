"""Accelerator tensors without values: shapes, types, strides and addresses, on top of torch's FakeTensorMode.

Only what touches the accelerator is faked. Tensors of the host stay real and keep their values, so a suite's own
bookkeeping goes on working; a value that would have to come from the accelerator raises NeedsDevice.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .errors import NeedsDevice
from .pointers import AddressSpace
from .targets import Target


def install(target: Target) -> None:
    """Give this thread's torch an accelerator for the target, until the process ends. Torch must be importable.

    Targets whose device type torch itself does not have are left to the vendor's own torch.
    """
    from .driver import torch_device_type

    device_type = torch_device_type(target)
    if device_type != "cuda":
        return
    _hide_real_cards()
    import torch

    from . import torch_cuda

    # First, since making a fake mode imports torch._dynamo, which takes stock of torch.cuda's functions.
    mode = _make_mode(device_type)
    torch_cuda.install(target)
    _neutralise_device_initialisation(torch)
    _give_addresses()
    # Kept for good: nothing leaves this mode again before the process ends.
    mode.__enter__()
    _check_honesty(torch)


def _hide_real_cards() -> None:
    """Whatever this process still starts, it can not open a card that the machine may have."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        os.environ[name] = "-1"


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
        storage = tensor.untyped_storage()
        base = addresses.base(storage._cdata, storage.nbytes())
        return base + int(tensor.storage_offset()) * int(tensor.element_size())

    def no_values(name: str) -> Callable[..., Any]:
        def refuse(tensor: Any, *arguments: Any, **options: Any) -> Any:
            raise NeedsDevice(f"Tensor.{name}")

        return refuse

    FakeTensor.data_ptr = data_ptr
    for name in ("numpy", "__array__", "__dlpack__"):
        setattr(FakeTensor, name, no_values(name))


def _make_mode(device_type: str) -> Any:
    """The dispatch mode that stands between the suite and aten.

    What a later stand-in knows better than shapes (values of small tensors, operators that a library routes elsewhere)
    belongs into its `__torch_dispatch__`, above the fake mode.
    """
    import torch
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensor,
        FakeTensorMode,
        UnsupportedOperatorException,
    )
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils._pytree import tree_leaves

    unanswerable = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)

    class DevicelessFakeMode(FakeTensorMode):
        """A fake mode that never believes a device to be there, whatever torch.cuda answers."""

        avoid_device_init = property(lambda self: True)

    class StandInAccelerator(TorchDispatchMode):
        def __init__(self) -> None:
            super().__init__()
            self.fake_mode = DevicelessFakeMode(allow_fallback_kernels=False, allow_non_fake_inputs=True)

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            leaves = tree_leaves((args, kwargs))
            if not any(_is_accelerated(leaf) for leaf in leaves):
                return func(*args, **kwargs)
            _refuse_writing_to_host(func, args, kwargs)
            try:
                with self.fake_mode:
                    return func(*args, **kwargs)
            except unanswerable as exception:
                raise NeedsDevice(str(func), type(exception).__name__) from exception

    def _is_accelerated(leaf: Any) -> bool:
        return isinstance(leaf, FakeTensor) or (isinstance(leaf, torch.device) and leaf.type == device_type)

    def _refuse_writing_to_host(func: Any, args: Any, kwargs: Any) -> None:
        """An in-place operator would leave stale values in a real tensor and nobody would know."""
        for position, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[position] if position < len(args) else kwargs.get(argument.name)
            for leaf in tree_leaves(value):
                if isinstance(leaf, torch.Tensor) and not isinstance(leaf, FakeTensor):
                    raise NeedsDevice(str(func), "writes values of the device into a tensor of the host")

    return StandInAccelerator()
