"""What a measurement is asked, and how the pairs of a screened root are run again: from what the root itself says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zl_bench import __version__
from zl_bench.backends.base import DeviceBackend
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet.cards import Card
from zl_bench.model import SIDES, Side
from zl_bench.running.planner import Timing
from zl_bench.running.switch import Switch, parse_switch
from zl_bench.store.layout import SHAPES_FILE
from zl_bench.store.request import ScreenRequest
from zl_bench.suites import flaggems
from zl_bench.suites.base import Entry, Suite
from zl_bench.suites.named import load_suite
from zl_bench.suites.shape_file import ShapePlan, read_asked
from zl_bench.workflow.measure_pair import Alternation
from zl_bench.workflow.requests import request_of
from zl_bench.workflow.screen import ScreenPlan

SECRET = "(secret,"
"""How a variable begins that a request keeps only the hash of."""
COMPARED = ("rounds", "alternate", "mirrored", "method", "l2", "switch", "card", "builds", "suite")
"""What must be the same where a measurement goes on; operators may be added."""


@dataclass(frozen=True, kw_only=True)
class MeasurePlan:
    """What the command line asked for, checked. `screen` says how the pairs of the screened root are run on its cards."""

    root: Path
    request: ScreenRequest
    screen: ScreenPlan
    timing: Timing
    named: tuple[str, ...]
    rounds: int
    delta: float
    budget: float | None
    """Seconds after which no pair is begun any more."""
    seed: int
    seed_given: bool
    alternate: Alternation
    ahead: bool
    """Whether a pair may start up while the one before is measured."""
    resume: bool
    mirrored: bool = False
    """Whether the order of the sides is the reverse of what the seed says."""


def suite_of(request: ScreenRequest) -> Suite:
    """The suite that was screened, from where it was. Raises UsageError if it is not there any more."""
    folder = Path(request.extra.get("suite folder", ""))
    if request.suite == flaggems.NAME:
        return load_suite(flaggems.NAME, folder)
    return load_suite("builtin" if request.suite == "builtin" else str(folder), None)


def screen_again(
    root: Path,
    request: ScreenRequest,
    *,
    suite: Suite,
    backend: DeviceBackend,
    cards: tuple[Card, ...],
    given: Mapping[str, str],
    **settled: Any,
) -> ScreenPlan:
    """The plan of the screen that was asked for in `root`, on these cards. `given` are variables that it kept only hashes of.

    `settled` are the fields of the plan that have nothing to do with what was asked. Raises UsageError for a secret variable
    that is not given again.
    """
    return ScreenPlan(
        root=root,
        switch=parse_switch(request.switch, backend.segment),
        target=None,
        cards=cards,
        backend=backend,
        suite=suite,
        entries=(),
        env=_with_secrets(request.env, given),
        env_before=_with_secrets(request.env_before, given),
        env_after=_with_secrets(request.env_after, given),
        stages="all",
        configs="tune",
        pins=None,
        self_check=False,
        jobs=len(cards),
        first_dtype=request.extra.get("dtypes") == "first",
        shapes=_shapes(root, request),
        force=True,  # the screen has settled whether its switch is live
        **settled,
    )


def on_card(plan: ScreenPlan, root: Path, entries: Sequence[Entry], *, resume: bool) -> ScreenPlan:
    """The screen that repeats some operators on the cards, into a root of its own."""
    return replace(plan, root=root, entries=tuple(entries), resume=resume, timing=None)


def require_same_builds(plan: MeasurePlan, versions: Mapping[Side, Mapping[str, Any]]) -> None:
    """Raise UsageError if the compilers, or the suite, are not those that were screened: the code would be another."""
    now = request_of(plan.screen, versions, switch=plan.screen.switch.text, stages="all", configs="tune", env_before={},
                     env_after={}).extra  # fmt: skip
    names = [*(f"{side} Triton" for side in SIDES), "suite's files"]
    changed = [name for name in names if plan.request.extra.get(name) != now.get(name)]
    if changed:
        raise UsageError(
            f"{plan.root} was screened with another {' and another '.join(changed)} than there is now. Nothing was measured; "
            "screen again, into another root."
        )


def require_card_of(request: ScreenRequest, cards: Sequence[Card], root: Path) -> None:
    """Raise EnvironmentUnfit for cards that are not of the model on which a root was screened, or of several models."""
    models = sorted({card.name or card.vendor for card in cards})
    if len(models) > 1:
        raise EnvironmentUnfit(f"The cards are of several models ({', '.join(models)}); measure on one with --cards.")
    screened = request.extra.get("card", "")
    if request.target is None and screened and models[0] not in screened.split(", "):
        raise EnvironmentUnfit(
            f"{root} was screened on {screened}, and the card here is {models[0]}. Nothing was measured: its pins and its "
            "code are the other card's. Measure there, or screen again here."
        )


def header_of(
    plan: MeasurePlan, versions: Mapping[Side, Mapping[str, Any]], entries: Sequence[Entry]
) -> dict[str, Any]:
    """The first line of the record."""
    return {
        "rounds": plan.rounds,
        "delta": plan.delta,
        "seed": plan.seed,
        "alternate": plan.alternate,
        "mirrored": plan.mirrored,
        "method": plan.timing.method,
        "l2": plan.timing.l2,
        "ahead": plan.ahead,
        "switch": plan.screen.switch.text,
        "card": ", ".join(sorted({card.name or card.vendor for card in plan.screen.cards})),
        "builds": {side: str(found["triton"]["library_sha256"]) for side, found in versions.items()},
        "suite": str(plan.screen.suite.root),
        "operators": [entry.text for entry in entries],
        "tool_version": __version__,
        "command": plan.screen.command,
    }


def require_same_measurement(plan: MeasurePlan, recorded: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Raise UsageError naming what differs, if going on would mix two measurements."""
    recorded = {"mirrored": False, **recorded}  # a record may be from before there was a mirrored one
    compared = (*COMPARED, *(("seed",) if plan.seed_given else ()))
    differing = [name for name in compared if recorded.get(name) != asked.get(name)]
    if differing:
        told = "; ".join(f"{name} was {recorded.get(name)}, now {asked.get(name)}" for name in differing)
        raise UsageError(
            f"{plan.root} was measured with other settings: {told}. Nothing was changed. Ask the same as before to resume, or "
            "move measure.jsonl away to measure afresh."
        )


def common_fields(plan: MeasurePlan, versions: Mapping[Side, Mapping[str, Any]]) -> dict[str, Any]:
    """What every line of a row says; by side where the sides differ in it."""
    triton = {
        side: {name: found["triton"].get(name) for name in ("version", "library_sha256")}
        for side, found in versions.items()
    }
    return {
        "switch": plan.screen.switch.text,
        "switch_value": {side: _value_of(plan.screen.switch, side) for side in SIDES},
        "triton": triton,
        "seed": plan.seed,
        "alternate": plan.alternate,
        "mirrored": plan.mirrored,
        "tool_version": __version__,
    }


def _value_of(switch: Switch, side: Side) -> str | None:
    """What the switch is on that side; None for a variable that is unset."""
    if switch.kind == "pass":
        return "kept" if side == "before" else "left out"
    return switch.before if side == "before" else switch.after


def _with_secrets(recorded: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    known = {name: given.get(name, value) for name, value in recorded.items()}
    lost = [name for name, value in known.items() if value.startswith(SECRET)]
    if lost:
        raise UsageError(
            f"The screen was given {', '.join(lost)}, of which only a hash is kept. Give it again: --env {lost[0]}=VALUE."
        )
    return known


def _shapes(root: Path, request: ScreenRequest) -> ShapePlan | None:
    """The shape file that the screen was given, as it lies in its root."""
    if not request.shapes:
        return None
    file = root / SHAPES_FILE
    asked = read_asked(file, tuple(request.shapes), whole_file=request.shape_file is not None)
    return ShapePlan(asked, file.read_text(encoding="utf-8"), request.shape_file)
