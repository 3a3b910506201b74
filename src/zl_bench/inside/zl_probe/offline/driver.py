"""A stand-in for Triton's driver: it compiles for a target, loads nothing and launches nothing.

Triton reaches a device only through `triton.runtime.driver.active`. This object answers there with the target's own
figures, so that every kernel is specialised and compiled as on the card; no native driver library is ever opened.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .errors import NeedsDevice
from .targets import Target

NO_LIMIT = 2**31 - 1
DEVICE = 0


class StandInUtils:
    """The part of the driver that knows properties and loads binaries."""

    def __init__(self, target: Target, returns_max_threads: bool) -> None:
        self._target = target
        self._returns_max_threads = returns_max_threads
        self._handles: Iterator[int] = itertools.count(1)

    def get_device_properties(self, device: int = DEVICE) -> dict[str, Any]:
        """The properties that Triton's own drivers return for a device, under their names."""
        limits = self._target.limits
        if limits is None:
            return {"max_shared_mem": NO_LIMIT, "warpSize": self._target.warp_size}
        properties: dict[str, Any] = {
            "max_shared_mem": limits.max_shared_mem,
            "max_num_regs": limits.max_num_regs,
            "multiprocessor_count": limits.multiprocessor_count,
            "warpSize": self._target.warp_size,
            "sm_clock_rate": limits.sm_clock_rate,
            "mem_clock_rate": limits.mem_clock_rate,
            "mem_bus_width": limits.mem_bus_width,
        }
        if self._target.backend == "hip":
            properties["arch"] = self._target.arch
            properties["max_threads_per_sm"] = limits.max_threads_per_multiprocessor
        return properties

    def get_device_capability(self, device: int = DEVICE) -> tuple[int, int]:
        """Major and minor compute capability."""
        return self._target.capability

    def get_current_device(self) -> int:
        """The only device."""
        return DEVICE

    def set_current_device(self, device: int) -> None:
        """Nothing to choose."""

    def get_default_stream(self, device: int = DEVICE) -> int:
        """The default stream's handle."""
        return 0

    def is_stream_capturing(self, stream: int) -> bool:
        """No graph is ever captured."""
        return False

    def set_printf_fifo_size(self, size: int) -> None:
        """Nothing prints."""

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[int, ...]:
        """Handles for a kernel that is not loaded: module, function, registers, spills and, since Triton 3.5, threads.

        Registers and spills are unknown without a driver and given as 0. Triton itself compares the shared memory, the
        tensor memory and the threads with the limits around this call.
        """
        handles = (next(self._handles), next(self._handles), 0, 0)
        return (*handles, _max_threads(self._target)) if self._returns_max_threads else handles

    def unload_module(self, module: int) -> None:
        """Nothing was loaded."""

    def cuOccupancyMaxActiveClusters(self, *arguments: Any) -> int:
        """How many clusters fit: only a card knows."""
        raise NeedsDevice("cuOccupancyMaxActiveClusters")


class StandInLauncher:
    """Launches nothing. Calls the launch hooks as a launch would."""

    def __init__(self, target: Target, metadata: Any, check_threads: bool) -> None:
        threads = metadata.num_warps * target.warp_size
        if check_threads and threads > _max_threads(target):
            from triton.runtime.errors import OutOfResources

            raise OutOfResources(threads, _max_threads(target), "threads")

    def __call__(
        self,
        grid_0: int,
        grid_1: int,
        grid_2: int,
        stream: int,
        function: int,
        packed_metadata: Any,
        launch_metadata: Any,
        enter_hook: Callable[[Any], Any] | None = None,
        exit_hook: Callable[[Any], Any] | None = None,
        *arguments: Any,
    ) -> None:
        """Take a launch's arguments in the order of Triton's own launchers.

        Raises ValueError for a host tensor among them, as a launcher does that asks the device about a pointer.
        """
        for position, argument in enumerate(arguments):
            if getattr(argument, "is_cpu", False) and argument.numel() > 0:
                raise ValueError(f"Pointer argument (at {position}) cannot be accessed from Triton (cpu tensor?)")
        for hook in (enter_hook, exit_hook):
            if hook is not None:
                hook(launch_metadata)


class StandInDriver:
    """What `triton.runtime.driver.active` is in a process without a card."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self._triton_checks_threads = _loads_max_threads()
        self.utils = StandInUtils(target, self._triton_checks_threads)

    @staticmethod
    def is_active() -> bool:
        """Whether this driver's device is present; Triton asks its own drivers, never this one."""
        return True

    def launcher_cls(self, source: Any, metadata: Any) -> StandInLauncher:
        """A launcher for one compiled kernel; raises Triton's OutOfResources where an older Triton would not look."""
        return StandInLauncher(self.target, metadata, check_threads=not self._triton_checks_threads)

    def get_current_target(self) -> Any:
        """The target as Triton's GPUTarget."""
        from triton.backends.compiler import GPUTarget

        return GPUTarget(self.target.backend, self.target.arch, self.target.warp_size)

    def get_device_capability(self, device: int = DEVICE) -> tuple[int, int]:
        """Major and minor compute capability."""
        return self.target.capability

    def get_current_device(self) -> int:
        """The only device."""
        return DEVICE

    def set_current_device(self, device: int) -> None:
        """Nothing to choose."""

    def get_current_stream(self, device: int = DEVICE) -> int:
        """The default stream's handle."""
        return 0

    def get_active_torch_device(self) -> Any:
        """The device on which a suite's tensors lie; torch calls hip's cuda as well."""
        import torch

        return torch.device(torch_device_type(self.target), DEVICE)

    def get_device_interface(self) -> Any:
        """Torch's module for the device."""
        import torch

        return getattr(torch, torch_device_type(self.target))

    def get_benchmarker(self) -> Callable[..., Any]:
        """Triton's own benchmarking function, looked up when asked so that a replacement is honoured."""
        import triton.testing

        benchmarker: Callable[..., Any] = triton.testing.do_bench
        return benchmarker

    def get_empty_cache_for_benchmark(self) -> Any:
        """A buffer of 256 MB, as Triton's drivers make to flush a cache."""
        import torch

        return torch.empty(64 * 1024 * 1024, dtype=torch.int, device=torch_device_type(self.target))

    def clear_cache(self, cache: Any) -> None:
        """Overwrite that buffer."""
        cache.zero_()

    def map_python_to_cpp_type(self, ty: str) -> str:
        """The C type in which a launcher would pass a Triton type; read off the back end's own table."""
        from importlib import import_module

        module = {"cuda": "nvidia", "hip": "amd"}.get(self.target.backend, self.target.backend)
        mapping: Callable[[str], str] = import_module(f"triton.backends.{module}.driver").ty_to_cpp
        return mapping(ty)

    def assemble_tensormap_to_arg(self, tensormaps_info: Any, arguments: Any) -> Any:
        """Kept for older Tritons, which call it before every launch."""
        return arguments

    def allocate_default_profile_scratch(self, size: int, alignment: int, stream: Any) -> Any:
        """Scratch memory of an instrumented kernel."""
        import torch

        return torch.zeros(size, dtype=torch.int8, device=torch_device_type(self.target))


def torch_device_type(target: Target) -> str:
    """The device type under which torch knows the target."""
    return "cuda" if target.backend in ("cuda", "hip") else target.backend


def _max_threads(target: Target) -> int:
    return target.limits.max_threads_per_block if target.limits is not None else NO_LIMIT


def _loads_max_threads() -> bool:
    """Whether this Triton takes five values from load_binary and checks the threads itself.

    Read off its source rather than its version: vendors carry such changes across versions.
    """
    from triton.compiler.compiler import CompiledKernel

    return "n_max_threads" in inspect.getsource(CompiledKernel._init_handles)
