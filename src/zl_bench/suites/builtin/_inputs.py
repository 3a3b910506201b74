"""Inputs of the benchmarks: tensors on the accelerator, by shape and dtype name."""

import torch

DEVICE = "cuda"


def values(shape, dtype):
    """A tensor of normally distributed values (floating point) or of integers from 0 to 99."""
    kind = getattr(torch, dtype)
    if kind.is_floating_point:
        return torch.randn(shape, device=DEVICE, dtype=kind)
    return torch.randint(0, 100, shape, device=DEVICE, dtype=kind)


def indices(count, below):
    """`count` integers from 0 to `below` - 1."""
    return torch.randint(0, below, (count,), device=DEVICE, dtype=torch.int64)


def empty(shape, dtype):
    """An uninitialised tensor; `dtype` is a name or a torch.dtype."""
    kind = getattr(torch, dtype) if isinstance(dtype, str) else dtype
    return torch.empty(shape, device=DEVICE, dtype=kind)


def zeros(shape, dtype):
    """A tensor of zeros."""
    return torch.zeros(shape, device=DEVICE, dtype=getattr(torch, dtype))
