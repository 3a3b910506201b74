"""Looks at a FlagGems checkout: can its tests be listed, and do the skip guards that compat plugins drop still stand."""

from __future__ import annotations

from pathlib import Path

from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.vendors import all_backends
from zl_bench.errors import UsageError
from zl_bench.suites import flaggems
from zl_bench.suites.skip_guards import stale_overrides
from zl_bench.workflow.doctor import Finding


def examine_flaggems(checkout: Path, chosen: DeviceBackend) -> tuple[Finding, ...]:
    """What there is to say of the checkout. A stale override is bad where the chosen vendor relies on it."""
    try:
        suite = flaggems.load(checkout)
    except UsageError as error:
        return (Finding("flaggems", False, str(error).rstrip("."), "clone FlagGems and name that folder"),)
    files = len({node.file for node in suite.nodes})
    findings = [Finding("flaggems", True, f"{len(suite.nodes)} benchmark tests in {files} files of {checkout}")]
    for backend in all_backends():
        if backend.skip_overrides:
            findings += _overrides(checkout, backend, needed=backend.name == chosen.name)
    return tuple(findings)


def _overrides(checkout: Path, backend: DeviceBackend, *, needed: bool) -> list[Finding]:
    stale = stale_overrides(checkout, backend.skip_overrides)
    subject = f"skip guards of {backend.name}"
    if not stale:
        tried = sum(bool(override.tried) for override in backend.skip_overrides)
        return [
            Finding(
                subject,
                True,
                f"all {len(backend.skip_overrides)} overrides of its compat plugin match this checkout; "
                f"{tried} of them were tried on a card",
            )
        ]
    return [
        Finding(
            subject,
            not needed,
            f"stale override: {found.override.file}, {found.override.reason!r}: {found.finding}",
            f"that test is skipped on {backend.name} until the override is brought up to date" if needed else "",
        )
        for found in stale
    ]
