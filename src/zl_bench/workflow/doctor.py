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
FOR_A_TARGET = "pip install 'zl-bench[offline]'"
"""What an interpreter needs that compiles for a target without a card."""


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
    findings = tool_found()
    with tempfile.TemporaryDirectory(prefix="zl-bench-doctor-") as folder:
        scratch = Path(folder)
        environment = side_environment(os.environ, {}, {}, hidden_cards(backend, target))
        async with SideServers(side_plans(interpreter, environment, switch, scratch, target)) as servers:
            started, compilers = await compilers_found(servers, interpreter, scratch, FOR_A_TARGET)
            findings += compilers
            if not started:
                return tuple(findings)
            compiles, target_finding = await target_found(servers, target, scratch)
            findings.append(target_finding)
            if compiles and switch is not None:
                findings.append(await switch_found(switch, servers, target, scratch))
    return tuple(findings)


def tool_found() -> list[Finding]:
    """The tool itself, and the room that it has."""
    return [Finding("zl-bench", True, f"{__version__} on Python {platform.python_version()}"), _disk()]


def side_plans(
    interpreter: Path,
    environment: Mapping[str, str],
    switch: Switch | None,
    scratch: Path,
    target: str | None,
    held: tuple[int, ...] = (),
) -> dict[Side, SidePlan]:
    """The before side, or both where the switch is two builds; everything that they write goes to `scratch`."""
    sides: tuple[Side, ...] = ("before", "after") if switch is not None and switch.kind == "build" else ("before",)
    return {
        side: SidePlan(
            side,
            (switch.interpreter(side) if switch is not None else None) or interpreter,
            environment,
            scratch / f"{side}.log",
            target,
            caches=scratch / f"{side}.cache",
            held=held,
        )
        for side in sides
    }


async def compilers_found(
    servers: SideServers, interpreter: Path, scratch: Path, install: str
) -> tuple[bool, list[Finding]]:
    """Whether the sides start, and what they have. `install` is the command that would give them what they lack."""
    try:
        versions = await servers.start()
    except EnvironmentUnfit as error:
        return False, [
            Finding("interpreter", False, why(error, scratch), f"install them into {interpreter}: {install}")
        ]
    return True, _versions(versions["before"])


async def target_found(servers: SideServers, target: str, scratch: Path) -> tuple[bool, Finding]:
    """Whether the sides compile for the target, and what its pipeline is."""
    try:
        passes = await pipeline_passes(servers, target, scratch)
    except EnvironmentUnfit as error:
        remedy = "choose another --target, or a Triton that has this one"
        return False, Finding("target", False, why(error, scratch), remedy)
    names = ", ".join(dict.fromkeys(passes))
    return True, Finding("target", True, f"{target} compiles; its TTGIR pipeline adds {names}")


async def switch_found(switch: Switch, servers: SideServers, target: str | None, scratch: Path) -> Finding:
    """Whether the compilers of the sides know the switch."""
    liveness = await examine(switch, servers, target, scratch)
    remedy = (
        "" if liveness.known else "check the name, or the Triton it is meant for; screen --force goes on regardless"
    )
    return Finding("switch", liveness.known, liveness.finding, remedy)


def why(error: EnvironmentUnfit, scratch: Path) -> str:
    """The error, with the end of the log in the place of where that is: the scratch folder goes away."""
    return f"{str(error).partition('; see ')[0].rstrip('.')} {last_line(scratch)}".rstrip()


def last_line(scratch: Path) -> str:
    """The end of whatever log was written last, in brackets; empty without any."""
    for log in sorted(scratch.rglob("*.log"), key=lambda path: path.stat().st_mtime, reverse=True):
        lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
        if lines:
            return f"({lines[-1].strip()})"
    return ""


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


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free
    text = f"{free / (1 << 30):.1f} GiB free in {Path.cwd()}"
    return Finding("disk", free >= LOW_DISK, text, "" if free >= LOW_DISK else "make room, or choose --root elsewhere")
