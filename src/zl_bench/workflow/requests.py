"""Writes down what a screen or a run was asked, and checks on resuming that the same is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from zl_bench import __version__
from zl_bench.fleet.cards import Card
from zl_bench.model import Side
from zl_bench.running.environment import recordable
from zl_bench.store.request import ScreenRequest, read_request, require_same, write_request
from zl_bench.suites.base import BUILTIN, content_hash
from zl_bench.suites.revision import revision
from zl_bench.workflow.plan import SuitePlan, shapes_asked


def request_of(plan: SuitePlan, versions: Mapping[Side, Mapping[str, Any]], **own: Any) -> ScreenRequest:
    """What the plan asks for, now. `versions` are those that the sides report; `own` are the request's further fields."""
    builds = {f"{side} Triton": str(found["triton"]["library_sha256"]) for side, found in versions.items()}
    models = {"card": ", ".join(sorted({card.name or card.vendor for card in plan.cards}))} if plan.cards else {}
    return ScreenRequest(
        target=plan.target,
        suite=plan.suite.name,
        env=recordable(plan.env),
        operators=tuple(entry.text for entry in plan.entries),
        tool_version=__version__,
        started=datetime.now().astimezone().isoformat(timespec="seconds"),
        criterion=plan.backend.criterion_stage,
        shapes=shapes_asked(plan),
        shape_file=plan.shapes.given if plan.shapes is not None else None,
        cards=tuple(_card(card) for card in plan.cards),
        timing=plan.timing.method if plan.timing is not None else None,
        l2=plan.timing.l2 if plan.timing is not None else None,
        commands=(plan.command,) if plan.command else (),
        revision=revision(plan.suite.root) if plan.suite.name != BUILTIN else None,
        extra={
            **builds,
            "suite folder": str(plan.suite.root),
            "suite's files": content_hash(plan.suite.root),
            "dtypes": "first" if plan.first_dtype else "own",
            **models,
        },
        **own,
    )


def settle_request(plan: SuitePlan, asked: ScreenRequest, file: str) -> None:
    """Write the request, or check that a root to resume was asked the same. Operators may be added, and cards.

    Raises UsageError, which names what differs.
    """
    recorded = read_request(plan.root, file)
    if recorded is not None and plan.resume:
        require_same(plan.root, replace(recorded, operators=asked.operators), asked)
        added = tuple(card for card in asked.cards if card not in recorded.cards)
        commands = tuple(dict.fromkeys((*recorded.commands, *asked.commands)))
        asked = replace(asked, started=recorded.started, cards=(*recorded.cards, *added), commands=commands)
    write_request(plan.root, asked, file)


def _card(card: Card) -> dict[str, str]:
    return {"index": str(card.index), "name": card.name, "uuid": card.uuid, "pci": card.pci}
