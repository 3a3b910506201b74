"""AMD, through ROCm."""

from zl_bench.backends.base import DeviceBackend, Evidence, Standing
from zl_bench.backends.status import rocm_json

BACKEND = DeviceBackend(
    name="amd",
    segment=None,
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("hip",),
    mask_variables=("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
    inner_masks=("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),  # they count what ROCR_VISIBLE_DEVICES leaves
    query_command=("rocm-smi",),
    status_command=("rocm-smi", "--showmeminfo", "vram", "--json"),
    read_status=rocm_json,
    capabilities={"screen": Evidence(Standing.SIMULATED, "tests/integration/test_screen_switches.py")},
)
