"""Simulated sides on simulated cards: what runs where and when is noted, and nothing touches a device."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fleet.simulated import MASK, SimulatedCards
from tests.workflow.simulated import Given, SimulatedServers, plan_for, versions
from zl_bench.model import ProcessOutcome, Side
from zl_bench.running.side_server import SidePlan
from zl_bench.workflow.screen import ScreenPlan


@dataclass
class Floor:
    """Everything that goes on on the cards. `slow` operators take longer than the others."""

    triton: Path
    simulated: Mapping[str, Any] = field(default_factory=dict)
    slow: Mapping[str, float] = field(default_factory=dict)
    servers: list[SidesOnACard] = field(default_factory=list)
    ran: list[tuple[str, str, str]] = field(default_factory=list)
    """(card, operator, side), as they began."""
    busy: dict[str, int] = field(default_factory=dict)
    """Runs going on, by card."""

    def open(self, plans: Mapping[Side, SidePlan]) -> SidesOnACard:
        """In the place of SideServers."""
        (card,) = {plan.environment[MASK] for plan in plans.values()}
        found: dict[Side, dict[str, Any]] = {side: versions(self.triton) for side in plans}
        made = SidesOnACard(plans, found=found, card=card, floor=self, **self.simulated)
        self.servers.append(made)
        return made

    def cards_of(self, operator: str) -> set[str]:
        """The cards on which an operator's runs went on."""
        return {card for card, name, _ in self.ran if name == operator}


@dataclass
class SidesOnACard(SimulatedServers):
    """The sides on one card: they must never run at the same time, and no other sides on that card beside them."""

    card: str = ""
    floor: Floor | None = None
    open: bool = False

    async def __aenter__(self) -> SidesOnACard:
        assert self.floor is not None
        assert not any(other.open for other in self.floor.servers if other.card == self.card)
        self.open = True
        return self

    async def __aexit__(self, *_: object) -> None:
        self.open = False

    async def run(self, side: Side, input_file: Path, timeout: float) -> ProcessOutcome:
        assert self.open
        assert self.floor is not None
        floor, operator = self.floor, input_file.parent.name.rsplit("_", 1)[0]
        floor.ran.append((self.card, operator, side))
        floor.busy[self.card] = floor.busy.get(self.card, 0) + 1
        assert floor.busy[self.card] == 1
        try:
            await asyncio.sleep(floor.slow.get(operator, 0.001))
            return await super().run(side, input_file, timeout)
        finally:
            floor.busy[self.card] -= 1


def card_plan(root: Path, simulated: SimulatedCards, switch: str = "SWITCH=a..b", **changed: Any) -> ScreenPlan:
    """A screen of operators on all the cards."""
    settled: dict[str, Any] = {
        "target": None,
        "cards": simulated.cards,
        "backend": simulated.backend,
        "inherited": {"HOME": "/root", **simulated.environment},
        "configs": "tune",
        "jobs": len(simulated.cards),
    }
    return plan_for(root, switch, **{**settled, **changed})


def given_of(floor: Floor) -> list[Given]:
    """The inputs of every run."""
    return [given for servers in floor.servers for given in servers.runs]
