"""Notices that a device never answers: the waiting thread is stuck in the driver, so another one has to act."""

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def watchdog(seconds: float, wedged: Callable[[], None]) -> Iterator[None]:
    """Call `wedged`, in a thread of its own, unless the block is left within `seconds`."""
    timer = threading.Timer(seconds, wedged)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
