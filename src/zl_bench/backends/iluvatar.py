"""Iluvatar CoreX."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import QUERY_CSV, queried_csv

BACKEND = DeviceBackend(
    name="iluvatar",
    segment=None,
    torch_device="cuda",
    dispatch_key="CUDA",
    mask_variables=("ILUVATAR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    query_command=("ixsmi",),
    status_command=("ixsmi", *QUERY_CSV),
    read_status=queried_csv,
)
