"""Gives both sides the same host random numbers, so that a suite which draws its shapes or inputs draws the same ones."""

import random
import sys

SEED = 20_260_101


def seed_host() -> None:
    """Seed the host generators of what has been imported: Python's, NumPy's, torch's.

    The accelerator's generator keeps its own seed: kernels get it as an integer, whose width Triton specialises by.
    """
    random.seed(SEED)
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random is not None:
        numpy_random.seed(SEED)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.default_generator.manual_seed(SEED)
