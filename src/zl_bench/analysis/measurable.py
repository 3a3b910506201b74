"""Which rows of a screen are worth measuring: those whose executed code differs, and placebos, whose code is the same.

A placebo is a promise: whatever it shows is noise. So its launches must agree in everything that was recorded of them, and
there must be one: of a row that launches no Triton kernel nothing was compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from zl_bench.analysis.calibration import FEWEST_PLACEBOS
from zl_bench.analysis.pairing import match_launches
from zl_bench.model import Kernel, PairedRow, RowKey, Verdict

Kind = Literal["changed", "placebo"]


@dataclass(frozen=True)
class RowToMeasure:
    """A row and its kind. `numerics_differ` as the screen found it; None where it compared no outputs."""

    key: RowKey
    kind: Kind
    numerics_differ: bool | None = None


@dataclass(frozen=True)
class Screened:
    """What choosing operators needs to know of one that was screened."""

    operator: str
    dtype: str | None
    verdict: Verdict
    code_differs: bool
    seconds: float

    @property
    def text(self) -> str:
        """As written on the command line."""
        return self.operator if self.dtype is None else f"{self.operator}:{self.dtype}"

    @property
    def worth_measuring(self) -> bool:
        """Whether it is measured unless others are named."""
        return self.verdict is Verdict.IR_CHANGED and self.code_differs


def kind_of(row: PairedRow, before: Sequence[Kernel], after: Sequence[Kernel]) -> Kind | None:
    """What a row that both sides have measured is good for, from the launches of each; None for nothing.

    Nothing is said of rows whose kernels differ from themselves (a self-check), or whose machine code was not recorded.
    """
    if not row.launches or row.sequence == "unstable" or any(launch.unstable for launch in row.launches):
        return None
    if row.machine_code == "differs" or row.sequence != "same":
        return "changed"
    if row.machine_code != "same":
        return None
    alike = all(
        left is not None and right is not None and _told(left) == _told(right)
        for left, right in match_launches(before, after)
    )
    return "placebo" if alike else "changed"


def lacking_placebos(rows: Sequence[RowToMeasure]) -> int:
    """How many placebos are missing for their median and their spread to say anything."""
    return max(0, FEWEST_PLACEBOS - sum(row.kind == "placebo" for row in rows))


def lenders(screened: Sequence[Screened], measured: Sequence[Screened]) -> list[Screened]:
    """Operators to borrow placebos from, the cheapest first: the screen found no difference in any of their rows."""
    there = {(one.operator, one.dtype) for one in measured}
    able = [one for one in screened if one.verdict is Verdict.NO_IR_DIFF and (one.operator, one.dtype) not in there]
    return sorted(able, key=lambda one: (one.seconds, one.operator, one.dtype or ""))


def _told(kernel: Kernel) -> tuple[object, ...]:
    return kernel.identity, kernel.configuration, kernel.shared_bytes
