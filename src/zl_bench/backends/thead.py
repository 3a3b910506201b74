"""T-Head."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="thead",
    segment="PPU",
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("ppu",),
    mask_variables=("CUDA_VISIBLE_DEVICES",),
    query_command=("ppu-smi",),
    status_command=("ppu-smi",),
    read_status=memory_pairs(),
    selected_by=("PPU_SDK",),
)
