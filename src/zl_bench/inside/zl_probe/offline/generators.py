"""The accelerator's random generators: Philox seed and offset as torch's CUDA generator would hand them out.

Kernels take both as integers, which Triton specialises by width, by the value 1 and by divisibility by 16.
Source of the offsets: `calc_execution_policy` in ATen/native/cuda/DistributionTemplates.h; of the state's layout:
`CUDAGeneratorImpl::get_state`, eight bytes of seed, then eight of offset.
"""

from __future__ import annotations

from typing import Any

from ..seeding import DEVICE_SEED
from .targets import Target

BLOCK = 256
NUMBERS_PER_CALL = 4
"""Random numbers that one call of curand's engine yields, and by which an offset grows."""


class Philox:
    """Seed and offset of one generator."""

    def __init__(self, target: Target) -> None:
        self.seed = DEVICE_SEED
        self.offset = 0
        limits = target.limits
        blocks_per_multiprocessor = limits.max_threads_per_multiprocessor // BLOCK if limits else 8
        self._most_blocks = (limits.multiprocessor_count if limits else 128) * blocks_per_multiprocessor

    def set_seed(self, seed: int) -> None:
        """Seed anew; the offset starts over."""
        self.seed, self.offset = seed & (2**64 - 1), 0

    def draw(self, count: int, unroll: int = NUMBERS_PER_CALL) -> None:
        """Move on as one of torch's own kernels that fill `count` elements would."""
        if count <= 0:
            return
        blocks = max(1, min(self._most_blocks, -(-count // (BLOCK * unroll))))
        self.offset += ((count - 1) // (BLOCK * blocks * unroll) + 1) * NUMBERS_PER_CALL


def make_generators(target: Target, torch: Any) -> tuple[Any, Any]:
    """The device's default generator, and a replacement for `torch.Generator` that makes more of its kind.

    They are generators of the host to torch's argument parser, and the device's to whoever asks; their state is a plain
    tensor of the host.
    """
    original = torch.Generator

    class StandInGenerator(original):  # type: ignore[misc, valid-type]
        philox: Philox

        @property
        def device(self) -> Any:
            return torch.device("cuda", 0)

        def get_state(self) -> Any:
            data = self.philox.seed.to_bytes(8, "little") + self.philox.offset.to_bytes(8, "little")
            return torch.frombuffer(bytearray(data), dtype=torch.uint8)

        def set_state(self, state: Any) -> Any:
            data = bytes(state.contiguous().view(torch.uint8).tolist())
            self.philox.seed = int.from_bytes(data[:8], "little")
            self.philox.offset = int.from_bytes(data[8:16], "little")
            return self

        def manual_seed(self, seed: int) -> Any:
            self.philox.set_seed(int(seed))
            return self

        def initial_seed(self) -> int:
            return self.philox.seed

        def seed(self) -> int:
            self.philox.set_seed(DEVICE_SEED)
            return DEVICE_SEED

        def get_offset(self) -> int:
            return self.philox.offset

        def set_offset(self, offset: int) -> Any:
            self.philox.offset = int(offset)
            return self

    def make() -> Any:
        generator = StandInGenerator()
        generator.philox = Philox(target)
        return generator

    class AnyGenerator(type(original)):  # type: ignore[misc]
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, original)

    class Generator(original, metaclass=AnyGenerator):  # type: ignore[misc, valid-type]
        def __new__(cls, device: Any = "cpu") -> Any:
            return make() if torch.device(device).type == "cuda" else original(device)

    return make(), Generator
