"""Arm China's AIPU. No variable that hides its cards and no status command is known."""

from zl_bench.backends.base import DeviceBackend

BACKEND = DeviceBackend(
    name="aipu",
    segment=None,
    torch_device="aipu",
    dispatch_key="PrivateUse1",
    target_kinds=("aipu",),
    query_command=("aipu",),
)
