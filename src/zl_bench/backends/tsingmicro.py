"""Tsingmicro."""

from zl_bench.backends.base import DeviceBackend

BACKEND = DeviceBackend(
    name="tsingmicro",
    segment=None,
    torch_device="txda",
    dispatch_key="PrivateUse1",
    target_kinds=("txda",),
    mask_variables=("TXDA_VISIBLE_DEVICES",),
    query_command=("tsm_smi",),
    status_command=("tsm_smi",),  # how its table is laid out is not known, so nothing reads it
)
