"""What the tool asks of a vendor. Everything else in the tool is the same for all."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class DeviceBackend:
    """One vendor's data.

    `segment` is what `{VENDOR}` becomes in a switch's name: empty for none, None when nobody has told yet.
    `target_kinds` are the first parts of the targets that the vendor's Triton compiles for (`cuda:90` -> `cuda`).
    `criterion_stage` is the stage whose fingerprints decide between IR_CHANGED and NO_IR_DIFF.
    `mask_variables` hide cards from a process; a compile-only run sets them to nothing, so that it can touch none.
    `compat_plugins` are pytest plugins that the vendor needs; they are planned first.
    """

    name: str
    segment: str | None
    target_kinds: tuple[str, ...] = ()
    criterion_stage: str = "ttgir"
    mask_variables: tuple[str, ...] = ()
    compat_plugins: tuple[str, ...] = ()
