"""The readers of status commands. Every text here is simulated: written by hand, never seen from a card."""

from __future__ import annotations

import pytest

from zl_bench.backends.status import CardStatus
from zl_bench.backends.vendors import BACKENDS, backend_named

SIMULATED = {
    "nvidia": (
        "0, Simulated H1, 1024, 81559, 3\n1, Simulated H1, 0, 81559, [N/A]\n",
        [CardStatus(0, 1024, 81559, "Simulated H1", 3), CardStatus(1, 0, 81559, "Simulated H1", None)],
    ),
    "iluvatar": ("0, Simulated BI, 257, 32768, 0\n", [CardStatus(0, 257, 32768, "Simulated BI", 0)]),
    "amd": (
        "WARNING: simulated\n"
        '{"card1": {"VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "10960896"}, '
        '"card0": {"VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "34351349760"}, "system": {}}\n',
        [CardStatus(0, 32760, 65520), CardStatus(1, 10, 65520)],
    ),
    "hygon": (
        "HCU[0]\t\t: vram Total Memory (MiB): 65520\nHCU[0]\t\t: vram Total Used Memory (MiB): 12\n"
        "HCU[1]\t\t: vram Total Memory (MiB): 65520\nHCU[1]\t\t: vram Total Used Memory (MiB): 4096\n",
        [CardStatus(0, 12, 65520), CardStatus(1, 4096, 65520)],
    ),
    "mthreads": (
        "GPU0 00000000:0A:00.0\n    FB Memory Usage\n        Total    : 49152MiB\n        Used     : 12MiB\n"
        "    System Memory Usage\n        Total    : 999MiB\n        Used     : 9MiB\n"
        "GPU1 00000000:0B:00.0\n    FB Memory Usage\n        Total    : 49152MiB\n        Used     : 20000MiB\n",
        [CardStatus(0, 12, 49152), CardStatus(1, 20000, 49152)],
    ),
    "ascend": (
        "| 0     Simulated | OK     | 93.0    36     0    / 0     |\n"
        "| 0               | 0000:C1:00.0 | 0      0    / 0     3364 / 65536 |\n"
        "| 1     Simulated | OK     | 92.0    37     0    / 0     |\n"
        "| 0               | 0000:C2:00.0 | 0      0    / 0     60000/ 65536 |\n",
        [CardStatus(0, 3364, 65536), CardStatus(1, 60000, 65536)],
    ),
    "cambricon": (
        "| 0  /  Simulated | 0% | 112 MiB/ 49152 MiB |\n| 1  /  Simulated | 0% | 30000 MiB/ 49152 MiB |\n",
        [CardStatus(0, 112, 49152), CardStatus(1, 30000, 49152)],
    ),
    "metax": ("| 0  Simulated | 858/65536 MiB | Available |\n", [CardStatus(0, 858, 65536)]),
    "kunlunxin": ("| N/A 40C | 5 MiB / 98304 MiB | 0% |\n", [CardStatus(0, 5, 98304)]),
    "thead": ("| N/A 40C | 17MiB / 98304MiB | 0% |\n", [CardStatus(0, 17, 98304)]),
    "sunrise": ("| 0 simulated | 512MiB / 16384MiB |\n", [CardStatus(0, 512, 16384)]),
    "enflame": (
        "Device 0\n  Device Mem Info\n    Total Size : 43008 MiB\n    Used Size : 8 MiB\n    Free Size : 43000 MiB\n"
        "  BAR1 Mem Info\n    Total Size : 1 MiB\n    Free Size : 1 MiB\n",
        [CardStatus(0, 8, 43008)],
    ),
}


@pytest.mark.parametrize("vendor", SIMULATED)
def test_a_simulated_output_is_read(vendor: str) -> None:
    text, cards = SIMULATED[vendor]
    reader = backend_named(vendor).read_status
    assert reader is not None
    assert list(reader(text)) == cards


def test_every_reader_has_a_simulated_text() -> None:
    assert {backend.name for backend in BACKENDS if backend.read_status is not None} == set(SIMULATED)


@pytest.mark.parametrize("vendor", ["mthreads", "hygon", "enflame"])
def test_a_card_without_its_used_memory_is_not_paired_with_another_s(vendor: str) -> None:
    text, _ = SIMULATED[vendor]
    lines = text.splitlines()
    position = next(number for number, line in enumerate(lines) if "Used" in line or "Free" in line)
    if vendor == "enflame":
        position += 1
    cut = "\n".join(lines[:position] + lines[position + 1 :])
    reader = backend_named(vendor).read_status
    assert reader is not None
    assert reader(cut) == ()
