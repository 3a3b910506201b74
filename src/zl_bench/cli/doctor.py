"""`zl-bench doctor`: what is installed, what the cards can do or what can be compiled for, whether a switch is live; each
finding with its remedy.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import click

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import backend_for_target, backend_named
from zl_bench.cli.cards import ChosenCards, choose_cards
from zl_bench.cli.options import choose_interpreter, choose_switch, choose_target, configuration
from zl_bench.errors import EnvironmentUnfit, ExitCode, UsageError
from zl_bench.fleet.cards import ask, find_vendor, list_cards
from zl_bench.suites import flaggems
from zl_bench.workflow.doctor import Finding, diagnose
from zl_bench.workflow.doctor_cards import CardQuestion, diagnose_cards
from zl_bench.workflow.doctor_suite import examine_flaggems

WITHOUT_A_CARD = "cuda:90"
"""What is looked at where no target is named and no card is there."""


@click.command()
@click.option(
    "--target",
    help=f"Look at compiling for this target, with no card, for example hip:gfx942. Unless given, a card is looked at; "
    f"where there is none, {WITHOUT_A_CARD}.",
)
@click.option(
    "--cards",
    metavar="0,1,…|all",
    help="Cards to look at, as screen and run take them; the first one unless given. One that another measurement uses is "
    "left alone.",
)
@click.option("--switch", "switch_text", help="Say whether the installed Triton knows this switch.")
@click.option("--python", help="Python of the measured processes; the one that runs zl-bench unless given.")
@click.option("--vendor", help="Vendor of the cards, whose segment {VENDOR} in the switch stands for.")
@click.option("--vendor-segment", help="The segment itself, for a vendor that is not known.")
@click.option("--suite", "suite_name", type=click.Choice([flaggems.NAME]), help="Check this suite's checkout as well.")
@click.option(
    "--checkout", type=click.Path(path_type=Path), help="Its folder; ZL_FLAGGEMS or zl-bench.toml unless given."
)
def doctor(
    target: str | None,
    cards: str | None,
    switch_text: str | None,
    python: str | None,
    vendor: str | None,
    vendor_segment: str | None,
    suite_name: str | None,
    checkout: Path | None,
) -> None:
    """Check what this machine can do.

    On a card: who uses it, what it compiles for, whether the timer can be trusted, and how its clock behaves; this takes the
    card for some ten seconds. Exit 3 if something needed is missing or a card is in use, 4 if the switch is dead.
    """
    config = configuration()
    vendor, python = vendor or config.vendor, python or config.python
    if target is not None and cards is not None:
        raise UsageError("--cards is for cards; with --target none is touched. Leave out one of the two.")
    folder = config.checkout(checkout, os.environ) if suite_name or checkout else None
    interpreter = choose_interpreter(python)
    found, findings = (None, ()) if target is not None else _cards(vendor, cards, os.environ)
    if found is not None:
        backend = found.backend
        switch = choose_switch(switch_text, backend, vendor_segment) if switch_text else None
        question = CardQuestion(interpreter, backend, found.cards, switch, dict(os.environ))
        findings += asyncio.run(diagnose_cards(question))
    else:
        target = choose_target(target or WITHOUT_A_CARD)
        backend = backend_named(vendor) if vendor else backend_for_target(target)
        switch = choose_switch(switch_text, backend, vendor_segment) if switch_text else None
        findings += asyncio.run(diagnose(interpreter, target, backend, switch))
    if folder is not None:
        findings += examine_flaggems(folder, backend)
    for finding in findings:
        click.echo(_line(finding))
    bad = [finding for finding in findings if not finding.good]
    if any(finding.subject != "switch" for finding in bad):
        raise SystemExit(ExitCode.ENVIRONMENT)
    if bad:
        raise SystemExit(ExitCode.DEAD_AXIS)


def _cards(
    vendor: str | None, asked: str | None, environment: Mapping[str, str]
) -> tuple[ChosenCards | None, tuple[Finding, ...]]:
    """The cards to look at; else why there are none, which is no fault of a machine that has none.

    Raises EnvironmentUnfit where --cards asks for what is not there.
    """
    try:
        return choose_cards(vendor, asked, environment), ()
    except EnvironmentUnfit as error:
        if asked is not None:
            raise
        named = backend_named(vendor) if vendor is not None else None
        text = f"{str(error).rstrip('.')}. Here {WITHOUT_A_CARD} is looked at"
        return None, (Finding("cards", not _any_card(named, environment), text),)


def _any_card(backend: DeviceBackend | None, environment: Mapping[str, str]) -> bool:
    """Whether there is a card that only can not be used, as one that a mask hides."""
    run = ask(environment)
    return list_cards(backend, run) != () if backend is not None else find_vendor(run) is not None


def _line(finding: Finding) -> str:
    remedy = f" Remedy: {finding.remedy}" if finding.remedy else ""
    return f"{'ok  ' if finding.good else 'BAD '} {finding.subject}: {finding.text}.{remedy}"
