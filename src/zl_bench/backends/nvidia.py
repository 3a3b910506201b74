"""NVIDIA."""

from zl_bench.backends.base import DeviceBackend, Evidence, Standing
from zl_bench.backends.status import QUERY_CSV, queried_csv

BACKEND = DeviceBackend(
    name="nvidia",
    segment="",
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("cuda",),
    mask_variables=("CUDA_VISIBLE_DEVICES",),
    query_command=("nvidia-smi",),
    status_command=("nvidia-smi", *QUERY_CSV),
    read_status=queried_csv,
    capabilities={"screen": Evidence(Standing.SIMULATED, "tests/integration/test_screen_passes.py")},
)
