"""`export`: round medians in the formats of other tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zl_bench.analysis.rounds import RoundMedian
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import SIDES, RowKey, Side
from zl_bench.reports import exports
from zl_bench.store.round_file import read_rounds


@dataclass(frozen=True)
class Format:
    """A format that another tool reads. `compare` are the words that compare the two files, after which their names follow."""

    write: Callable[[Sequence[RoundMedian], Iterable[RowKey]], str]
    ending: str
    compare: str


FORMATS: Mapping[str, Format] = {
    "benchfmt": Format(exports.benchfmt, ".txt", "benchstat"),
    "google-benchmark": Format(exports.google_benchmark, ".google-benchmark.json", "compare.py benchmarks"),
    "pyperf": Format(exports.pyperf, ".pyperf.json", "python -m pyperf compare_to"),
}


@dataclass(frozen=True)
class Exported:
    """The text of each side. `notes` name the lines that were no rounds."""

    sides: Mapping[Side, str]
    notes: tuple[str, ...]


def export_rounds(source: Path, form: Format, sides: Sequence[Side] = SIDES) -> Exported:
    """The rounds in a file, or in a measured root, as text in a format. Raises UsageError if a side has none."""
    found = read_rounds(source)
    keys = {median.key for median in found.medians}
    texts: dict[Side, str] = {}
    for side in sides:
        medians = [median for median in found.medians if median.side == side]
        if not medians:
            raise UsageError(f"{source} has no median of the {side} side.")
        texts[side] = form.write(medians, keys)
    return Exported(texts, found.bad)


def write_sides(exported: Exported, form: Format, folder: Path) -> tuple[Path, ...]:
    """Write a file for each side into a folder, which is made. Raises EnvironmentUnfit where that fails."""
    return tuple(write_side(text, folder / f"{side}{form.ending}") for side, text in exported.sides.items())


def write_side(text: str, path: Path) -> Path:
    """Write one side to a file. Raises EnvironmentUnfit where that fails."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise EnvironmentUnfit(
            f"can not write {path}: {error.strerror or error}. The rounds are as they were; name another place with --output."
        ) from error
    return path
