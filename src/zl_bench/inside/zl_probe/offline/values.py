"""What is known of the values of accelerator tensors: real values of the host beside small fake tensors.

Values hang on the storage, so that views and in-place operators need nothing special. A Triton kernel, which is never
executed, makes the storages that it writes unknown. Where a value that nobody knows decides what happens next, a seeded
plausible one is taken and counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .errors import NeedsDevice

LIMIT = 64 * 1024
"""Elements of a storage up to which its values are kept."""
GUESS_LIMIT = 1 << 20
"""Elements up to which values are guessed one by one."""
ATTRIBUTE = "_zl_values"
COUNT_GUESS = 8
"""A guess for a lone integer of the device, which most often counts something."""
PATIENCE = 16
"""Times that one call may ask for a lone integer before it gets another guess."""
SIZES = 24
"""Powers of two that such guesses go through."""
DRAW_SEED = 20_260_102
"""Of the device's small random tensors, whose values the host computes."""


class HostValues:
    """Keeps, forgets and guesses values. All methods expect that no dispatch mode is active."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.guesses = 0
        """How many guessed values have decided something so far."""
        self._draws: Any = None
        self._counts: dict[tuple[str, int], int] = {}

    def begin_call(self) -> None:
        """A new call of the suite begins: what it asks again and again is counted from here."""
        self._counts = {}

    @contextmanager
    def drawing(self, func: Any) -> Iterator[None]:
        """While the host computes what an operator of the device draws: the host's own generator stays where it was."""
        if self._torch.Tag.nondeterministic_seeded not in func.tags:
            yield
            return
        generator = self._torch.default_generator
        state = generator.get_state()
        generator.manual_seed(DRAW_SEED) if self._draws is None else generator.set_state(self._draws)
        try:
            yield
        finally:
            self._draws = generator.get_state()
            generator.set_state(state)

    def known(self, fake: Any) -> Any | None:
        """The values of a fake tensor as a host tensor that shares its memory with those of the tensor's views."""
        kept = getattr(fake.untyped_storage(), ATTRIBUTE, None) if _strided(self._torch, fake) else None
        return None if kept is None else self._view(kept[0], fake)

    def is_guessed(self, fake: Any) -> bool:
        """Whether the values known of this tensor rest on a guess or on the device's own random numbers."""
        kept = getattr(fake.untyped_storage(), ATTRIBUTE, None) if _strided(self._torch, fake) else None
        return kept is not None and bool(kept[1])

    def attach(self, fake: Any, real: Any, guessed: bool = False) -> None:
        """Let `fake` have the values of `real`, a host tensor of the same shape and dtype."""
        if not (_strided(self._torch, fake) and _strided(self._torch, real) and _plain(fake, real)):
            return self.forget(fake)
        storage = fake.untyped_storage()
        if storage.nbytes() > LIMIT * fake.element_size():
            return self.forget(fake)
        same = real.stride() == fake.stride() and real.storage_offset() == fake.storage_offset()
        if same and real.untyped_storage().nbytes() >= storage.nbytes():
            values = real.untyped_storage()
        else:
            values = self._torch.UntypedStorage(storage.nbytes())
            self._view(values, fake).copy_(real)
        setattr(storage, ATTRIBUTE, (values, guessed))
        return None

    def expect_overwrite(self, fake: Any) -> None:
        """Make room for values that an operator is about to write over all of a small tensor, whatever it had."""
        elements = fake.untyped_storage().nbytes() // max(1, fake.element_size()) if _strided(self._torch, fake) else -1
        if elements == fake.numel() <= LIMIT and self.known(fake) is None:
            self.attach(fake, self._torch.zeros(tuple(fake.shape), dtype=fake.dtype))

    def forget(self, fake: Any) -> None:
        """Nothing is known any more of this tensor and of all that share its storage."""
        if _strided(self._torch, fake):
            storage = fake.untyped_storage()
            if getattr(storage, ATTRIBUTE, None) is not None:
                setattr(storage, ATTRIBUTE, None)

    def mark_guessed(self, fakes: Iterable[Any]) -> None:
        """Note that the known values of these tensors rest on guesses."""
        for fake in fakes:
            kept = getattr(fake.untyped_storage(), ATTRIBUTE, None)
            if kept is not None:
                setattr(fake.untyped_storage(), ATTRIBUTE, (kept[0], True))

    def needed(self, fake: Any, operation: str) -> Any:
        """The values of a tensor on which the program's course depends: known ones, else guessed and counted."""
        values = self.known(fake)
        if values is None:
            values = self._guess(fake, operation)
            self.guesses += 1
            self.attach(fake, values, guessed=True)
        elif self.is_guessed(fake):
            self.guesses += 1
        return values

    def _guess(self, fake: Any, operation: str) -> Any:
        torch = self._torch
        if fake.layout != torch.strided or fake.numel() > GUESS_LIMIT:
            raise NeedsDevice(operation, f"its {fake.numel()} values are not known and too many to guess")
        generator = torch.Generator().manual_seed(self.guesses)
        shape = tuple(fake.shape)
        if fake.dtype == torch.bool:
            return torch.rand(shape, generator=generator) < 0.5
        if fake.dtype.is_floating_point or fake.dtype.is_complex:
            return torch.rand(shape, generator=generator).to(fake.dtype)
        if fake.numel() == 1:
            elements = fake.untyped_storage().nbytes() // max(1, fake.element_size())
            return torch.full(shape, self._guessed_integer(operation, elements), dtype=torch.int64).to(fake.dtype)
        return torch.randint(0, 8, shape, generator=generator).to(fake.dtype)

    def _guessed_integer(self, operation: str, elements: int) -> int:
        """A count, or a position among `elements`. A loop that goes on asking is told what may end it.

        Such a loop waits for all elements to be done, most often: for the last one's number, or, of a tensor that holds
        nothing but the count, for a size that is not known here: one less than each power of two in turn.
        """
        asked = self._counts[operation, elements] = self._counts.get((operation, elements), 0) + 1
        if asked <= PATIENCE:
            return elements // 2 if elements > 1 else COUNT_GUESS
        if elements > 1:
            return elements - 1
        return int((1 << (asked - PATIENCE - 1) % SIZES) - 1)

    def _view(self, storage: Any, fake: Any) -> Any:
        view = self._torch.empty(0, dtype=fake.dtype)
        view.set_(storage, fake.storage_offset(), tuple(fake.size()), tuple(fake.stride()))
        view = view.conj() if fake.is_conj() else view
        return view._neg_view() if fake.is_neg() else view


def guessed_count(elements: int) -> int:
    """A plausible number of elements selected out of `elements`."""
    return max(1, math.ceil(elements / 2)) if elements else 0


def _strided(torch: Any, value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def _plain(fake: Any, real: Any) -> bool:
    return fake.dtype == real.dtype and fake.shape == real.shape and not (fake.is_quantized or real.is_quantized)
