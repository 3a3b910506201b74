"""Gives both sides the same random numbers, so that a suite which draws its shapes or inputs draws the same ones."""

import random
import sys
from typing import Any

SEED = 20_260_101
DEVICE_SEED = 0x12B9B0A1E54C35
"""For a card's generators, and for those of the stand-in device. Torch seeds a card's by itself, with 53 random bits that are
other ones in each process. This is one such number: wide and odd, since kernels get it as an integer, which Triton specialises
by its width and by its divisibility.
"""


def seed_host() -> None:
    """Seed the host generators of what has been imported: Python's, NumPy's, torch's."""
    random.seed(SEED)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(SEED)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(SEED)


def host_state() -> tuple[Any, Any, Any]:
    """Where the host generators are: Python's, NumPy's and torch's, the last two None where they are not imported."""
    numpy_random, torch = sys.modules.get("numpy.random"), sys.modules.get("torch")
    return (
        random.getstate(),
        None if numpy_random is None else numpy_random.get_state(),
        None if torch is None else torch.default_generator.get_state(),
    )


def restore_host_state(state: tuple[Any, Any, Any]) -> None:
    """Put them back there; one that was imported since stays where it is."""
    own, of_numpy, of_torch = state
    random.setstate(own)
    if of_numpy is not None:
        sys.modules["numpy.random"].set_state(of_numpy)
    if of_torch is not None:
        sys.modules["torch"].default_generator.set_state(of_torch)
