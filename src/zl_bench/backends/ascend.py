"""Huawei Ascend."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="ascend",
    segment=None,
    torch_device="npu",
    dispatch_key="PrivateUse1",
    target_kinds=("npu",),
    mask_variables=("ASCEND_RT_VISIBLE_DEVICES", "NPU_VISIBLE_DEVICES"),
    query_command=("npu-smi", "info"),
    status_command=("npu-smi", "info"),
    read_status=memory_pairs(r"(\d+)\s*/\s*(\d+)", only="0000:"),  # the line with the bus address ends in HBM usage
    timing_lacks=("durations",),  # FlagGems calls do_bench_npu, which takes counts (FlagGems 5067)
)
