"""NVIDIA."""

from zl_bench.backends.base import DeviceBackend, Evidence, Standing
from zl_bench.backends.listing import LIST_CSV, PROCESSES_CSV, listed_csv, processes_csv
from zl_bench.backends.status import QUERY_CSV, queried_csv

BACKEND = DeviceBackend(
    name="nvidia",
    segment="",
    torch_device="cuda",
    dispatch_key="CUDA",
    target_kinds=("cuda",),
    mask_variables=("CUDA_VISIBLE_DEVICES",),
    number_order=("CUDA_DEVICE_ORDER", "PCI_BUS_ID"),  # unless set, the fastest card is number 0
    query_command=("nvidia-smi",),
    list_command=("nvidia-smi", *LIST_CSV),
    read_list=listed_csv,
    processes_command=("nvidia-smi", *PROCESSES_CSV),
    read_processes=processes_csv,
    status_command=("nvidia-smi", *QUERY_CSV),
    read_status=queried_csv,
    default_timing="graph",
    capabilities={
        "screen": Evidence(Standing.RUN, "benchmarks/results/flaggems_card.md"),
        "graph timing": Evidence(Standing.RUN, "benchmarks/results/timing_spread.md"),
        "queued timing": Evidence(Standing.RUN, "benchmarks/results/timing_spread.md"),
        "clocks": Evidence(Standing.RUN, "benchmarks/results/timing_spread.md"),
        # Only hosts with one card have been there.
        "masks": Evidence(Standing.SIMULATED, "tests/integration/test_simulated_cards.py"),
    },
)
