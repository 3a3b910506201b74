"""How two contents of a stage differ, for reading."""

from __future__ import annotations

import difflib

from zl_bench.ir.fingerprint import fingerprint, normalise


def unified_diff(stage: str, a: bytes, b: bytes, label_a: str, label_b: str) -> list[str]:
    """The unified diff of the normalised texts, a line an item without line ends; empty when the fingerprints agree.

    For machine code the lines are its sections, each with size and hash. Raises UnreadableStage.
    """
    if fingerprint(stage, a).digest == fingerprint(stage, b).digest:
        return []
    before = normalise(stage, a).splitlines()
    after = normalise(stage, b).splitlines()
    return list(difflib.unified_diff(before, after, label_a, label_b, lineterm=""))
