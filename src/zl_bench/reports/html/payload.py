"""The data of the page. What its first screen shows is plain JSON; what an operator opens to is compressed, one piece each.

A browser parses a megabyte at once and inflates a piece in milliseconds when it is asked for. Nothing here is HTML: JSON is
written so that no text in it can end the script element that holds it, and the scripts of the page put text into it as text.
"""

from __future__ import annotations

import base64
import json
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from zl_bench.ir.side_by_side import Line, SideBySide
from zl_bench.reports.html.differences import Differences, Pair, pair_of
from zl_bench.reports.report_view import KernelView, LaunchView, OperatorView, ReportView, RowView
from zl_bench.reports.summary_view import INVISIBLE

UNKNOWN = "its difference was not gathered"
TOGETHER = 100_000
"""Characters of comparisons that are compressed as one piece, and inflated as one."""
SAME, DIFFERS, LEFT_OUT = 0, 1, 2
"""Kinds of a line in a packed comparison."""

Place = tuple[int, int]
"""Of a comparison: its piece, and its place in there."""


@dataclass(frozen=True)
class Payload:
    """Three texts of JSON: the report, a compressed piece per operator, compressed pieces of comparisons."""

    report: str
    operators: str
    differences: str


def pack(view: ReportView, differences: Differences) -> Payload:
    """The whole view. Texts are as they were recorded, but for characters that can not be seen, which are written out."""
    comparisons, places = _comparisons(differences)
    return Payload(
        report=script_json(_report(view, differences)),
        operators=script_json([squeezed(_details(view, entry, differences, places)) for entry in view.operators]),
        differences=script_json(comparisons),
    )


def _comparisons(differences: Differences) -> tuple[list[str], dict[Pair, Place]]:
    """Compressed lists of comparisons, and where each is: equal ones once, and neighbours, which are much alike, together."""
    compressed: list[str] = []
    places: dict[Pair, Place] = {}
    together: list[dict[str, Any]] = []
    characters = 0
    packed: dict[SideBySide, Place] = {}
    for pair, found in differences.found.items():
        if isinstance(found, str):
            continue
        known = packed.get(found)
        places[pair] = packed[found] = known if known is not None else (len(compressed), len(together))
        if known is not None:
            continue
        together.append(_comparison(found))
        characters += sum(len(text) for line in found.lines for text in (line.before, line.after) if text)
        if characters > TOGETHER:
            compressed.append(squeezed(together))
            together, characters = [], 0
    return [*compressed, *([squeezed(together)] if together else [])], places


def script_json(value: object) -> str:
    """JSON that may stand in a script element: ASCII, and without a `<`, so that nothing in it ends that element."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def squeezed(value: object) -> str:
    """JSON, deflated without a header, in base64: what a browser's DecompressionStream("deflate-raw") reads."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    content = json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
    return base64.b64encode(deflate.compress(content) + deflate.flush()).decode("ascii")


def _report(view: ReportView, differences: Differences) -> dict[str, Any]:
    apart = ("operators", "kernels")
    report = {name.name: plain(getattr(view, name.name)) for name in fields(view) if name.name not in apart}
    return {
        **report,
        "operators": [_operator(entry) for entry in view.operators],
        "rows": [
            _row(operator, place, row)
            for operator, entry in enumerate(view.operators)
            for place, row in enumerate(entry.rows)
        ],
        "row_fields": ROW_FIELDS,
        "differences_note": differences.note,
    }


def _operator(entry: OperatorView) -> dict[str, Any]:
    apart = ("rows", "problems", "key", "uncompared")
    told = {name.name: plain(getattr(entry, name.name)) for name in fields(entry) if name.name not in apart}
    return {
        **told,
        "dtypes": list(dict.fromkeys(row.dtype for row in entry.rows)),
        "problem_count": len(entry.problems),
    }


ROW_FIELDS = (
    "operator", "place", "dtype", "detail", "changed", "first_stage", "source", "kind", "verdict", "before_ms", "after_ms",
    "speedup", "low", "high", "basis",
)  # fmt: skip
"""What a list of thousands of rows shows of each, in the order of their values."""


def _row(operator: int, place: int, row: RowView) -> list[Any]:
    timing = row.timing
    told = (
        ("", "", "", None, None, None, None, None, "")
        if timing is None
        else (
            timing.source, timing.kind, timing.verdict, timing.before_ms, timing.after_ms, timing.speedup, timing.low,
            timing.high, timing.basis,
        )
    )  # fmt: skip
    return [operator, place, visible(row.dtype), visible(row.detail), row.changed, row.first_stage, *told]


def _details(
    view: ReportView, entry: OperatorView, differences: Differences, places: Mapping[Pair, Place]
) -> dict[str, Any]:
    launches = [launch for row in entry.rows for launch in row.launches]
    used = sorted({number for launch in launches for number in (launch.before, launch.after) if number is not None})
    return {
        "rows": [
            {
                **plain(row),
                "launches": [
                    {**plain(launch), "differences": _shown(view.kernels, launch, differences, places)}
                    for launch in row.launches
                ],
            }
            for row in entry.rows
        ],
        "problems": plain(entry.problems),
        "kernels": {str(number): _kernel(view.kernels[number]) for number in used},
    }


def _kernel(kernel: KernelView) -> dict[str, Any]:
    """Without paths and hashes, which no compression makes smaller: they are in kernels.csv."""
    apart = ("stages", "executable_sha256")
    told = {name.name: plain(getattr(kernel, name.name)) for name in fields(kernel) if name.name not in apart}
    return {**told, "stages": [stage.name for stage in kernel.stages]}


def _shown(
    kernels: Sequence[KernelView], launch: LaunchView, differences: Differences, places: Mapping[Pair, Place]
) -> dict[str, Place | str]:
    """Of each stage that differs, where its comparison is or why there is none."""
    if launch.before is None or launch.after is None:
        return dict.fromkeys(launch.changed_stages, "its files are not there any more")
    before, after = (
        {stage.name: stage for stage in kernels[number].stages} for number in (launch.before, launch.after)
    )
    shown: dict[str, Place | str] = {}
    for stage in launch.changed_stages:
        if stage not in before or stage not in after:
            shown[stage] = f"it was not recorded {'before' if stage not in before else 'after'}"
            continue
        pair = pair_of(before[stage], after[stage])
        found = differences.found.get(pair, UNKNOWN)
        shown[stage] = visible(found) if isinstance(found, str) else places[pair]
    return shown


def _comparison(found: SideBySide) -> dict[str, Any]:
    return {
        "lines": [_line(line) for line in found.lines],
        "layouts": [[layout.name, layout.definition, layout.meaning] for layout in found.layouts],
        "before_lines": found.before_lines,
        "after_lines": found.after_lines,
        "differing": found.differing,
        "note": found.note,
    }


def _line(line: Line) -> list[Any]:
    """[0, number, text, number(, text if it is another)], [1, number, text, number, text], or [2, how many]."""
    before, after = (None if text is None else visible(text) for text in (line.before, line.after))
    if line.kind == "left out":
        return [LEFT_OUT, line.count]
    if line.kind == "same" and before == after:
        return [SAME, line.before_number, before, line.after_number]
    return [SAME if line.kind == "same" else DIFFERS, line.before_number, before, line.after_number, after]


def plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, texts as people can see them, all else as it is."""
    if isinstance(value, str):
        return visible(value)
    if value is None or isinstance(value, (int, float)):
        return value
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if is_dataclass(value):
        return {name: plain(field) for name, field in vars(value).items()}
    return value


def visible(text: str) -> str:
    """The text with what can not be seen, or turns the text around it, written out; line ends and tabs stay."""
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode("ascii")
        if one not in "\n\t" and unicodedata.category(one) in INVISIBLE
        else one
        for one in text
    )
