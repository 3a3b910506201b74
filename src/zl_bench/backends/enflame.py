"""Enflame."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import labelled_memory

DEVICE_MEMORY = r"Device Mem Info[^\n]*\n(?:[^\n]*\n){0,3}?\s*"

BACKEND = DeviceBackend(
    name="enflame",
    segment=None,
    torch_device="gcu",
    dispatch_key="PrivateUse1",
    target_kinds=("gcu",),
    mask_variables=("TOPS_VISIBLE_DEVICES",),
    status_command=("efsmi", "-q", "-d", "MEMORY"),
    read_status=labelled_memory(DEVICE_MEMORY + r"Total Size\D*(\d+)", DEVICE_MEMORY + r"Free Size\D*(\d+)", free=True),
    replaces_shape_file=True,
)
