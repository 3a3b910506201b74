"""What NVML tells of an NVIDIA card beside a measurement, through ctypes: the measured process has no library for it.

Nothing here raises: a card that does not tell, or a machine without NVML, has None and empty lists. Constants are from
nvml.h (NVIDIA Management Library API Reference).
"""

import ctypes
import os
from typing import Any, Protocol

LIBRARY = "libnvidia-ml.so.1"
SM_CLOCK, MEMORY_CLOCK = 1, 2
TEMPERATURE_OF_GPU = 0
THROTTLE_REASONS = {
    0x2: "applications clocks setting",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks setting",
}
"""Idle (0x1) holds nothing down."""
MOST_PROCESSES = 64
TEXT_BYTES = 256

Reading = dict[str, Any]


class Clocks(Protocol):
    """What a vendor tells of the card that this process runs on."""

    def clock(self) -> int | None:
        """The clock of the compute units now, in MHz."""

    def reading(self) -> Reading | None:
        """clock_mhz, memory_clock_mhz, temperature_c, power_w, throttle; None where nothing is told."""

    def card(self) -> dict[str, Any]:
        """name, uuid, driver, and processes: those of others that use the card."""


class NoClocks:
    """Of a vendor that tells nothing that we know how to ask for."""

    def __init__(self, name: str = ""):
        self._name = name

    def clock(self) -> int | None:
        """Unknown."""
        return None

    def reading(self) -> Reading | None:
        """Unknown."""
        return None

    def card(self) -> dict[str, Any]:
        """The name, as torch knows it."""
        return {"name": self._name, "uuid": "", "driver": "", "processes": []}


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t of the calls with the suffix _v3."""

    _fields_ = [
        ("pid", ctypes.c_uint),
        ("used", ctypes.c_ulonglong),
        ("instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    ]


class Nvml:
    """The card with a UUID, as NVML sees it."""

    def __init__(self, library: Any, handle: Any, uuid: str):
        self._library = library
        self._handle = handle
        self._uuid = uuid

    @classmethod
    def of(cls, uuid: str, library: Any = None) -> "Nvml | None":
        """For `GPU-…` as torch or nvidia-smi writes it; None where NVML or the card is not there."""
        return cls._found("nvmlDeviceGetHandleByUUID", uuid, library)

    @classmethod
    def at(cls, bus_id: str, library: Any = None) -> "Nvml | None":
        """For `domain:bus:device.function`, in hexadecimal digits; None where NVML or the card is not there."""
        found = cls._found("nvmlDeviceGetHandleByPciBusId_v2", bus_id, library)
        if found is not None:
            found._uuid = found._text("nvmlDeviceGetUUID", found._handle)
        return found

    @classmethod
    def _found(cls, search: str, name: str, library: Any) -> "Nvml | None":
        try:
            library = library or ctypes.CDLL(LIBRARY)
        except OSError:
            return None
        if _call(library, "nvmlInit_v2"):
            return None
        handle = ctypes.c_void_p()
        if _call(library, search, name.encode(), ctypes.byref(handle)):
            return None
        return cls(library, handle, name)

    def clock(self) -> int | None:
        """Of the streaming multiprocessors, in MHz."""
        return self._number("nvmlDeviceGetClockInfo", SM_CLOCK)

    def reading(self) -> Reading | None:
        """Everything at once."""
        power = self._number("nvmlDeviceGetPowerUsage")
        return {
            "clock_mhz": self.clock(),
            "memory_clock_mhz": self._number("nvmlDeviceGetClockInfo", MEMORY_CLOCK),
            "temperature_c": self._number("nvmlDeviceGetTemperature", TEMPERATURE_OF_GPU),
            "power_w": None if power is None else power / 1000,
            "throttle": self._throttle(),
        }

    def card(self) -> dict[str, Any]:
        """Name, driver and the processes that are not of this run's session."""
        return {
            "name": self._text("nvmlDeviceGetName", self._handle),
            "uuid": self._uuid,
            "driver": self._text("nvmlSystemGetDriverVersion"),
            "processes": self._others(),
        }

    def _throttle(self) -> list[str]:
        held = ctypes.c_ulonglong()
        if _call(self._library, "nvmlDeviceGetCurrentClocksThrottleReasons", self._handle, ctypes.byref(held)):
            return []
        return [word for bit, word in THROTTLE_REASONS.items() if held.value & bit]

    def _others(self) -> list[dict[str, Any]]:
        count = ctypes.c_uint(MOST_PROCESSES)
        found = (_Process * MOST_PROCESSES)()
        if _call(self._library, "nvmlDeviceGetComputeRunningProcesses_v3", self._handle, ctypes.byref(count), found):
            return []
        own = own_processes()
        others = [process for process in found[: count.value] if process.pid not in own]
        if len(others) == count.value:  # NVML counts as the host does, and this process is in a container
            others = without_one_unseen(others)
        return [
            {
                "pid": process.pid,
                "name": self._text("nvmlSystemGetProcessName", ctypes.c_uint(process.pid)),
                "used_mib": process.used >> 20,
            }
            for process in others
        ]

    def _number(self, name: str, *which: int) -> int | None:
        value = ctypes.c_uint()
        failed = _call(self._library, name, self._handle, *which, ctypes.byref(value))
        return None if failed else value.value

    def _text(self, name: str, *which: Any) -> str:
        text = ctypes.create_string_buffer(TEXT_BYTES)
        failed = _call(self._library, name, *which, text, ctypes.c_uint(TEXT_BYTES))
        return "" if failed else text.value.decode("utf-8", "replace")


def own_processes() -> set[int]:
    """This process and those above it, which started it."""
    found, pid = set(), os.getpid()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = parent_of(pid)
    return found


def parent_of(pid: int) -> int:
    """The process that a process was started by, 0 where there is none to be seen."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:
            return int(stream.read().rsplit(b")", 1)[1].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def without_one_unseen(processes: list[Any]) -> list[Any]:
    """Leave out one process that can not be seen here: it is this one, which uses the card, under another number."""
    unseen = [process for process in processes if not os.path.exists(f"/proc/{process.pid}")]
    return [process for process in processes if process is not unseen[-1]] if unseen else processes


def clocks_of(torch_module: Any, library: Any = None) -> Clocks:
    """What can be told of the current device of a torch module."""
    device = torch_module.current_device()
    properties = torch_module.get_device_properties(device)
    uuid = str(getattr(properties, "uuid", ""))
    name = str(getattr(properties, "name", ""))
    place = [int(getattr(properties, f"pci_{part}_id", -1)) for part in ("domain", "bus", "device")]
    found = Nvml.of(uuid if uuid.startswith("GPU-") else f"GPU-{uuid}", library) if uuid else None
    if found is None and min(place) >= 0:  # an old torch, or a part of a card, whose UUID is its own
        found = Nvml.at("{:08x}:{:02x}:{:02x}.0".format(*place), library)
    return found or NoClocks(name)


def _call(library: Any, name: str, *arguments: Any) -> int:
    """The status of an NVML call, 0 if it went well; one that this driver does not have has failed."""
    function = getattr(library, name, None)
    return 1 if function is None else int(function(*arguments))
