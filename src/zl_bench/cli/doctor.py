"""`zl-bench doctor`: what is installed, what can be compiled for, whether a switch is live; each finding with its remedy."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import click

from zl_bench.backends.vendors import backend_for_target, backend_named
from zl_bench.cli.options import choose_interpreter, choose_switch, configuration
from zl_bench.errors import ExitCode
from zl_bench.suites import flaggems
from zl_bench.workflow.doctor import Finding, diagnose
from zl_bench.workflow.doctor_suite import examine_flaggems


@click.command()
@click.option("--target", default="cuda:90", show_default=True, help="What to compile for, for example hip:gfx942.")
@click.option("--switch", "switch_text", help="Say whether the installed Triton knows this switch.")
@click.option("--python", help="Python of the measured processes; the one that runs zl-bench unless given.")
@click.option("--vendor", help="Vendor whose segment {VENDOR} in the switch stands for.")
@click.option("--vendor-segment", help="The segment itself, for a vendor that is not known.")
@click.option("--suite", "suite_name", type=click.Choice([flaggems.NAME]), help="Check this suite's checkout as well.")
@click.option(
    "--checkout", type=click.Path(path_type=Path), help="Its folder; ZL_FLAGGEMS or zl-bench.toml unless given."
)
def doctor(
    target: str,
    switch_text: str | None,
    python: str | None,
    vendor: str | None,
    vendor_segment: str | None,
    suite_name: str | None,
    checkout: Path | None,
) -> None:
    """Check what this machine can do; exit 3 if something needed is missing, 4 if the switch is dead."""
    config = configuration()
    vendor, python = vendor or config.vendor, python or config.python
    folder = config.checkout(checkout, os.environ) if suite_name or checkout else None
    backend = backend_named(vendor) if vendor else backend_for_target(target)
    switch = choose_switch(switch_text, backend, vendor_segment) if switch_text else None
    findings = asyncio.run(diagnose(choose_interpreter(python), target, backend, switch))
    if folder is not None:
        findings += examine_flaggems(folder, backend)
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
