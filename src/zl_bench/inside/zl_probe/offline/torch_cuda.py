"""What `torch.cuda` and `torch.accelerator` answer in a process with a stand-in device.

Answers come from the target's table; what nothing was measured for (elapsed times, captured graphs) raises
NeedsDevice. Memory queries say that nothing is allocated, which is true.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import defaultdict
from types import FunctionType, SimpleNamespace
from typing import Any

from .errors import NeedsDevice, card_refused
from .targets import KIB, Target

DEVICE = 0
SHARED_PER_BLOCK = 48 * KIB
"""Bytes of shared memory per block without opting in, on every CUDA card."""


REFUSED = (
    "caching_allocator_alloc",
    "clock_rate",
    "cudart",
    "current_blas_handle",
    "current_solver_handle",
    "device_memory_used",
    "graph_pool_handle",
    "list_gpu_processes",
    "make_graphed_callables",
    "memory_snapshot",
    "memory_summary",
    "memory_usage",
    "power_draw",
    "temperature",
    "utilization",
)
"""Functions of torch.cuda that measure, or hand out what only the vendor's library can use."""


class StandInStream:
    """The one stream. Nothing is ever queued, so everything is always finished."""

    cuda_stream = 0
    stream_id = 0
    device_index = DEVICE
    priority = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        import torch

        self.device = torch.device("cuda", DEVICE)

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """All work is done."""
        return True

    def is_capturing(self) -> bool:
        """No graph is ever captured."""
        return False

    def wait_event(self, event: Any) -> None:
        """Nothing to wait for."""

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for."""

    def record_event(self, event: Any = None) -> Any:
        """An event on this stream."""
        return event if event is not None else StandInEvent()

    def __enter__(self) -> StandInStream:
        return self

    def __exit__(self, *exception: Any) -> None:
        return None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StandInStream)

    def __hash__(self) -> int:
        return self.cuda_stream


class StandInEvent:
    """An event that has always happened and can not tell when."""

    cuda_event = 0

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take the options of torch's events."""

    def record(self, stream: Any = None) -> None:
        """Nothing to mark."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def query(self) -> bool:
        """It has happened."""
        return True

    def elapsed_time(self, end: Any) -> float:
        """A measurement: refused."""
        raise NeedsDevice("torch.cuda.Event.elapsed_time")


class StandInGraph:
    """Capturing a graph needs a device."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise NeedsDevice("torch.cuda.CUDAGraph")


def install(target: Target, generator: Any) -> None:
    """Replace the functions of torch.cuda and torch.accelerator by the stand-in's, until the process ends."""
    import torch

    answers = _cuda_answers(target, generator)
    answers.update({name: _refusal(f"torch.cuda.{name}") for name in REFUSED if hasattr(torch.cuda, name)})
    for name, answer in {**_unanswered(torch.cuda, answers), **answers}.items():
        original = getattr(torch.cuda, name, None)
        setattr(torch.cuda, name, answer)
        # Many of them live in a submodule, from which other parts of torch take them.
        home = sys.modules.get(getattr(original, "__module__", None) or "")
        if (
            home is not None
            and home is not torch.cuda
            and home.__name__.startswith("torch.cuda.")
            and hasattr(home, name)
        ):
            setattr(home, name, answer)
    torch.Stream = _stream_class(torch.Stream)
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        setattr(torch.cuda.nvtx, name, _constant(0))
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        answers = _accelerator_answers(target)
        if hasattr(accelerator, "get_device_capability"):
            answers["get_device_capability"] = _refusal("torch.accelerator.get_device_capability")
        for name, answer in {**_unanswered(accelerator, answers), **answers}.items():
            if hasattr(accelerator, name):
                setattr(accelerator, name, answer)


def _stream_class(original: Any) -> Any:
    """`torch.Stream`, which makes the stand-in's where it is asked for the accelerator's."""

    class AnyStream(type):
        def __instancecheck__(cls, instance: Any) -> bool:
            return isinstance(instance, (original, StandInStream))

    class Stream(metaclass=AnyStream):
        def __new__(cls, device: Any = "cuda", **options: Any) -> Any:
            import torch

            is_accelerators = isinstance(device, int) or torch.device(device).type == "cuda"
            return StandInStream() if is_accelerators else original(device, **options)

    return Stream


def _unanswered(module: Any, answers: dict[str, Any]) -> dict[str, Any]:
    """The module's other public functions, which do what they can without a card and raise NeedsDevice where they can not."""
    others = [name for name in getattr(module, "__all__", ()) if name not in answers]
    functions = {name: getattr(module, name, None) for name in others}
    return {
        name: _named(function, f"{module.__name__}.{name}")
        for name, function in functions.items()
        if type(function) is FunctionType
    }


def _named(function: Any, name: str) -> Any:
    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        with card_refused(name):
            return function(*arguments, **options)

    return call


def _refusal(name: str) -> Any:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise NeedsDevice(name)

    return refuse


def _cuda_answers(target: Target, generator: Any) -> dict[str, Any]:
    return {**_device_answers(target), **_stream_answers(), **_random_answers(generator), **_memory_answers(target)}


def _constant(value: Any) -> Any:
    """A function of its own for each name: torch._dynamo keeps rules by function object and refuses a shared one."""
    return lambda *arguments, **options: value


def _device_answers(target: Target) -> dict[str, Any]:
    properties = _properties(target)
    architecture = target.arch if isinstance(target.arch, str) else f"sm_{target.arch}"
    return {
        "is_available": _constant(True),
        "is_initialized": _constant(True),
        "init": _constant(None),
        "_lazy_init": _constant(None),
        "_lazy_call": lambda function, **options: None,
        "_is_in_bad_fork": _constant(False),
        "device_count": _constant(1),
        "current_device": _constant(DEVICE),
        "set_device": _constant(None),
        "_exchange_device": _constant(DEVICE),
        "_maybe_exchange_device": _constant(DEVICE),
        "get_device_properties": _constant(properties),
        "get_device_capability": _constant(target.capability),
        "get_device_name": _constant(properties.name),
        "get_arch_list": _constant([architecture]),
        "is_bf16_supported": _constant(target.backend == "hip" or target.capability >= (8, 0)),
        "is_tf32_supported": _constant(target.backend == "cuda" and target.capability >= (8, 0)),
        "can_device_access_peer": _constant(False),
        "synchronize": _constant(None),
        "ipc_collect": _constant(None),
    }


def _stream_answers() -> dict[str, Any]:
    stream = StandInStream()
    return {
        "Stream": StandInStream,
        "ExternalStream": StandInStream,
        "Event": StandInEvent,
        "current_stream": _constant(stream),
        "default_stream": _constant(stream),
        "set_stream": _constant(None),
        "stream": lambda chosen=None: contextlib.nullcontext(chosen),
        "CUDAGraph": StandInGraph,
        "graph": StandInGraph,
        "is_current_stream_capturing": _constant(False),
        "get_sync_debug_mode": _constant(0),
        "set_sync_debug_mode": _constant(None),
    }


def _random_answers(generator: Any) -> dict[str, Any]:
    return {
        "default_generators": (generator,),
        "manual_seed": generator.manual_seed,
        "manual_seed_all": generator.manual_seed,
        "seed": generator.seed,
        "seed_all": generator.seed,
        "initial_seed": generator.initial_seed,
        "get_rng_state": lambda device="cuda": generator.get_state(),
        "get_rng_state_all": lambda: [generator.get_state()],
        "set_rng_state": lambda state, device="cuda": generator.set_state(state),
        "set_rng_state_all": lambda states: generator.set_state(states[DEVICE]),
    }


def _memory_answers(target: Target) -> dict[str, Any]:
    total = target.limits.total_memory if target.limits is not None else 0
    zero_queries = ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved")
    resets = (
        "empty_cache",
        "reset_peak_memory_stats",
        "reset_accumulated_memory_stats",
        "reset_max_memory_allocated",
        "reset_max_memory_cached",
        "reset_peak_host_memory_stats",
        "reset_accumulated_host_memory_stats",
        "set_per_process_memory_fraction",
    )
    return {
        **{name: _constant(0) for name in zero_queries},
        **{name: _constant(None) for name in resets},
        "get_allocator_backend": _constant("native"),
        "get_per_process_memory_fraction": _constant(1.0),
        "mem_get_info": _constant((total, total)),
        "memory_stats": lambda *arguments, **options: defaultdict(int),
        "memory_stats_as_nested_dict": lambda *arguments, **options: {},
        "host_memory_stats": lambda *arguments, **options: {},
        "host_memory_stats_as_nested_dict": lambda *arguments, **options: {},
    }


def _accelerator_answers(target: Target) -> dict[str, Any]:
    import torch

    memory = _memory_answers(target)
    return {
        "is_available": _constant(True),
        "device_count": _constant(1),
        "current_accelerator": lambda check_available=False: torch.device("cuda"),
        "current_device_index": _constant(DEVICE),
        "current_device_idx": _constant(DEVICE),
        "set_device_index": _constant(None),
        "set_device_idx": _constant(None),
        "current_stream": _constant(StandInStream()),
        "set_stream": _constant(None),
        "synchronize": _constant(None),
        "empty_cache": _constant(None),
        "memory_allocated": memory["memory_allocated"],
        "max_memory_allocated": memory["max_memory_allocated"],
        "memory_reserved": memory["memory_reserved"],
        "max_memory_reserved": memory["max_memory_reserved"],
        "reset_peak_memory_stats": _constant(None),
        "reset_accumulated_memory_stats": _constant(None),
        "empty_host_cache": _constant(None),
        "memory_stats": memory["memory_stats"],
        "get_memory_info": memory["mem_get_info"],
        "device_index": lambda index: contextlib.nullcontext(),
        "Graph": StandInGraph,
    }


def _properties(target: Target) -> SimpleNamespace:
    """The fields of torch's _CudaDeviceProperties. Only cuda and hip come here, and both have limits."""
    limits = target.limits
    if limits is None:
        raise NeedsDevice("torch.cuda.get_device_properties", f"no table of limits for {target}")
    major, minor = target.capability
    version: tuple[int, int] = (major, minor)
    return SimpleNamespace(
        name=limits.card,
        major=version[0],
        minor=version[1],
        total_memory=limits.total_memory,
        multi_processor_count=limits.multiprocessor_count,
        warp_size=target.warp_size,
        max_threads_per_multi_processor=limits.max_threads_per_multiprocessor,
        max_threads_per_block=limits.max_threads_per_block,
        regs_per_multiprocessor=limits.max_num_regs,
        shared_memory_per_block=min(SHARED_PER_BLOCK, limits.max_shared_mem)
        if target.backend == "cuda"
        else limits.max_shared_mem,
        shared_memory_per_block_optin=limits.max_shared_mem,
        shared_memory_per_multiprocessor=limits.max_shared_mem + (KIB if target.backend == "cuda" else 0),
        L2_cache_size=limits.l2_cache_size,
        clock_rate=limits.sm_clock_rate,
        memory_clock_rate=limits.mem_clock_rate,
        memory_bus_width=limits.mem_bus_width,
        gcnArchName=str(target.arch) if target.backend == "hip" else "",
        is_integrated=0,
        is_multi_gpu_board=0,
    )
