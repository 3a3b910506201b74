"""`zl-bench doctor`: what is installed, what can be compiled for, whether a switch is live; each finding with its remedy."""

from __future__ import annotations

import asyncio

import click

from zl_bench.backends.vendors import backend_for_target, backend_named
from zl_bench.cli.options import choose_interpreter, choose_switch
from zl_bench.errors import ExitCode
from zl_bench.workflow.doctor import Finding, diagnose


@click.command()
@click.option("--target", default="cuda:90", show_default=True, help="What to compile for, for example hip:gfx942.")
@click.option("--switch", "switch_text", help="Say whether the installed Triton knows this switch.")
@click.option("--python", help="Python of the measured processes; the one that runs zl-bench unless given.")
@click.option("--vendor", help="Vendor whose segment {VENDOR} in the switch stands for.")
@click.option("--vendor-segment", help="The segment itself, for a vendor that is not known.")
def doctor(
    target: str, switch_text: str | None, python: str | None, vendor: str | None, vendor_segment: str | None
) -> None:
    """Check what this machine can do; exit 3 if something needed is missing, 4 if the switch is dead."""
    backend = backend_named(vendor) if vendor else backend_for_target(target)
    switch = choose_switch(switch_text, backend, vendor_segment) if switch_text else None
    findings = asyncio.run(diagnose(choose_interpreter(python), target, backend, switch))
    for finding in findings:
        click.echo(_line(finding))
    bad = [finding for finding in findings if not finding.good]
    if any(finding.subject != "switch" for finding in bad):
        raise SystemExit(ExitCode.ENVIRONMENT)
    if bad:
        raise SystemExit(ExitCode.DEAD_AXIS)


def _line(finding: Finding) -> str:
    remedy = f" Remedy: {finding.remedy}" if finding.remedy else ""
    return f"{'ok  ' if finding.good else 'BAD '} {finding.subject}: {finding.text}.{remedy}"
