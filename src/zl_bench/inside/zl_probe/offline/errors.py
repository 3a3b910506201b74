"""What the stand-in device raises when an honest answer would need a card."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class NeedsDevice(Exception):
    """The stand-in can not do this without inventing a result.

    `operation` names what was asked for, in the terms of the caller: an aten operator, a function of torch.cuda.
    """

    def __init__(self, operation: str, reason: str = "") -> None:
        self.operation = operation
        self.reason = reason
        message = f"{operation} needs a device: the stand-in computes no values"
        super().__init__(f"{message} ({reason})" if reason else message)


class TargetError(ValueError):
    """A target text that can not be compiled for, and what could."""


class AlreadyInstalled(RuntimeError):
    """A process can have one stand-in device, and it has another already."""


CARDLESS = (
    "CUDA error",
    "HIP error",
    "cuDNN error",
    "CUBLAS_STATUS_",
    "Found no NVIDIA driver",
    "Cannot access accelerator device when none is available",
    "Backend doesn't support",
    "No CUDA GPUs are available",
    "No HIP GPUs are available",
    "no CUDA-capable device",
    "Torch not compiled with CUDA enabled",
    "without ATen_cuda library",
    "not linked with support for cuda devices",
    "has no attribute '_cuda_",
)
"""What torch says, in builds with and without CUDA, when something has asked the machine itself for a card."""


@contextmanager
def card_refused(operation: str) -> Iterator[None]:
    """Let NeedsDevice name the operation, where torch says only that this machine has no card."""
    try:
        yield
    except (RuntimeError, AssertionError, AttributeError) as error:
        if not _asks_for_card(error):
            raise
        raise NeedsDevice(operation, f"torch asked the machine for a card: {str(error).splitlines()[0]}") from error


def _asks_for_card(error: BaseException) -> bool:
    return type(error).__name__ == "AcceleratorError" or any(text in str(error) for text in CARDLESS)
