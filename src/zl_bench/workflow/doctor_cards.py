"""Looks at the cards: which there are, who uses them, and whether what is timed on one can be trusted.

Everything on a card is done by children of a side server that hold the card's lock, as runs do; one that is in use is left
alone.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from zl_bench.analysis.wording import counted
from zl_bench.backends.base import DeviceBackend
from zl_bench.errors import EnvironmentUnfit
from zl_bench.fleet.cards import Card, ask, list_cards, processes_on
from zl_bench.fleet.locks import CardLock, Holder, lock_folder
from zl_bench.model import TimingMethod
from zl_bench.running.environment import side_environment
from zl_bench.running.servers import SideServers
from zl_bench.running.switch import Switch
from zl_bench.workflow.doctor import (
    Finding,
    compilers_found,
    last_line,
    side_plans,
    switch_found,
    target_found,
    tool_found,
    why,
)
from zl_bench.workflow.doctor_timer import judge_selftest
from zl_bench.workflow.liveness import card_target
from zl_bench.workflow.plan import opened_devices, seeing

SELFTEST_LIMIT = 300.0
"""Seconds. It takes some ten; a device that does not answer is given up by the timer itself after one or two minutes."""
FOR_A_CARD = "pip install torch (the build for this card, which brings its Triton) pytest"
USED_FOR = Path("zl-bench doctor")
"""What others are told that the card is used for."""


@dataclass(frozen=True)
class CardQuestion:
    """What is to be looked at. `inherited` is the environment that the measured processes are based on."""

    interpreter: Path
    backend: DeviceBackend
    cards: tuple[Card, ...]
    switch: Switch | None
    inherited: Mapping[str, str]


async def diagnose_cards(question: CardQuestion) -> tuple[Finding, ...]:
    """Everything that a screen or a run on these cards relies on, in the order in which it would fail.

    The compilers and the switch are the same on every card, so they are looked at once.
    """
    findings = [*tool_found(), _listed(question)]
    for card in question.cards:
        told = {finding.subject for finding in findings}
        findings += await _examine(card, question, told)
        if any(finding.subject == "interpreter" and not finding.good for finding in findings):
            return tuple(findings)
    if question.switch is not None and all(finding.subject != "switch" for finding in findings):
        text = f"{question.switch.text} was not looked for: its pipeline is that of a card, and none could be used"
        findings.append(Finding("switch", False, text, "ask again with a card that is free, or about a --target"))
    return tuple(findings)


def methods_for(backend: DeviceBackend) -> tuple[TimingMethod, ...]:
    """The timing methods that can be tried on the vendor's cards without harm: a graph's replay wedges some."""
    lacks = set(backend.timing_lacks)
    queued: tuple[TimingMethod, ...] = () if "events" in lacks else ("queued",)
    graph: tuple[TimingMethod, ...] = () if lacks & {"events", "graphs"} else ("graph",)
    return ("direct", *queued, *graph)


def _listed(question: CardQuestion) -> Finding:
    vendor = question.backend.name
    cards = list_cards(question.backend, ask(question.inherited))
    if cards is None:
        return Finding("cards", True, f"how those of {vendor} are listed is not known here; they are taken by number")
    return Finding("cards", True, f"{counted(len(cards), 'card')} of {vendor}: {', '.join(map(str, cards))}")


async def _examine(card: Card, question: CardQuestion, told: AbstractSet[str]) -> list[Finding]:
    """What there is to say of the card, and of what was not `told` yet."""
    findings = [_others(card, question)]
    try:
        lock = CardLock(card, lock_folder(question.inherited))
        free = lock.take(Holder.of_this_process(USED_FOR))
    except EnvironmentUnfit as error:
        return _of(card, [*findings, Finding("lock", False, str(error).rstrip("."))])
    try:
        findings = _of(card, [*findings, _lock(lock, free=free)])
        if free or "interpreter" not in told:
            findings += await _on_sides(card, question, lock if free else None, told)
    finally:
        lock.release()
    return findings


def _of(card: Card, findings: Sequence[Finding]) -> list[Finding]:
    return [replace(finding, subject=f"card {card.index} {finding.subject}".rstrip()) for finding in findings]


def _others(card: Card, question: CardQuestion) -> Finding:
    """Nothing of ours has the card open yet."""
    found = processes_on(card, question.backend, ask(question.inherited))
    if found is None:
        return Finding("processes", True, "who has it open can not be known here")
    if not found:
        return Finding("processes", True, "nobody has it open")
    told = ", ".join(map(str, found))
    return Finding("processes", True, f"others have it open, which may disturb what is timed: {told}")


def _lock(lock: CardLock, *, free: bool) -> Finding:
    if free:
        return Finding("lock", True, "was free, and is held for this examination")
    return Finding(
        "lock",
        False,
        f"held by {lock.told_holder()}, so the card itself was left alone",
        "ask again when that has ended, or about another card with --cards",
    )


async def _on_sides(card: Card, question: CardQuestion, lock: CardLock | None, told: AbstractSet[str]) -> list[Finding]:
    """What the measured processes say; without the card's lock they do not touch it."""
    findings: list[Finding] = []
    switch = question.switch if "switch" not in told else None
    with tempfile.TemporaryDirectory(prefix="zl-bench-doctor-") as folder:
        scratch = Path(folder)
        held = (lock.descriptor,) if lock is not None else ()
        plans = side_plans(question.interpreter, _environment(card, question), question.switch, scratch, None, held)
        async with SideServers(plans) as servers:
            started, compilers = await compilers_found(servers, question.interpreter, scratch, FOR_A_CARD)
            if not started or "interpreter" not in told:
                findings += compilers
            if not started:
                return findings
            target = None
            if lock is not None:
                target, found = await _target(card, servers, scratch)
                findings += _of(card, found)
            if switch is not None and (target is not None or switch.kind != "pass"):
                findings.append(await switch_found(switch, servers, target, scratch))
            if target is not None:
                findings += _of(card, await _selftest(question.backend, servers, scratch))
    return findings


def _environment(card: Card, question: CardQuestion) -> dict[str, str]:
    """As a run on that card has it, without what only a command line adds."""
    inherited, selected = seeing(card, question.backend, question.inherited)
    return side_environment(inherited, {}, {**question.backend.environment, **selected})


async def _target(card: Card, servers: SideServers, scratch: Path) -> tuple[str | None, list[Finding]]:
    """What the card compiles for; None where it can not be used."""
    opened = opened_devices(await servers.start())
    findings = []
    if opened:
        text = f"importing has opened {opened}: if runs can not use the card, that may be why"
        findings.append(Finding("imports", True, text))
    try:
        target = await card_target(servers, scratch)
    except EnvironmentUnfit as error:
        remedy = f"install the driver of {card}, and a torch and a Triton that are built for it"
        return None, [*findings, Finding("target", False, why(error, scratch), remedy)]
    compiles, finding = await target_found(servers, target, scratch)
    return target if compiles else None, [*findings, finding]


async def _selftest(backend: DeviceBackend, servers: SideServers, scratch: Path) -> list[Finding]:
    """The timer's self-test, in a child of its own."""
    server = await servers.server(next(iter(servers.plans)))
    out = Path(tempfile.mkdtemp(prefix="selftest-", dir=scratch)) / "answer.json"
    outcome = await server.selftest(backend.torch_device or "cuda", methods_for(backend), out, SELFTEST_LIMIT)
    if outcome.kind != "exited" or outcome.code != 0 or not out.is_file():
        said = " ".join(filter(None, (outcome.kind, str(outcome.code or ""), outcome.detail, last_line(scratch))))
        remedy = "see whether other programs can use the card; what it can not do here, a run can not do either"
        return [Finding("timer", False, f"its self-test came to no end: {said}", remedy)]
    answer: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return [*_driver(answer["card"]), *judge_selftest(answer, backend.default_timing)]


def _driver(told: Mapping[str, Any] | None) -> list[Finding]:
    """The card in the words of its driver."""
    if told is None:
        return []
    words = [str(told.get(name) or "") for name in ("name", "uuid")]
    driver = f"driver {told['driver']}" if told.get("driver") else ""
    return [Finding("", True, ", ".join(filter(None, (*words, driver))) or "its driver tells nothing of it")]
