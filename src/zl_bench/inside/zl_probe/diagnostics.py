"""What native code printed while a compilation failed: it goes to standard error, and nowhere else."""

import os
import re

LIMIT = 10_000
"""Characters kept of each end; in between, MLIR may dump a whole module."""
PIPELINE = re.compile(r"Pipeline failed while executing \[`([^`]+)`")
CAUSE = re.compile(r"^.*(?:\berror:|Assertion ).*$", re.MULTILINE)
GENERIC = "Failures have been detected while processing an MLIR pass pipeline"


def log_position() -> int:
    """Where the process's standard error stands, if it is a file (a run's log); 0 otherwise."""
    try:
        return os.fstat(2).st_size
    except OSError:
        return 0


def printed_since(position: int) -> str:
    """What went to the log since `position`; of a long text the two ends."""
    try:
        with open("/proc/self/fd/2", "rb") as log:
            log.seek(position)
            text = log.read().decode("utf-8", "replace")
    except OSError:
        return ""
    return text if len(text) <= 2 * LIMIT else f"{text[:LIMIT]}\n[…]\n{text[-LIMIT:]}"


def failed_pass(text: str) -> str:
    """The pass that MLIR says it was executing when its pipeline failed; empty when it does not say."""
    found = PIPELINE.search(text)
    return found[1] if found else ""


def cause(text: str) -> str:
    """The first error or failed assertion that says more than that a pipeline failed."""
    lines = (match[0].strip() for match in CAUSE.finditer(text))
    return next((line for line in lines if GENERIC not in line), "")
