"""Parts of torch's Python API that ask for the accelerator before any dispatch mode could answer."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

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
METHODS = ["new_empty", "new_empty_strided", "new_zeros", "new_ones", "new_full", "new_tensor", "to"]


def install(torch: Any, device_type: str) -> None:
    """Let device numbers mean the accelerator's, and pinned memory be plain memory, in torch's Python API."""
    for holder, names in ((torch, FACTORIES), (torch.Tensor, METHODS)):
        for name in names:
            original = getattr(holder, name, None)
            if original is not None:
                setattr(holder, name, _adapted(torch, original, device_type))
    torch.Tensor.pin_memory = lambda tensor, device=None: tensor
    torch.Tensor.is_pinned = lambda tensor, device=None: False


def _adapted(torch: Any, original: Callable[..., Any], device_type: str) -> Callable[..., Any]:
    """The function with a device number replaced by the device. `torch.device` itself can not be taken over."""
    takes_device_first = getattr(original, "__name__", "") == "to"

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
