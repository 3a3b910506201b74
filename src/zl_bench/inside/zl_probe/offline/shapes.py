"""Plausible shapes of results whose size hangs on values that nobody knows. Each one counts as a guess."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import NeedsDevice
from .values import guessed_count


def guess(native: Any, func: Any, args: Any, kwargs: Any, reason: Exception) -> Any:
    """The result of a selecting operator, as if half of the elements were selected. Raises NeedsDevice for others."""
    name = func.name().split("::", 1)[-1].split(".", 1)[0]
    if name == "geqrf" and not func.name().endswith(".a"):
        with native.mode.fake_mode:
            return _geqrf(native.torch, *args)
    make = SELECTING.get(name)
    if make is None or func.name().endswith("out"):
        raise NeedsDevice(func.name(), type(reason).__name__) from reason
    native.values.guesses += 1
    with native.mode.fake_mode:
        return make(native.torch, *args)


def _geqrf(torch: Any, tensor: Any) -> Any:
    """No guess: torch merely has no fake for it. The factor is column-major, as LAPACK makes it."""
    factor = torch.empty_like(tensor.mT, memory_format=torch.contiguous_format).mT
    rank = min(tensor.shape[-2:])
    return factor, torch.empty((*tensor.shape[:-2], rank), dtype=tensor.dtype, device=tensor.device)


def _nonzero(torch: Any, tensor: Any) -> Any:
    # aten makes the transposed result and returns a view of it.
    return torch.empty((tensor.dim(), guessed_count(tensor.numel())), dtype=torch.int64, device=tensor.device).t()


def _masked_select(torch: Any, tensor: Any, mask: Any) -> Any:
    shape = torch.broadcast_shapes(tensor.shape, mask.shape)
    elements = 1
    for extent in shape:
        elements *= extent
    return torch.empty((guessed_count(elements),), dtype=tensor.dtype, device=tensor.device)


def _unique(torch: Any, tensor: Any, *options: Any) -> Any:
    count = guessed_count(tensor.numel())
    values = torch.empty((count,), dtype=tensor.dtype, device=tensor.device)
    inverse = torch.empty(tuple(tensor.shape), dtype=torch.int64, device=tensor.device)
    return values, inverse, torch.empty((count,), dtype=torch.int64, device=tensor.device)


SELECTING: dict[str, Callable[..., Any]] = {
    "nonzero": _nonzero,
    "masked_select": _masked_select,
    "_unique2": _unique,
    "unique_consecutive": _unique,
}
