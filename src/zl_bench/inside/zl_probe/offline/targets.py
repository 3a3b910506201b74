"""Targets as text, and the limits of the cards behind them.

Sources of the table: shared memory, registers and threads per block are the "Technical Specifications per Compute
Capability" of NVIDIA's CUDA C++ Programming Guide (opt-in maximum per block), for AMD the LDS and wavefront sizes of the
"Accelerator and GPU hardware specifications" in the ROCm documentation. Multiprocessors, clocks, bus width and memory
are those of one common card of each target, which is named; no compiled code depends on them, but a suite may
choose its grid by them. The H200's figures were read off a card; the others come from these documents and the makers'
data sheets.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .errors import TargetError

KNOWN_KINDS = ("cuda", "hip")
"""Kinds whose architectures the table below knows; others are left to the installed Triton."""
KIB = 1024
GIB = 1024**3


@dataclass(frozen=True)
class Limits:
    """What one card of a target offers. Sizes in bytes, clocks in kHz, bus width in bits."""

    card: str
    max_shared_mem: int
    """Largest shared memory of one block, opt-in included."""
    multiprocessor_count: int
    sm_clock_rate: int
    mem_clock_rate: int
    mem_bus_width: int
    total_memory: int
    max_threads_per_multiprocessor: int
    max_threads_per_block: int = 1024
    max_num_regs: int = 65536
    l2_cache_size: int = 0


@dataclass(frozen=True)
class Target:
    """What is compiled for. `limits` is None where no table has this target: nothing is checked then."""

    backend: str
    arch: int | str
    warp_size: int
    limits: Limits | None

    def __str__(self) -> str:
        return f"{self.backend}:{self.arch}"

    @property
    def capability(self) -> tuple[int, int]:
        """Compute capability as torch gives it; for hip, ROCm's convention of major and minor gfx version."""
        if isinstance(self.arch, int):
            return divmod(self.arch, 10)
        digits = re.match(r"gfx(\d+)(\d)[0-9a-f]", self.arch)
        return (int(digits.group(1)), int(digits.group(2))) if digits else (0, 0)


CUDA: dict[int, Limits] = {
    70: Limits(
        "Tesla V100-SXM2-16GB", 96 * KIB, 80, 1530000, 877000, 4096, 16 * GIB, 2048, l2_cache_size=6 * 1024 * KIB
    ),
    75: Limits("Tesla T4", 64 * KIB, 40, 1590000, 5001000, 256, 15 * GIB, 1024, l2_cache_size=4 * 1024 * KIB),
    80: Limits(
        "NVIDIA A100-SXM4-80GB", 163 * KIB, 108, 1410000, 1593000, 5120, 80 * GIB, 2048, l2_cache_size=40 * 1024 * KIB
    ),
    86: Limits("NVIDIA A40", 99 * KIB, 84, 1740000, 7251000, 384, 45 * GIB, 1536, l2_cache_size=6 * 1024 * KIB),
    87: Limits("Orin", 163 * KIB, 16, 1300000, 1300000, 256, 30 * GIB, 1536, l2_cache_size=4 * 1024 * KIB),
    89: Limits("NVIDIA L40S", 99 * KIB, 142, 2520000, 9001000, 384, 45 * GIB, 1536, l2_cache_size=96 * 1024 * KIB),
    90: Limits(
        "NVIDIA H200", 227 * KIB, 132, 1980000, 3201000, 6016, 150109880320, 2048, l2_cache_size=60 * 1024 * KIB
    ),
    100: Limits("NVIDIA B200", 227 * KIB, 148, 1965000, 3996000, 8192, 179 * GIB, 2048, l2_cache_size=126 * 1024 * KIB),
    103: Limits("NVIDIA B300", 227 * KIB, 148, 1965000, 3996000, 8192, 268 * GIB, 2048, l2_cache_size=126 * 1024 * KIB),
    120: Limits(
        "NVIDIA GeForce RTX 5090", 99 * KIB, 170, 2407000, 14001000, 512, 31 * GIB, 1536, l2_cache_size=96 * 1024 * KIB
    ),
    121: Limits("NVIDIA GB10", 99 * KIB, 48, 2418000, 4266000, 256, 119 * GIB, 1536, l2_cache_size=24 * 1024 * KIB),
}

HIP: dict[str, Limits] = {
    "gfx908": Limits(
        "AMD Instinct MI100", 64 * KIB, 120, 1502000, 1200000, 4096, 32 * GIB, 2560, l2_cache_size=8 * 1024 * KIB
    ),
    "gfx90a": Limits(
        "AMD Instinct MI250X", 64 * KIB, 110, 1700000, 1600000, 4096, 64 * GIB, 2048, l2_cache_size=8 * 1024 * KIB
    ),
    "gfx942": Limits(
        "AMD Instinct MI300X", 64 * KIB, 304, 2100000, 1300000, 8192, 192 * GIB, 2048, l2_cache_size=4 * 1024 * KIB
    ),
    "gfx950": Limits(
        "AMD Instinct MI350X", 160 * KIB, 256, 2400000, 2000000, 8192, 288 * GIB, 2048, l2_cache_size=4 * 1024 * KIB
    ),
    "gfx1030": Limits(
        "AMD Radeon RX 6900 XT", 64 * KIB, 40, 2660000, 1000000, 256, 16 * GIB, 2048, l2_cache_size=4 * 1024 * KIB
    ),
    "gfx1100": Limits(
        "AMD Radeon RX 7900 XTX", 64 * KIB, 48, 2482000, 1249000, 384, 24 * GIB, 2048, l2_cache_size=6 * 1024 * KIB
    ),
    "gfx1101": Limits(
        "AMD Radeon RX 7800 XT", 64 * KIB, 30, 2430000, 1219000, 256, 16 * GIB, 2048, l2_cache_size=4 * 1024 * KIB
    ),
    "gfx1200": Limits(
        "AMD Radeon RX 9060 XT", 64 * KIB, 16, 3320000, 1258000, 128, 16 * GIB, 2048, l2_cache_size=4 * 1024 * KIB
    ),
    "gfx1201": Limits(
        "AMD Radeon RX 9070 XT", 64 * KIB, 32, 2970000, 1258000, 256, 16 * GIB, 2048, l2_cache_size=8 * 1024 * KIB
    ),
}


def parse_target(text: str) -> Target:
    """The target that `text` names: `cuda:90`, `hip:gfx942`, or `KIND:ARCH:WARP_SIZE` of another installed back end.

    Raises TargetError, a ValueError, for a text of another form, an architecture whose limits are unknown, or a kind
    that no back end of the installed Triton accepts.
    """
    kind, _, arch = text.strip().partition(":")
    if not kind or not arch:
        raise TargetError(f"'{text}' is no target; write KIND:ARCH, such as cuda:90 or hip:gfx942")
    if kind == "cuda":
        return _cuda(arch)
    if kind == "hip":
        return _hip(arch)
    return _other(kind, arch)


def _cuda(arch: str) -> Target:
    if not (arch.isascii() and arch.isdigit()) or int(arch) not in CUDA:
        raise TargetError(
            "cuda:{} is not known; known are {}".format(arch, ", ".join(f"cuda:{known}" for known in CUDA))
        )
    return Target("cuda", int(arch), 32, CUDA[int(arch)])


def _hip(arch: str) -> Target:
    if arch not in HIP:
        raise TargetError("hip:{} is not known; known are {}".format(arch, ", ".join(f"hip:{known}" for known in HIP)))
    return Target("hip", arch, 64 if arch.startswith("gfx9") else 32, HIP[arch])


def _other(kind: str, arch: str) -> Target:
    arch, _, warp = arch.partition(":")
    if kind not in _accepted_kinds(kind, arch):
        raise TargetError(f"no back end of the installed Triton compiles for '{kind}'; cuda and hip are built in")
    if not warp.isdigit():
        raise TargetError(f"the warp size of {kind}:{arch} is not known here; write it as {kind}:{arch}:32, for 32")
    return Target(kind, int(arch) if arch.isdigit() else arch, int(warp), None)


def _accepted_kinds(kind: str, arch: str) -> tuple[str, ...]:
    try:
        from triton.backends import backends
        from triton.backends.compiler import GPUTarget
    except ImportError:
        return ()
    probe = GPUTarget(kind, int(arch) if arch.isdigit() else arch, 32)
    return (kind,) if any(backend.compiler.supports_target(probe) for backend in backends.values()) else ()
