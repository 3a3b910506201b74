"""Arm processors: no card, so nothing to hide, to query or to time on one."""

from zl_bench.backends.base import DeviceBackend

BACKEND = DeviceBackend(
    name="arm",
    segment=None,
    torch_device="cpu",
    dispatch_key="CPU",
    timing_lacks=("events", "graphs"),
)
