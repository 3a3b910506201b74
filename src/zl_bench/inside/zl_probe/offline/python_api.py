"""Parts of torch's Python API that ask for the accelerator before any dispatch mode could answer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .errors import NeedsDevice
from .routes import Routes

FACTORIES = [
    "empty",
    "empty_like",
    "empty_strided",
    "zeros",
    "zeros_like",
    "ones",
    "ones_like",
    "full",
    "full_like",
    "rand",
    "rand_like",
    "randn",
    "randn_like",
    "randint",
    "randint_like",
    "randperm",
    "arange",
    "linspace",
    "logspace",
    "eye",
    "tensor",
    "as_tensor",
    "tril_indices",
    "triu_indices",
    "scalar_tensor",
    "from_file",
    "hann_window",
    "hamming_window",
    "blackman_window",
    "bartlett_window",
    "kaiser_window",
    "complex",
    "normal",
]
NUMBERS = (bool, int, float, complex, list, tuple, range)
METHODS = ["new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full", "new_tensor", "to", "cuda"]


def install(torch: Any, device_type: str, routes: Routes) -> None:
    """Let device numbers mean the accelerator's, and pinned memory be plain memory, in torch's Python API."""
    for holder, name, position in ((torch, "tensor", 0), (torch, "as_tensor", 0), (torch.Tensor, "new_tensor", 1)):
        setattr(holder, name, _lifting(torch, getattr(holder, name), position, device_type, routes))
    for holder, names in ((torch, FACTORIES), (torch.Tensor, METHODS)):
        for name in names:
            original = getattr(holder, name, None)
            if original is not None:
                setattr(holder, name, _adapted(torch, original, device_type))
    _lift_sequences(torch, device_type, routes)
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
    torch.Tensor.is_pinned = lambda tensor, device=None: False
    torch.Tensor.record_stream = lambda tensor, stream: None
    torch.backends.cuda.is_built = lambda: True
    torch._C._cuda_getCurrentRawStream = lambda device: 0
    for name in ("can_use_flash_attention", "can_use_efficient_attention", "can_use_cudnn_attention"):
        if hasattr(torch.backends.cuda, name):
            setattr(torch.backends.cuda, name, _refusal(f"torch.backends.cuda.{name}"))
    torch.utils.dlpack.to_dlpack = torch.to_dlpack = _host_only(torch.to_dlpack, "torch.to_dlpack", device_type)


def _refusal(name: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise NeedsDevice(name)

    return refuse


def _host_only(original: Callable[..., Any], name: str, device_type: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(tensor: Any) -> Any:
        if tensor.device.type == device_type:
            raise NeedsDevice(name)
        return original(tensor)

    return call


def _lifting(
    torch: Any, original: Callable[..., Any], position: int, device_type: str, routes: Routes
) -> Callable[..., Any]:
    """The function with `lift_fresh` called where a card's torch calls it.

    A tensor made of Python numbers is first moved to the card and then lifted there, which a library may have taken
    over; here torch lifts it on the host, and then moves it. Tensors and arrays are not lifted.
    Source: `internal_new_from_data` in torch/csrc/utils/tensor_new.cpp.
    """

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        made = original(*args, **kwargs)
        if made.device.type != device_type or routes.find("aten::lift_fresh") is None:
            return made
        data = kwargs["data"] if "data" in kwargs else args[position]
        if not isinstance(data, NUMBERS):
            return made
        with torch._C._AutoDispatchBelowAutograd():
            lifted = torch.ops.aten.lift_fresh.default(made)
        return lifted.requires_grad_(made.requires_grad)

    return call


def _lift_sequences(torch: Any, device_type: str, routes: Routes) -> None:
    """Have a list among a tensor's indices lifted as a card's torch does, like a tensor made of numbers.

    Only flat lists and tuples of integers or of truth values: what a nested list means hangs on the torch.
    Source: `sequenceToVariable` in torch/csrc/autograd/python_variable_indexing.cpp.
    """
    from torch._subclasses.fake_tensor import FakeTensor

    get, put = torch.Tensor.__getitem__, torch.Tensor.__setitem__

    def lifted(tensor: Any, entry: Any) -> Any:
        if type(entry) not in (list, tuple) or not all(type(number) in (int, bool) for number in entry):
            return entry
        dtype = None if entry else torch.int64
        return torch.tensor(entry, dtype=dtype, device=tensor.device)

    def index_of(tensor: Any, index: Any) -> Any:
        if type(index) not in (list, tuple) or tensor.device.type != device_type:
            return index
        if routes.find("aten::lift_fresh") is None:
            return index
        return tuple(lifted(tensor, entry) for entry in index) if type(index) is tuple else lifted(tensor, index)

    FakeTensor.__getitem__ = lambda tensor, index: get(tensor, index_of(tensor, index))
    FakeTensor.__setitem__ = lambda tensor, index, value: put(tensor, index_of(tensor, index), value)


def _adapted(torch: Any, original: Callable[..., Any], device_type: str) -> Callable[..., Any]:
    """The function with a device number replaced by the device. `torch.device` itself can not be taken over."""
    takes_device_first = getattr(original, "__name__", "") in ("to", "cuda")

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        number = kwargs.get("device")
        if type(number) is int:
            kwargs["device"] = torch.device(device_type, number)
        if kwargs.get("pin_memory"):
            kwargs["pin_memory"] = False
        if takes_device_first and len(args) > 1 and type(args[1]) is int:
            args = (args[0], torch.device(device_type, args[1]), *args[2:])
        return original(*args, **kwargs)

    return call
