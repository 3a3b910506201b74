"""What the stand-in device raises when an honest answer would need a card."""

from __future__ import annotations


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
