"""Cambricon."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="cambricon",
    segment=None,
    torch_device="mlu",
    dispatch_key="PrivateUse1",
    target_kinds=("mlu",),
    mask_variables=("MLU_VISIBLE_DEVICES",),
    query_command=("cnmon",),
    status_command=("cnmon",),
    read_status=memory_pairs(),
)
