"""Round medians of one side in the formats of other tools: benchstat, google-benchmark's compare.py and pyperf read them.

Each median is a sample, since a round is what n counts. They are written as measured: without the pairing into rounds and the
placebos' common mode, which no format can say, so that those tools see more noise than `judge` does. Both sides of a file name
their rows alike, which is how the tools find what to compare; no two rows share a name.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal

from zl_bench.analysis.rounds import RoundMedian, table_place
from zl_bench.model import RowKey
from zl_bench.reports.summary_view import clean

PREFIX = "BenchmarkRow"
"""Go takes no line for a result whose name does not begin with Benchmark and a capital letter."""
NOT_IN_GO = re.compile(r"[/%]|-(?=\d+$)")
"""What would begin another part of a Go name or its number of processors, or looks as if it were escaped already."""
NANOSECONDS, SECONDS = 6, -3
"""Of a millisecond, as a power of ten."""

Spelling = Callable[[RowKey, bool], str]
"""The name of a row, in short or with everything that its key holds."""


def benchfmt(medians: Sequence[RoundMedian], keys: Iterable[RowKey]) -> str:
    """One side in Go's benchmark format, a line per round of a row; `keys` are the rows of both sides.

    There is no configuration line: benchstat compares nothing whose configurations differ. Names are parts with keys, so that
    `benchstat -filter /operator:softmax` finds its rows.
    The format: https://go.googlesource.com/proposal/+/master/design/14313-benchmark-format.md
    """
    names = row_names(keys, _go_name)
    rows = _by_row(medians)
    lines = [
        f"{names[key]} 1 {format(_scaled(median, NANOSECONDS), 'f')} ns/op" for key in rows for median in rows[key]
    ]
    return "".join(f"{line}\n" for line in lines)


def google_benchmark(medians: Sequence[RoundMedian], keys: Iterable[RowKey]) -> str:
    """One side in google-benchmark's JSON: a benchmark per row, a repetition per round.

    A device's time is no processor's, but compare.py wants one: both are the median.
    The format: https://github.com/google/benchmark/blob/main/docs/user_guide.md#output-formats
    """
    names = row_names(keys, _plain_name)
    benchmarks = [
        {
            "name": names[key],
            "family_index": family,
            "per_family_instance_index": 0,
            "run_name": names[key],
            "run_type": "iteration",
            "repetitions": len(row),
            "repetition_index": repetition,
            "threads": 1,
            "iterations": 1,
            "real_time": float(_scaled(median, NANOSECONDS)),
            "cpu_time": float(_scaled(median, NANOSECONDS)),
            "time_unit": "ns",
        }
        for family, (key, row) in enumerate(_by_row(medians).items())
        for repetition, median in enumerate(row)
    ]
    return _json({"context": {"executable": "zl-bench", "json_schema_version": 1}, "benchmarks": benchmarks})


def pyperf(medians: Sequence[RoundMedian], keys: Iterable[RowKey]) -> str:
    """One side as a suite of pyperf: a benchmark per row, a run with one value per round.

    The format: https://pyperf.readthedocs.io/en/latest/api.html#pyperf-json
    """
    names = row_names(keys, _plain_name)
    benchmarks = [
        {
            "metadata": {"name": names[key]},
            "runs": [{"values": [float(_scaled(median, SECONDS))]} for median in row],
        }
        for key, row in _by_row(medians).items()
    ]
    return _json({"version": "1.0", "metadata": {"unit": "second"}, "benchmarks": benchmarks})


def row_names(keys: Iterable[RowKey], spelling: Spelling) -> Mapping[RowKey, str]:
    """A name of its own for each row: in short where that is enough, else in whole, else with a number as Go gives them."""
    ordered = sorted(set(keys), key=table_place)
    short = Counter(spelling(key, False) for key in ordered)
    names: dict[RowKey, str] = {}
    taken: set[str] = set()
    for key in ordered:
        brief = spelling(key, False)
        name = wanted = brief if short[brief] == 1 else spelling(key, True)
        number = 0
        while name in taken or (name != brief and name in short):
            number += 1
            name = f"{wanted}#{number:02d}"
        names[key] = name
        taken.add(name)
    return names


def _go_name(key: RowKey, whole: bool) -> str:
    """`BenchmarkRow/operator=softmax/dtype=float16/detail=[64,_64]`, with blanks as Go's own tests write them."""
    parts = {"operator": key.operator, "dtype": key.dtype, "detail": key.detail}
    if whole:
        parts |= {"node": key.node, "ordinal": str(key.ordinal)}
    told = (f"{name}={NOT_IN_GO.sub(_escaped, clean(text))}" for name, text in parts.items() if text)
    return "/".join((PREFIX, *told)).replace(" ", "_")


def _plain_name(key: RowKey, whole: bool) -> str:
    """`softmax float16 [64, 64]`."""
    rest = (key.node, str(key.ordinal)) if whole else ()
    return clean(" ".join(filter(None, (key.operator, key.dtype, key.detail, *rest)))) or "row"


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]):02X}"


def _by_row(medians: Iterable[RoundMedian]) -> dict[RowKey, list[RoundMedian]]:
    """Rows as tables list them, each with its medians in the order of the rounds."""
    rows: dict[RowKey, list[RoundMedian]] = {}
    for median in sorted(medians, key=lambda one: (table_place(one.key), one.round)):
        rows.setdefault(median.key, []).append(median)
    return rows


def _scaled(median: RoundMedian, power: int) -> Decimal:
    """The median times a power of ten, without a digit that it did not have."""
    return Decimal(repr(median.median_ms)).scaleb(power)


def _json(record: object) -> str:
    return json.dumps(record, indent=1) + "\n"
