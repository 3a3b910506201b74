"""Looks at the measured interpreter and at what its Triton can compile for."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zl_bench import __version__
from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import hidden_cards
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import Side
from zl_bench.running.environment import side_environment
from zl_bench.running.servers import SideServers
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import Switch
from zl_bench.workflow.liveness import examine, pipeline_passes

LOW_DISK = 2 << 30
"""Bytes. A screen keeps the compiled code of both sides."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at. `remedy` is empty when nothing needs to be done."""

    subject: str
    good: bool
    text: str
    remedy: str = ""


async def diagnose(
    interpreter: Path, target: str, backend: DeviceBackend, switch: Switch | None
) -> tuple[Finding, ...]:
    """Everything a screen for `target` relies on, in the order in which it would fail."""
    findings = [Finding("zl-bench", True, f"{__version__} on Python {platform.python_version()}"), _disk()]
    with tempfile.TemporaryDirectory(prefix="zl-bench-doctor-") as folder:
        scratch = Path(folder)
        async with SideServers(_plans(interpreter, target, backend, switch, scratch)) as servers:
            try:
                versions = await servers.start()
            except EnvironmentUnfit as error:
                log = _last_lines(scratch)
                remedy = f"install them into {interpreter}: pip install 'zl-bench[offline]'"
                return (*findings, Finding("interpreter", False, f"{error} {log}".strip().rstrip("."), remedy))
            findings += _versions(versions["before"])
            try:
                passes = await pipeline_passes(servers, target, scratch)
            except EnvironmentUnfit as error:
                remedy = "choose another --target, or a Triton that has this one"
                return (*findings, Finding("target", False, f"{str(error).rstrip('.')} {_last_lines(scratch)}", remedy))
            names = ", ".join(dict.fromkeys(passes))
            findings.append(Finding("target", True, f"{target} compiles; its TTGIR pipeline adds {names}"))
            if switch is not None:
                findings.append(await _switch(switch, servers, target, scratch))
    return tuple(findings)


def _plans(
    interpreter: Path, target: str, backend: DeviceBackend, switch: Switch | None, scratch: Path
) -> dict[Side, SidePlan]:
    environment = side_environment(os.environ, {}, {}, hidden_cards(backend, target))
    sides: tuple[Side, ...] = ("before", "after") if switch is not None and switch.kind == "build" else ("before",)
    return {
        side: SidePlan(
            side,
            (switch.interpreter(side) if switch is not None else None) or interpreter,
            environment,
            scratch / f"{side}.log",
            target,
            caches=scratch / f"{side}.cache",
        )
        for side in sides
    }


def _versions(found: Mapping[str, Any]) -> list[Finding]:
    triton, torch = found["triton"], found["torch"]
    findings = [Finding("interpreter", True, f"Python {found['python']}, {found['interpreter']}")]
    findings.append(
        Finding(
            "triton",
            triton is not None,
            f"{triton['version']}, {triton['library']}, SHA-256 {triton['library_sha256'][:16]}…"
            if triton
            else "can not be imported",
            "" if triton else "pip install triton",
        )
    )
    built_for = (torch or {}).get("cuda") or (torch or {}).get("hip") or "the CPU"
    findings.append(
        Finding(
            "torch",
            torch is not None,
            f"{torch['version']}, built for {built_for}" if torch else "can not be imported; suites need it",
            "" if torch else "pip install torch (a CPU build is enough with --target)",
        )
    )
    return findings


async def _switch(switch: Switch, servers: SideServers, target: str, scratch: Path) -> Finding:
    liveness = await examine(switch, servers, target, scratch)
    remedy = (
        "" if liveness.known else "check the name, or the Triton it is meant for; screen --force goes on regardless"
    )
    return Finding("switch", liveness.known, liveness.finding, remedy)


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    text = f"{free / (1 << 30):.1f} GiB free in {Path.cwd()}"
    return Finding("disk", free >= LOW_DISK, text, "" if free >= LOW_DISK else "make room, or choose --root elsewhere")


def _last_lines(scratch: Path) -> str:
    """The end of whatever log there is: the scratch folder goes away, so the reason must be in the finding."""
    for log in sorted(scratch.glob("*.log"), key=lambda path: path.stat().st_mtime, reverse=True):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        if lines:
            return f"({lines[-1].strip()})"
    return ""
