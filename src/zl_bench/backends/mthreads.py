"""Moore Threads, through MUSA."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import labelled_memory
from zl_bench.inside.zl_probe.compat.mthreads import OVERRIDES

FRAME_BUFFER = r"FB Memory Usage[^\n]*\n(?:[^\n]*\n){0,2}?\s*"

BACKEND = DeviceBackend(
    name="mthreads",
    segment="MUSA",
    torch_device="musa",
    dispatch_key="MUSA",
    target_kinds=("musa",),
    mask_variables=("MUSA_VISIBLE_DEVICES",),  # MTHREADS_VISIBLE_DEVICES is the container runtime's, set from outside
    query_command=("mthreads-gmi",),
    status_command=("mthreads-gmi", "-q", "-d", "MEMORY"),
    read_status=labelled_memory(FRAME_BUFFER + r"Total\D*(\d+)", FRAME_BUFFER + r"Used\D*(\d+)"),
    timing_lacks=("graphs",),  # replay wedges on some S5000 boards (FlagTree 1173)
    compat_plugins=("zl_probe.compat.mthreads",),
    skip_overrides=OVERRIDES,
)
