"""Kunlunxin."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="kunlunxin",
    segment=None,
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("xpu",),
    mask_variables=("CUDA_VISIBLE_DEVICES",),
    query_command=("xpu-smi",),
    status_command=("xpu-smi",),
    read_status=memory_pairs(),
    option_names={"--mode": "--fg_mode"},
    replaces_shape_file=True,
)
