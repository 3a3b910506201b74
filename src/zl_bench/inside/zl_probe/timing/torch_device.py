"""The device behind torch: CUDA, and vendors whose torch module has the same calls.

Everything runs on the stream that is current, which `use_own_stream` makes one of our own: a backward pass runs on the
streams of its forward pass, so only what was made on the capturing stream can be captured.
"""

import ctypes
import gc
from typing import Any

from .. import seeding
from .device import Call, CanNot, Event, Graph, Untrustworthy
from .sweep import Sweep

FLUSHED_BYTES = 256 << 20
"""As much as Triton's do_bench clears, more than any L2 that we know."""
TICKS_PER_SECOND = 2_000_000_000
"""Of the spinning kernel's clock, at most: `block` may so take longer than asked, never much less on a card at full speed."""
WAITS = "called a synchronizing"
"""In torch's message when its synchronisation debug mode is on and the host would have to wait."""


class TorchEvent:
    """An event of torch's."""

    def __init__(self, event: Any):
        self._event = event

    def record(self) -> None:
        """Enqueue it on the current stream."""
        self._event.record()

    def done(self) -> bool:
        """Whether the device has come to it."""
        return bool(self._event.query())

    def milliseconds_to(self, later: Any) -> float:
        """From this one to a later one, after both are done."""
        return float(self._event.elapsed_time(later._event))


class TorchGraph:
    """A captured graph of torch's."""

    def __init__(self, graph: Any):
        self._graph = graph

    def replay(self) -> None:
        """Enqueue it on the current stream."""
        self._graph.replay()

    def release(self) -> None:
        """Give its memory pool back."""
        self._graph.reset()


class TorchDevice:
    """The current device of a torch module, `torch.cuda` unless another is named."""

    def __init__(self, name: str = "cuda"):
        import torch

        self.name = name
        self._torch: Any = torch
        self.module: Any = getattr(torch, name)
        self._flushed: Any = None
        self._sweep: Sweep | None = None
        self._clear = _memset() if name == "cuda" else None

    @classmethod
    def of(cls, name: str) -> "TorchDevice | None":
        """The device of that name, None without torch, without such a module, or without a device to use."""
        try:
            import torch
        except ImportError:
            return None
        module = getattr(torch, name, None)
        return cls(name) if module is not None and module.is_available() else None

    def use_own_stream(self) -> None:
        """Make a stream of our own the current one, for everything that this thread enqueues from now on."""
        if hasattr(self.module, "set_stream"):
            self.module.set_stream(self.module.Stream())

    def synchronize(self) -> None:
        """Wait until all that was enqueued is done."""
        self.module.synchronize()

    def event(self, *, in_graph: bool = False) -> Event:
        """A new event."""
        if not in_graph:
            return TorchEvent(self.module.Event(enable_timing=True))
        try:
            return TorchEvent(self.module.Event(enable_timing=True, external=True))
        except TypeError as error:
            raise CanNot("this torch has no events within graphs") from error

    def capture(self, body: Call) -> Graph:
        """Capture what `body` enqueues on the current stream."""
        if not hasattr(self.module, "CUDAGraph"):
            raise CanNot(f"torch.{self.name} has no graphs")
        graph = self.module.CUDAGraph()
        collecting = gc.isenabled()
        gc.collect()
        gc.disable()  # what it would free may belong to another graph, and a capture does not bear that
        try:
            # Only what this thread does may spoil the capture: the watchdog and autograd have threads of their own.
            with self.module.graph(graph, stream=self.module.current_stream(), capture_error_mode="thread_local"):
                body()
        except Exception as error:
            first = error.__context__ or error  # ending a spoilt capture raises too, and says less
            raise Untrustworthy(f"{type(first).__name__}: {first}") from error
        finally:
            if collecting:
                gc.enable()
        return TorchGraph(graph)

    def waits(self, call: Call) -> str:
        """Run the call in torch's synchronisation debug mode."""
        set_mode = getattr(self.module, "set_sync_debug_mode", None)
        if set_mode is None:
            call()
            return ""
        set_mode("error")
        try:
            call()
        except RuntimeError as error:
            if WAITS not in str(error):
                raise
            return "the call makes the host wait for the device"
        finally:
            set_mode("default")
        return ""

    def flush(self) -> None:
        """Go through more memory than the L2 holds: by reading it where that can be done (see sweep.py), else by clearing it.

        Clearing is by the runtime's own memset where it can be found: aten's `zero_` may be a kernel of the suite's library,
        which would be compiled and tuned on the row's account.
        """
        if self._flushed is None:
            self._flushed = self._torch.empty(FLUSHED_BYTES, dtype=self._torch.uint8, device=self.name)
            nvidia = self.name == "cuda" and self._torch.version.hip is None
            self._sweep = Sweep.over(self._flushed.data_ptr(), FLUSHED_BYTES) if nvidia else None
        if self._sweep is not None:
            self._sweep.enqueue(self.module.current_stream().cuda_stream)
        elif self._clear is not None:
            stream = ctypes.c_void_p(self.module.current_stream().cuda_stream)
            status = self._clear(ctypes.c_void_p(self._flushed.data_ptr()), 0, ctypes.c_size_t(FLUSHED_BYTES), stream)
            if status:
                raise RuntimeError(f"cudaMemsetAsync answered {status}")
        else:
            self._flushed.zero_()

    def block(self, seconds: float) -> None:
        """Enqueue torch's spinning kernel."""
        spin = getattr(self.module, "_sleep", None)
        if spin is None:
            raise CanNot(f"torch.{self.name} has nothing that blocks the device")
        spin(int(seconds * TICKS_PER_SECOND))

    def seed(self) -> None:
        """Seed the generator of the device, which may not have been touched yet; a vendor without one has nothing to seed."""
        if hasattr(self.module, "manual_seed"):
            self.module.manual_seed(seeding.DEVICE_SEED)

    def random_state(self) -> Any:
        """The states of the device's default generator and of the host's."""
        return self.module.get_rng_state(), seeding.host_state()

    def restore_random_state(self, state: Any) -> None:
        """Set them."""
        of_device, of_host = state
        self.module.set_rng_state(of_device)
        seeding.restore_host_state(of_host)


def _memset() -> Any:
    """cudaMemsetAsync of the CUDA runtime that torch has loaded, None where it can not be found."""
    found = getattr(ctypes.CDLL(None), "cudaMemsetAsync", None)
    if found is not None:
        return found
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as stream:
        paths = {line.split()[-1] for line in stream if "libcudart" in line}
    return getattr(ctypes.CDLL(sorted(paths)[0]), "cudaMemsetAsync", None) if paths else None
