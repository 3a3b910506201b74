"""Sunrise."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="sunrise",
    segment=None,
    torch_device="ptpu",
    dispatch_key="PrivateUse1",
    mask_variables=("TANG_VISIBLE_DEVICES",),
    query_command=("pt_smi",),
    status_command=("pt_smi",),
    read_status=memory_pairs(r"(\d+)(?:Mi)?B / (\d+)MiB"),
)
