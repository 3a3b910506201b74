"""Hygon, whose toolkit follows ROCm."""

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import labelled_memory

BACKEND = DeviceBackend(
    name="hygon",
    segment="HCU",
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("hcu",),  # its Triton takes hip as well, which is amd's kind here: name the vendor with --vendor
    mask_variables=("HIP_VISIBLE_DEVICES",),
    query_command=("hy-smi",),
    status_command=("hy-smi", "--showmeminfo", "vram"),
    read_status=labelled_memory(r"Total Memory \(MiB\)\s*:\s*(\d+)", r"Used Memory \(MiB\)\s*:\s*(\d+)"),
)
