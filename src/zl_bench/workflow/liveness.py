"""Confirms that the compiler under test knows the switch before anything is compiled for it (R16)."""

from __future__ import annotations

import json
import mmap
import os
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from zl_bench.errors import DeadAxis, EnvironmentUnfit
from zl_bench.model import ProcessOutcome, Side
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.servers import SideServers
from zl_bench.running.switch import Switch
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import AXIS_FILE

PIPELINE_LIMIT = 120.0
"""Seconds for one small compile."""
SEARCHED = re.compile(r".*\.(py|pyd|so|so\..*)\Z", re.DOTALL)
WORD = re.compile(rb"[A-Za-z0-9_]")


@dataclass(frozen=True)
class Liveness:
    """Whether the compiler knows the switch. `finding` says where it was found, or what was looked for in vain."""

    known: bool
    finding: str


async def examine(switch: Switch, servers: SideServers, target: str | None, scratch: Path) -> Liveness:
    """Look for the switch in the compilers of the sides. Without a target it is the card's own.

    `scratch` is a folder for what the compilers are asked.
    """
    versions = await servers.start()
    tritons = {side: found["triton"] for side, found in versions.items()}
    if switch.kind == "build":
        return _different_builds(tritons)
    if switch.kind == "pass":
        target = target or await card_target(servers, scratch)
        return _pass_is_added(switch, await pipeline_passes(servers, target, scratch), target)
    if switch.is_null_control:
        return Liveness(True, f"{switch.name} has the same value on both sides: a null control")
    return variable_is_mentioned(switch.name, Path(tritons[_a_side(servers)]["path"]))


def require_live(switch: Switch, liveness: Liveness, progress: ProgressReporter, *, force: bool) -> None:
    """Raise DeadAxis for a switch that the compiler does not know, unless forced to go on, which is then said."""
    if liveness.known:
        return
    if not force:
        raise DeadAxis(
            f"The axis {switch.text} is dead: {liveness.finding}. No operator was compiled. "
            "Check the name and the compiler, or go on regardless with --force."
        )
    progress.note(f"{liveness.finding}: going on because of --force")


def write_liveness(root: Path, liveness: Liveness) -> None:
    """Keep in the root what was found. Raises EnvironmentUnfit if the disk refuses."""
    write_atomically(root / AXIS_FILE, json.dumps(asdict(liveness)) + "\n", kept="no operator was compiled")


def read_liveness(root: Path) -> Liveness | None:
    """What was found for a root, None where that was not kept or can not be read."""
    try:
        record = json.loads((root / AXIS_FILE).read_text(encoding="utf-8"))
        return Liveness(bool(record["known"]), str(record["finding"]))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def variable_is_mentioned(name: str, triton: Path) -> Liveness:
    """Whether the Triton package in that folder mentions the variable, as a whole word, in its sources or libraries."""
    places = [path.relative_to(triton) for path in _files(triton) if _mentions(path, name)]
    if places:
        return Liveness(True, f"{name} is mentioned in {', '.join(map(str, places[:3]))} of {triton}")
    return Liveness(
        False,
        f"{name} is mentioned neither in the Python sources nor in the native libraries of {triton}. "
        "A name that is put together at run time looks so too",
    )


def _files(triton: Path) -> list[Path]:
    """Sources first. Links to folders are followed: an editable installation has its backends behind such links."""
    found, seen = [], set()
    for folder, below, names in os.walk(triton, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:
            below.clear()
            continue
        seen.add(real)
        found += [Path(folder, name) for name in names if SEARCHED.match(name) and Path(folder, name).is_file()]
    return sorted(found, key=lambda path: (path.suffix != ".py", path))


def _mentions(path: Path, name: str) -> bool:
    """Whether the file holds the name as a whole word; a plain search, since a library has hundreds of megabytes."""
    if path.stat().st_size == 0:
        return False
    word = name.encode()
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
        position = content.find(word)
        while position >= 0:
            around = content[max(0, position - 1) : position] + content[position + len(word) : position + len(word) + 1]
            if not WORD.search(around):
                return True
            position = content.find(word, position + 1)
    return False


async def pipeline_passes(servers: SideServers, target: str, scratch: Path) -> tuple[str, ...]:
    """The passes of the target's TTGIR pipeline, in order. Raises EnvironmentUnfit if it can not be built."""
    server = await servers.server(_a_side(servers))
    found = await _asked(
        lambda out: server.passes(target, out, PIPELINE_LIMIT),
        scratch,
        f"The TTGIR pipeline for {target} could not be listed",
    )
    return tuple(found["passes"])


async def card_target(servers: SideServers, scratch: Path) -> str:
    """What the side's card compiles for, such as `cuda:90`. Raises EnvironmentUnfit if its Triton can not say."""
    server = await servers.server(_a_side(servers))
    found = await _asked(
        lambda out: server.target(out, PIPELINE_LIMIT), scratch, "What the card compiles for could not be found out"
    )
    return str(found["target"])


async def _asked(ask: Callable[[Path], Awaitable[ProcessOutcome]], scratch: Path, failure: str) -> dict[str, Any]:
    """What a child of a side's server wrote to the file that it was told. Raises EnvironmentUnfit if it wrote none."""
    # A folder of its own: a compile that an earlier look has cached adds no pass.
    out = Path(tempfile.mkdtemp(prefix="asked-", dir=scratch)) / "answer.json"
    outcome = await ask(out)
    if outcome.kind != "exited" or outcome.code != 0 or not out.is_file():
        raise EnvironmentUnfit(f"{failure} ({outcome.kind} {outcome.code} {outcome.detail}); see {out}.log.")
    answer: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    shutil.rmtree(out.parent, ignore_errors=True)  # it has served; kept only where its log has something to say
    return answer


def _a_side(servers: SideServers) -> Side:
    """The before side, or the only one that there is."""
    return next(iter(servers.plans))


def _pass_is_added(switch: Switch, passes: tuple[str, ...], target: str) -> Liveness:
    count, last = passes.count(switch.name), max(switch.occurrences, default=1)
    times = "once" if count == 1 else f"{count} times"
    if count >= last:
        return Liveness(True, f"the TTGIR pipeline for {target} adds {switch.name} {times}")
    if count:
        return Liveness(False, f"the TTGIR pipeline for {target} adds {switch.name} {times}, not {last}")
    names = ", ".join(dict.fromkeys(passes))
    return Liveness(False, f"the TTGIR pipeline for {target} never adds {switch.name}; it adds {names}")


def _different_builds(tritons: Mapping[Side, dict[str, Any]]) -> Liveness:
    before, after = tritons["before"], tritons["after"]
    if before["library_sha256"] == after["library_sha256"]:
        return Liveness(
            False,
            f"both sides load the same native library: Triton {before['version']}, {before['library']} and "
            f"{after['library']} have SHA-256 {before['library_sha256'][:16]}…",
        )
    return Liveness(
        True,
        f"Triton {before['version']} ({before['library_sha256'][:16]}…) against {after['version']} "
        f"({after['library_sha256'][:16]}…)",
    )
