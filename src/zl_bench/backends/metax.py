"""MetaX, through MACA."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import memory_pairs

BACKEND = DeviceBackend(
    name="metax",
    segment="METAX",
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("maca",),
    mask_variables=("MACA_VISIBLE_DEVICES",),
    query_command=("mx-smi",),
    status_command=("mx-smi",),
    read_status=memory_pairs(r"(\d+)\s*/\s*(\d+)\s*MiB"),  # the unit stands behind the total only
    timing_lacks=("graphs",),  # replay wedges on some boards (FlagGems 5479)
)
