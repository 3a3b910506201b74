"""Which of the device's operators were called: what a row did that launched no Triton kernel."""

from __future__ import annotations

VIEW = "view"
"""Another look at the same memory; a card launches nothing either."""
NATIVE = "native"
"""aten's or the vendor's own kernel, since no library has taken the operator over."""
LIBRARY = "library"
"""A function that a library registered for the device."""


class Operations:
    """The operators called since they were last taken, each once, in the order of their first call."""

    def __init__(self) -> None:
        self._called: dict[str, str] = {}

    def note(self, name: str, how: str) -> None:
        """Note a call of `aten::add.Tensor`, done as a view, natively or by a library."""
        self._called.setdefault(name, how)

    def take(self) -> dict[str, str]:
        """How each was done, by name; forgets them."""
        called, self._called = self._called, {}
        return called
