"""The vendors that ship with the tool, as one explicit table, and how one is chosen."""

from __future__ import annotations

from zl_bench.backends.base import DeviceBackend
from zl_bench.errors import UsageError

BACKENDS = (
    DeviceBackend(name="nvidia", segment="", target_kinds=("cuda",), mask_variables=("CUDA_VISIBLE_DEVICES",)),
    DeviceBackend(
        name="amd",
        segment=None,
        target_kinds=("hip",),
        mask_variables=("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    ),
    DeviceBackend(name="mthreads", segment="MUSA", target_kinds=("musa",), mask_variables=("MUSA_VISIBLE_DEVICES",)),
    DeviceBackend(name="metax", segment="METAX", target_kinds=("maca",), mask_variables=("MACA_VISIBLE_DEVICES",)),
    DeviceBackend(name="hygon", segment="HCU", target_kinds=("hcu",), mask_variables=("HIP_VISIBLE_DEVICES",)),
    DeviceBackend(name="thead", segment="PPU", target_kinds=("ppu",), mask_variables=("CUDA_VISIBLE_DEVICES",)),
)


def backend_named(name: str) -> DeviceBackend:
    """The backend of that vendor. Raises UsageError naming the known ones."""
    for backend in BACKENDS:
        if backend.name == name:
            return backend
    known = ", ".join(backend.name for backend in BACKENDS)
    raise UsageError(f"There is no vendor {name!r}. Known vendors: {known}.")


def backend_for_target(target: str) -> DeviceBackend:
    """The backend whose Triton compiles for that target kind. Raises UsageError for a kind that no vendor here has."""
    kind = target.partition(":")[0]
    for backend in BACKENDS:
        if kind in backend.target_kinds:
            return backend
    kinds = ", ".join(kind for backend in BACKENDS for kind in backend.target_kinds)
    raise UsageError(
        f"No vendor compiles for {target!r}. Known target kinds: {kinds}; for example cuda:90, hip:gfx942."
    )
