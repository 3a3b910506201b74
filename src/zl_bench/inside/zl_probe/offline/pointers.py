"""Addresses that nothing lies behind, aligned as a card's allocator would align them."""

from __future__ import annotations

from typing import Any

ALIGNMENT = 512
"""Bytes. What torch's caching allocator rounds to; only the lowest bits matter to a compiler."""
FIRST_ADDRESS = 0x7F0000000000
ATTRIBUTE = "_zl_address"


class AddressSpace:
    """Hands out one aligned base address per storage, in the order in which the storages are asked for theirs.

    No address is handed out twice: when a storage dies depends on Python's garbage collector, and two runs of one
    program must see the same addresses. Storages of one size that are made and used in turn thus lie at one distance, as
    they do in a fresh block of the card's allocator.
    """

    def __init__(self) -> None:
        self._next = FIRST_ADDRESS

    def allocate(self, size: int) -> int:
        """The base address of a new block of `size` bytes."""
        base = self._next
        self._next += max(ALIGNMENT, -(-size // ALIGNMENT) * ALIGNMENT)
        return base

    def base(self, storage: Any) -> int:
        """The base address of a storage, which moves when it has grown.

        It hangs on the storage itself: any number that names a storage is given to another one once it is dead.
        """
        size = storage.nbytes()
        base, known_size = getattr(storage, ATTRIBUTE, (0, -1))
        if size > known_size:
            base = self.allocate(size)
            setattr(storage, ATTRIBUTE, (base, size))
        return int(base)


class FakePointer:
    """A tensor as far as a Triton kernel's argument needs one, without torch.

    `dtype` is Triton's short name (`fp16`, `i32`); `offset` shifts the pointer from its aligned base, in elements.
    """

    _addresses = AddressSpace()

    def __init__(self, dtype: str, shape: tuple[int, ...] = (1024,), offset: int = 0) -> None:
        self.dtype = dtype
        self.shape = tuple(shape)
        self._base = self._addresses.allocate((self.numel() + offset) * self.element_size())
        self._offset = offset

    def element_size(self) -> int:
        """Bytes of one element."""
        if self.dtype.startswith("fp8"):
            return 1
        return max(1, int("".join(filter(str.isdigit, self.dtype))) // 8)

    def numel(self) -> int:
        """Number of elements."""
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    def stride(self, dimension: int) -> int:
        """Elements between neighbours along a dimension, row-major."""
        step = 1
        for extent in self.shape[dimension:][1:]:
            step *= extent
        return step

    def data_ptr(self) -> int:
        """The address."""
        return self._base + self._offset * self.element_size()

    def ptr_range(self) -> int:
        """Bytes that may be addressed; Triton's AMD back end asks for them to choose buffer operations."""
        return self.numel() * self.element_size()
