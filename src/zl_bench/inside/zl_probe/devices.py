"""Sees whether this process has used a device: what was opened before a fork is of no use to the child, or worse."""

import os
import stat
import sys
from typing import Any

HARMLESS = frozenset(
    ["null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "console", "fuse", "net", "infiniband"]
)
"""Of /dev: what standard streams, random numbers, file systems and networks are."""


class DeviceInitialised(Exception):
    """What may only import has initialised a device."""


def opened() -> list[str]:
    """The devices that this process has open, apart from those that any process may have."""
    found = set()
    for name in os.listdir("/proc/self/fd"):
        try:
            path, mode = os.readlink(f"/proc/self/fd/{name}"), os.stat(f"/proc/self/fd/{name}").st_mode
        except OSError:  # the listing's own descriptor, which is closed by now
            continue
        folder, _, below = path.removeprefix("/").partition("/")
        if stat.S_ISCHR(mode) and not (folder == "dev" and below.split("/")[0] in HARMLESS):
            found.add(path)
    return sorted(found)


def require_untouched() -> None:
    """Raise DeviceInitialised if torch has initialised a device here: torch itself then refuses every forked child."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return
    private = getattr(torch._C, "_get_privateuse1_backend_name", lambda: "")()
    for name in dict.fromkeys(["cuda", "xpu", private]):
        device = getattr(torch, name, None)
        if getattr(device, "is_initialized", bool)():
            raise DeviceInitialised(
                f"importing what every run needs has initialised torch.{name}, which no run could use after that"
            )
