"""Keeps what is done on our own account from moving the random numbers that a suite makes its inputs of."""

import contextlib
from collections.abc import Iterator
from typing import Any, Protocol


class RandomNumbers(Protocol):
    """The random number generators of a process: its device's and the host's, which a call may draw from too."""

    def random_state(self) -> Any:
        """Where they are."""

    def restore_random_state(self, state: Any) -> None:
        """Put them back there."""


@contextlib.contextmanager
def unmoved(numbers: RandomNumbers | None) -> Iterator[None]:
    """Leave the generators as they were found, whatever is drawn meanwhile; None where there are none to care for."""
    state = None if numbers is None else numbers.random_state()
    try:
        yield
    finally:
        if numbers is not None:
            numbers.restore_random_state(state)
