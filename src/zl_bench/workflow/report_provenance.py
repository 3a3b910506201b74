"""Where a root's answers come from, and what it takes to repeat them: from its request and from what its runs told."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zl_bench.inside.zl_probe.wire import ENVIRONMENT_FILE
from zl_bench.model import SIDES, Run, Side
from zl_bench.reports import report_words
from zl_bench.reports.report_view import (
    NOT_RECORDED,
    Provenance,
    Reproduction,
    SideProvenance,
)
from zl_bench.running.planner import CACHES
from zl_bench.store.layout import SHAPES_FILE
from zl_bench.store.request import ScreenRequest
from zl_bench.store.screened import LoadedOperator
from zl_bench.workflow.report_cards import cards_of, distinct, told
from zl_bench.workflow.report_rounds import MeasuredRoot

COMMIT = re.compile(r"git\.?([0-9a-f]{7,40})\b")
"""Of a version such as 3.5.0+git1b0418a9."""
UNSET = "unset"


def provenance(
    root: Path, request: ScreenRequest | None, loaded: Sequence[LoadedOperator], measured: MeasuredRoot | None
) -> Provenance:
    """Of a root. `loaded` are the screen's runs that it still has, `measured` are its rounds."""
    extra = request.extra if request is not None else {}
    rounds = measured.header if measured is not None else {}
    runs = list(_runs(loaded))
    builds: dict[str, Any] = {
        side: extra.get(f"{side} Triton") or _mapping(rounds.get("builds")).get(side) for side in SIDES
    }
    return Provenance(
        tool_version=told(request.tool_version if request is not None else rounds.get("tool_version")),
        started=told(request.started if request is not None else rounds.get("started")),
        root=root.absolute().name,
        suite=request.suite if request is not None else NOT_RECORDED,
        suite_folder=told(extra.get("suite folder")),
        suite_hash=told(extra.get("suite's files")),
        suite_revision=told(request.revision if request is not None else None),
        sides=tuple(_side(side, [run for run in runs if run.side == side], builds) for side in SIDES),
        cards=tuple(cards_of(root, request, runs, measured)),
        environment_differences=_environment_differences(loaded),
        pins=_pins(request, runs),
    )


def reproduction(request: ScreenRequest | None, found: Provenance, measured: MeasuredRoot | None) -> Reproduction:
    """What it takes to repeat what the provenance tells of."""
    rounds = measured.header if measured is not None else {}
    typed = request.commands if request is not None else ()
    commands = [str(command) for command in (rounds.get("command"),) if command]
    rebuilt = () if typed or request is None else (_rebuilt(request),)
    return Reproduction(
        commands=(*typed, *rebuilt, *commands),
        exact=bool(typed) or (request is None and bool(commands)),
        environment=tuple(_given(request)) if request is not None else (),
        facts=tuple(_facts(request, found)),
    )


def _runs(loaded: Sequence[LoadedOperator]) -> Iterator[Run]:
    """The runs that told anything of themselves."""
    return (run for operator in loaded for pair in operator.nodes for run in pair if run.environment)


def _side(side: Side, runs: Sequence[Run], builds: Mapping[str, Any]) -> SideProvenance:
    tritons, torches = ([_mapping(run.environment.get(name)) for run in runs] for name in ("triton", "torch"))
    version = distinct(triton.get("version") for triton in tritons)
    commit = COMMIT.search(version)
    return SideProvenance(
        side=side,
        python=distinct(run.environment.get("python") for run in runs),
        interpreter=distinct(run.environment.get("interpreter") for run in runs),
        platform=distinct(run.environment.get("platform") for run in runs),
        triton=version,
        triton_commit=commit[1] if commit else NOT_RECORDED,
        library=distinct(triton.get("library") for triton in tritons),
        library_sha256=distinct([builds.get(side), *(triton.get("library_sha256") for triton in tritons)]),
        torch=distinct(map(_torch, torches)),
        target=distinct(_target(run.environment.get("target")) for run in runs),
    )


def _torch(version: Mapping[str, Any]) -> str:
    built = next((f" ({name} {version[name]})" for name in ("cuda", "hip") if version.get(name)), "")
    return f"{version['version']}{built}" if version.get("version") else ""


def _target(target: object) -> str:
    return target if isinstance(target, str) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _environment_differences(loaded: Sequence[LoadedOperator]) -> tuple[tuple[str, str, str], ...]:
    """Between the recorded environments of the two sides, but for the folders that every run has to itself."""
    for operator in loaded:
        for before, after in operator.nodes:
            old, new = _environment(before.directory), _environment(after.directory)
            if old is not None and new is not None:
                names = [name for name in sorted({*old, *new}) if name not in CACHES and old.get(name) != new.get(name)]
                return tuple((name, old.get(name, UNSET), new.get(name, UNSET)) for name in names)
    return ()


def _environment(directory: Path) -> dict[str, str] | None:
    try:
        record = json.loads((directory / ENVIRONMENT_FILE).read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in record["environment"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _pins(request: ScreenRequest | None, runs: Sequence[Run]) -> str:
    if request is None:
        return NOT_RECORDED
    if runs and not any(run.pins for run in runs):
        return "no autotuner ran"
    if request.pins is not None:
        return f"replayed from {request.pins}, on both sides"
    how = {
        "first": "the before side took the first configuration that compiles",
        "all": "the before side compiled every configuration",
        "tune": "the before side's autotuners chose",
    }.get(request.configs, f"chosen by {request.configs}")
    return f"{how}, and the after side replayed its choices; --pins with this root replays them again"


def _rebuilt(request: ScreenRequest) -> str:
    """The command that asks for the same, of a root that did not keep the one that was typed."""
    options: list[str] = ["--switch", request.switch, "--suite", request.suite]
    for option, value in (
        ("--target", request.target),
        ("--timing", request.timing),
        ("--l2", request.l2),
        ("--pins", request.pins),
    ):
        options += [option, value] if value else []
    if request.target is not None:
        options += ["--stages", request.stages, "--configs", request.configs]
    if request.suite == "flaggems" and "suite folder" in request.extra:
        options += ["--checkout", request.extra["suite folder"]]
    if request.extra.get("dtypes") == "first":
        options += ["--dtypes", "first"]
    for option, pairs in (
        ("--env", request.env),
        ("--env-before", request.env_before),
        ("--env-after", request.env_after),
    ):
        options += [word for name, value in pairs.items() for word in (option, f"{name}={value}")]
    options += ["--shape-file", SHAPES_FILE] if request.shapes else []  # of the root: what the suite was given to read
    options += ["--self-check"] if request.self_check else []
    return shlex.join(["zl-bench", "screen", *options, *request.operators])


def _given(request: ScreenRequest) -> Iterator[tuple[str, str, str]]:
    """The variables that were given or switched, on each side."""
    sides = [{**request.env, **own} for own in (request.env_before, request.env_after)]
    if report_words.kind_of(request.switch) == "variable":
        for side, text in zip(sides, report_words.side_values(request.switch, {}), strict=True):
            name, equals, value = text.partition("=")
            side[name.removesuffix(f" {UNSET}")] = value if equals else UNSET
    for name in sorted({*sides[0], *sides[1]}):
        yield name, sides[0].get(name, UNSET), sides[1].get(name, UNSET)


def _facts(request: ScreenRequest | None, found: Provenance) -> Iterator[tuple[str, str]]:
    yield "zl-bench", found.tool_version
    yield "started", found.started
    commit = [(found.suite_revision, "commit ")] if found.suite_revision != NOT_RECORDED else []
    files = (found.suite_folder, "in "), *commit, (found.suite_hash, "SHA-256 of its files ")
    yield "suite", _phrase((found.suite, ""), *files)
    if request is not None and request.shape_file is not None:
        yield "shape file", f"SHA-256 {request.shape_file}"
    alike = len({replace(side, side="before") for side in found.sides}) == 1
    for side in found.sides[:1] if alike else found.sides:
        which = "both sides" if alike else side.side
        library = (side.library, ""), (side.library_sha256, "SHA-256 ")
        yield f"compiler, {which}", _phrase((side.triton, "Triton "), (side.triton_commit, "commit "), *library)
        interpreter = (side.python, "Python "), (side.interpreter, ""), (side.torch, "torch "), (side.platform, "")
        yield f"interpreter, {which}", _phrase(*interpreter)
        if side.target != NOT_RECORDED:
            yield f"target, {which}", side.target
    for card in found.cards:
        clocks = (card.clocks, "clock "), (card.throttle, "held down: ")
        yield "card", _phrase((card.name, ""), (card.uuid, ""), (card.driver, "driver "), *clocks)
    yield "pins", found.pins


def _phrase(*parts: tuple[str, str]) -> str:
    """`Triton 3.6.0, commit not recorded`: values with what they are; where none was recorded, that alone."""
    if all(value == NOT_RECORDED for value, _ in parts):
        return NOT_RECORDED
    return ", ".join(f"{what}{value}" for value, what in parts)
