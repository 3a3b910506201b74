"""Options about cards, and how they become a backend, cards and a way of timing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import click

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import all_backends, backend_named, backend_of_environment
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet.cards import Ask, Card, ask, find_vendor, list_cards
from zl_bench.fleet.masks import WITHOUT_A_CARD, choose
from zl_bench.model import L2Policy, TimingMethod
from zl_bench.running.planner import Timing
from zl_bench.running.switch import Switch

ONLY_ON_A_CARD = (
    "What is timed takes a card: give this command on a machine that has one. What takes none: `zl-bench screen --target "
    "cuda:90` says which operators a switch changes, and `zl-bench bisect` without --goal speed which part of it does."
)
"""What helps a command that has no --target."""

cards_option = click.option(
    "--cards",
    metavar="0,1,…|all",
    help="Cards to work on, one operator at a time on each: their numbers, UUIDs, or all. Numbers count from 0 what an "
    "inherited mask (CUDA_VISIBLE_DEVICES …) allows, as a process that inherits it does; the first one unless given.",
)
wait_option = click.option(
    "--wait",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="How long to wait for a card that another measurement uses; 0 exits 3 at once. As long as it takes unless given.",
)
l2_option = click.option(
    "--l2",
    type=click.Choice(["cold", "warm"]),
    help="Flush the L2 before each timed call (cold, unless given), or not.",
)


def timing_option(default: str) -> Callable[[Any], Any]:
    """`--timing`; `default` says what happens without it."""
    return click.option(
        "--timing",
        type=click.Choice(["graph", "queued", "direct"]),
        help="How to time rows on a card: by graph replay, by events queued behind a blocking kernel, or by do_bench as "
        f"it is. {default}",
    )


@dataclass(frozen=True)
class ChosenCards:
    """The vendor and its cards."""

    backend: DeviceBackend
    cards: tuple[Card, ...]


def choose_cards(
    vendor: str | None, asked: str | None, environment: Mapping[str, str], otherwise: str = WITHOUT_A_CARD
) -> ChosenCards:
    """The cards that --cards means: of the vendor named, or else of the environment's, or else of the first that has one.

    `otherwise` is what helps the command where there is none, a sentence for people.
    Raises EnvironmentUnfit when there is no card, UsageError for what names none.
    """
    masks = {name for backend in all_backends() for name in backend.mask_variables}
    unmasked = ask({name: value for name, value in environment.items() if name not in masks})
    named = backend_named(vendor) if vendor is not None else backend_of_environment(environment)
    backend, cards = (
        _of_vendor(named, unmasked, otherwise) if named is not None else _of_any_vendor(unmasked, otherwise)
    )
    return ChosenCards(backend, choose(cards, backend, environment, asked, otherwise))


def _of_vendor(backend: DeviceBackend, run: Ask, otherwise: str) -> tuple[DeviceBackend, tuple[Card, ...] | None]:
    cards = list_cards(backend, run)
    if cards == ():
        looked = f" ({_command(backend)} lists none)" if _command(backend) else ""
        raise EnvironmentUnfit(f"No card of {backend.name} was found{looked}. {otherwise}")
    return backend, cards


def _of_any_vendor(run: Ask, otherwise: str) -> tuple[DeviceBackend, tuple[Card, ...] | None]:
    found = find_vendor(run)
    if found is None:
        looked = ", ".join(dict.fromkeys(filter(None, map(_command, all_backends()))))
        raise EnvironmentUnfit(f"No card was found (looked with {looked}). {otherwise}")
    return found


def _command(backend: DeviceBackend) -> str:
    """The program by which the vendor's cards are looked for."""
    return next(iter(backend.list_command or backend.status_command or backend.query_command), "")


def choose_timing(method: str | None, l2: str | None, default: TimingMethod | None, *, baseline: bool) -> Timing | None:
    """How rows are timed, None where nothing is. Raises UsageError for --l2 without a timing."""
    methods: dict[str, TimingMethod] = {"graph": "graph", "queued": "queued", "direct": "direct"}
    policies: dict[str, L2Policy] = {"cold": "cold", "warm": "warm"}
    chosen = default if method is None else methods[method]
    if chosen is None:
        if l2 is not None:
            raise UsageError("--l2 is for a timing: add --timing graph, queued or direct.")
        return None
    return Timing(chosen, policies[l2 or "cold"], baseline)


def refuse_masks(backend: DeviceBackend, switch: Switch | None, *given: Mapping[str, str]) -> None:
    """Raise UsageError for a mask variable as the switch or with --env: a run would use another card than the one it holds."""
    for name in backend.mask_variables:
        if switch is not None and switch.kind == "variable" and switch.name == name:
            raise UsageError(f"{name} is set by --cards, for one card after the other, and can not be the switch.")
        if any(name in variables for variables in given):
            raise UsageError(
                f"{name} is set by --cards, for one card after the other, and can not be given with --env."
            )
