"""What a screen and a run have in common: what is to be run, with what, where, and how its sides are started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import hidden_cards, variables_of_other_vendors
from zl_bench.fleet.cards import Card
from zl_bench.fleet.masks import variables_for
from zl_bench.fleet.pool import HeldCard
from zl_bench.model import Side
from zl_bench.running.environment import not_inherited, side_environment
from zl_bench.running.planner import Timing
from zl_bench.running.side_server import SidePlan
from zl_bench.running.switch import Switch
from zl_bench.store.layout import SHAPES_FILE
from zl_bench.suites.base import Entry, Suite
from zl_bench.suites.shape_file import ShapePlan


@dataclass(frozen=True, kw_only=True)
class SuitePlan:
    """What a command line asked for, checked. `inherited` is the environment that every side is based on."""

    root: Path
    target: str | None
    """What to compile for without a card; None to run on `cards`."""
    cards: tuple[Card, ...] = ()
    wait: float | None = None
    """Seconds to wait for a card that somebody else uses; None for as long as it takes."""
    timing: Timing | None = None
    backend: DeviceBackend
    suite: Suite
    entries: tuple[Entry, ...]
    interpreter: Path
    inherited: Mapping[str, str]
    env: Mapping[str, str]
    timeout: float
    memory: int | None = None
    """Bytes that each run may take with all its processes."""
    first_dtype: bool = False
    shapes: ShapePlan | None = None
    resume: bool
    force: bool
    command: str = ""
    """The command line that asks for it, as it may be written down; empty where there is none."""


def side_plan(
    plan: SuitePlan, side: Side, switch: Switch | None, own: Mapping[str, str], held: HeldCard | None
) -> SidePlan:
    """How the processes of one side start. `own` are its own variables; `held` is the card that they see alone.

    With a card, the suite's modules are left to each run: importing them may touch the card, which no fork survives.
    """
    backend = plan.backend
    inherited, selected = seeing(None if held is None else held.card, backend, plan.inherited)
    place = f"side_{side}" if held is None else f"side_{side}.{held.card.label}"
    return SidePlan(
        side=side,
        interpreter=(switch.interpreter(side) if switch is not None else None) or plan.interpreter,
        environment=side_environment(
            inherited,
            switch.variables(side) if switch is not None else {},
            {**backend.environment, **selected, **plan.env, **own},
            () if plan.target is None else hidden_cards(backend, plan.target),
            plan.suite.import_paths,
        ),
        log=plan.root / f"{place}.log",
        target=plan.target,
        modules=plan.suite.modules if held is None else (),
        memory=plan.memory,
        caches=plan.root / f"{place}.cache",
        held=(held.descriptor,) if held is not None else (),
    )


def seeing(
    card: Card | None, backend: DeviceBackend, inherited: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, str]]:
    """(what is inherited, what is set beside it) by processes that see that card of the vendor alone; None: no card."""
    masks: dict[str, str | None] = variables_for(card, backend) if card is not None else {}
    left_out = variables_of_other_vendors(backend) | masks.keys()
    return (
        {name: value for name, value in inherited.items() if name not in left_out},
        {name: value for name, value in masks.items() if value is not None},
    )


def opened_devices(versions: Mapping[Side, Mapping[str, Any]]) -> str:
    """The devices that a side's imports have opened, as the sides report; empty for none."""
    return ", ".join(sorted({str(device) for found in versions.values() for device in found.get("opened", ())}))


def left_out_variables(plan: SuitePlan, settled: set[str]) -> list[str]:
    """Variables of the user's environment that no side gets and that the command line does not settle."""
    return sorted(set(not_inherited(plan.inherited)) - settled - plan.env.keys())


def suite_as_asked(plan: SuitePlan) -> Suite:
    """The suite, told to read the root's shape file where shapes are asked for, and to run what it compares with.

    Name and path are one argument: as one of its own, pytest would take the path for a place to collect from.
    """
    suite = plan.suite
    if plan.timing is not None and plan.timing.baseline:
        suite = replace(suite, pytest_args=(*suite.pytest_args, *suite.baseline_args))
    if plan.shapes is None:
        return suite
    option = f"{suite.shape_option}={(plan.root / SHAPES_FILE).absolute()}"
    return replace(suite, pytest_args=(*suite.pytest_args, option))


def shapes_asked(plan: SuitePlan) -> dict[str, str]:
    """The shapes that were asked for, by the key under which the suite looks for them."""
    if plan.shapes is None:
        return {}
    asked = plan.shapes.asked
    return {key: " ".join(shapes) for key, shapes in asked.by_key.items() if key in asked.keys}
