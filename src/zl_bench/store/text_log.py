"""Reading the tables that FlagGems' benchmark prints, out of a text log with anything else between their lines.

A table has a heading for one operator and dtype, and a line per row::

    Operator: mm  Performance Test (dtype=torch.float16, mode=kernel,level=core)
    Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup              TFLOPS          Size Detail
    ------------------------------------------------------------------------------------------------------------------
    SUCCESS               0.006432            0.004192               1.534               0.125          [torch.Size([64, 64])]

Which columns stand between the speed-up and the size detail (TFLOPS, GB/s of torch, GB/s of the operator) differs from row
to row, whatever the heading says; ten blanks stand before the detail. A latency is `N/A` where none was taken.

A line with BENCHMARK_DIRECT_NO_CUDAGRAPH marks rows that were not timed by graph replay. Within a row's line it marks that
row. As zl-bench writes it (`BENCHMARK_DIRECT_NO_CUDAGRAPH queued: mm float16 [torch.Size([64, 64])] (operator): why`) it
marks the rows that it names, wherever they stand; with `(baseline)` it is about their torch latencies. Any other marks the
row whose line comes next in its table; after a table's last row, that row if it follows at once; otherwise, since a table
is printed when its rows have been timed, all rows of the next table.

A log may be cut anywhere, and what was printed next stands in the same line. So a line that only begins like a heading ends
the table above it: whose the rows below it are is not known. However long a log and its lines are, reading takes time in
proportion.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path

from zl_bench.analysis.measured import Measured, Timed
from zl_bench.analysis.wording import counted, listed
from zl_bench.errors import UsageError
from zl_bench.inside.zl_probe.timing.summary import why_invalid
from zl_bench.inside.zl_probe.wire import DIRECT_MARKER

CONTROLS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|[\x00-\x08\x0e-\x1f\x7f]")
"""ANSI's colours and other codes of a terminal."""
LINE_ENDS = re.compile(r"\r\n|\n|\r")
OPERATOR = "Operator: "
TITLE = "Performance Test (dtype="
GROUP = re.compile(r"(?P<dtype>.*?), ?mode=(?P<mode>[^,)]*)")
VALUE = r"(?:N/A|None|[-+]?(?:nan|inf|\d+(?:\.\d*)?(?:e[-+]?\d+)?))"
ROW = re.compile(
    rf"(?<!\S)(?P<status>[A-Z]+)\s+(?P<torch>{VALUE})\s+(?P<own>{VALUE})\s+{VALUE}(?:\s+{VALUE}){{0,3}} {{10}}(?P<detail>\S.*)$"
)
ALMOST_A_ROW = re.compile(r"^\s*(?:SUCCESS|FAILED)\s+(?:N/A|[-+]?\d|nan|inf)")
NAMED_MARKER = re.compile(
    re.escape(DIRECT_MARKER)
    + r" (?:queued|direct): (?P<row>\S+ (?:-|None|bool|(?:b?float|u?int|complex)\d+\w*)(?: .*)?)$"
)
SOMEWHERE_A_ROW = re.compile(r"(?:SUCCESS|FAILED)\s+(?:N/A|[-+]?\d|nan|inf)")
ROLE = re.compile(r" \((operator|baseline)\)(?=:|$)")
FAILED_OPERATOR = re.compile(r"FAILED: Operator=(\S+)|^FAILED (\S+::\S+)")
ABRIDGED = re.compile(r"… \(\d+ characters, SHA-256 [0-9a-f]+\)$")
"""How the probe ends a size detail that was too long to print."""
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


@dataclass(frozen=True)
class TextLog:
    """What a log holds. `modes` are FlagGems' ways of timing (`kernel`, `cudagraph`, …) that its headings name."""

    rows: tuple[Measured, ...]
    tables: int
    modes: frozenset[str]
    notes: tuple[str, ...]
    """What could not be counted, a sentence each."""
    without_rows: tuple[tuple[str, str], ...] = ()
    """Operators and dtypes of which the log tells that they were tried, without a row; the dtype is empty where unknown."""


@dataclass
class _Reading:
    """A log as far as it has been read. Places are those of lines."""

    headings: dict[int, tuple[str, str]] = field(default_factory=dict)
    modes: set[str] = field(default_factory=set)
    rows: dict[int, Measured] = field(default_factory=dict)
    tables: dict[int, int] = field(default_factory=dict)
    """By the place of a row, that of its heading."""
    markers: dict[int, str] = field(default_factory=dict)
    broken: int = 0
    """Lines of rows that are cut or damaged."""
    homeless: int = 0
    """Rows below no whole heading."""
    cut: int = 0
    """Headings that are cut or damaged."""
    failed: list[str] = field(default_factory=list)
    """Operators or tests that failed without a table."""


def read_text_log(path: Path) -> TextLog:
    """The rows of a log. Raises UsageError if it can not be read or holds no table."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} can not be read: {error.strerror or error}.") from error
    log = parse_text_log(content.decode("utf-8-sig", "replace"))
    if not log.tables:
        raise UsageError(
            f"{path} holds no table of FlagGems' benchmark (Operator: …  Performance Test …). Give a text log of that "
            "benchmark, the directory of a run, or the root of `zl-bench screen --timing` or `zl-bench run`."
        )
    return log


def parse_text_log(text: str) -> TextLog:
    """The rows in the text of a log."""
    reading, heading = _Reading(), -1
    counts: Counter[tuple[str, str, str]] = Counter()
    for place, line in enumerate(CONTROLS.sub("", line) for line in LINE_ENDS.split(text)):
        found = _heading(line)
        if found is not None or _is_cut_heading(line):
            heading = -1
            if found is not None:
                heading = place
                reading.headings[place] = found[:2]
                reading.modes.add(found[2])
            reading.cut += line.count(OPERATOR) - (found is not None)
            reading.broken += SOMEWHERE_A_ROW.search(line) is not None
            continue
        row = ROW.search(line)
        if row is not None and heading < 0:
            reading.homeless += 1
        elif row is not None and (detail := _detail(row["detail"])):
            counts[(*reading.headings[heading], detail)] += 1
            occurrence = counts[(*reading.headings[heading], detail)] - 1
            reading.tables[place] = heading
            reading.rows[place] = _measured(reading.headings[heading], row, detail, occurrence, DIRECT_MARKER in line)
        elif DIRECT_MARKER in line:
            reading.markers[place] = line[line.index(DIRECT_MARKER) :].strip()
        elif row is not None or (heading >= 0 and ALMOST_A_ROW.search(line)):
            reading.broken += 1
        elif failed := FAILED_OPERATOR.search(line):
            reading.failed.append(failed[1] or failed[2])
    rows = tuple(_with_markers(reading).values())
    return TextLog(rows, len(reading.headings), frozenset(reading.modes), _notes(reading), _without_rows(reading))


def _heading(line: str) -> tuple[str, str, str] | None:
    """Operator, dtype and mode, if a whole heading is the last that the line holds."""
    operator, title, rest = line[line.rfind(OPERATOR) :].partition(TITLE)
    group = GROUP.match(rest)
    name = operator.removeprefix(OPERATOR)
    if (
        not title
        or group is None
        or not operator.startswith(OPERATOR)
        or not name[:1].strip()
        or not name[-1].isspace()
    ):
        return None
    return name.rstrip(), group["dtype"].rsplit(".", 1)[-1], group["mode"].strip()


def _is_cut_heading(line: str) -> bool:
    """Whether a line that is no heading was to become one, other than by quoting an error after its own beginning."""
    before, operator, _ = line.partition(OPERATOR)
    return bool(operator) and DIRECT_MARKER not in before and FAILED_OPERATOR.search(before) is None


def _detail(text: str) -> str:
    """The size detail without a marker behind it; empty if it was cut short, so that it names no row."""
    detail, marker, _ = text.partition(DIRECT_MARKER)
    detail = detail.rstrip(" \t[(<#|*-" if marker else None)
    bare = QUOTED.sub("", detail)
    whole = all(bare.count(start) == bare.count(end) for start, end in ("()", "[]", "{}"))
    return detail if whole or ABRIDGED.search(detail) else ""


def _measured(group: tuple[str, str], row: re.Match[str], detail: str, occurrence: int, direct: bool) -> Measured:
    torch, own = _timed(row["torch"]), _timed(row["own"])
    failure = "" if row["status"] == "SUCCESS" else f"the log says {row['status']}"
    if not failure and isinstance(own, str):
        failure = own
    return Measured(
        *group,
        detail=detail,
        node="",
        ordinal=occurrence,
        occurrence=occurrence,
        own=None if failure or isinstance(own, str) else own,
        failure=failure,
        torch=None if isinstance(torch, str) else torch,
        direct=direct,
    )


def _timed(text: str) -> Timed | str:
    """A latency, or why it is none."""
    if text in ("N/A", "None"):
        return "the latency is N/A"
    milliseconds = float(text)
    return why_invalid(milliseconds) or Timed(milliseconds)


def _with_markers(reading: _Reading) -> dict[int, Measured]:
    """The rows by their places, with what markers on lines of their own say of them."""
    names = {at: f"{row.operator} {row.dtype} {row.detail}".rstrip() for at, row in reading.rows.items()}
    known, longest = set(names.values()), max(map(len, names.values()), default=0)
    said: set[tuple[str, str]] = set()
    unnamed: list[int] = []
    for place, marker in reading.markers.items():
        named = NAMED_MARKER.fullmatch(marker)
        if named is None:
            unnamed.append(place)
        elif (row := _named(named["row"], known, longest)) is not None:
            said.add(row)
    direct = _unnamed(reading, unnamed)
    return {
        at: replace(
            row,
            direct=row.direct or at in direct or (names[at], "operator") in said,
            torch_direct=(names[at], "baseline") in said,
        )
        for at, row in reading.rows.items()
    }


def _named(text: str, known: set[str], longest: int) -> tuple[str, str] | None:
    """The name of the row that a marker's words are about, and whether of its `operator` or its `baseline`."""
    for role in ROLE.finditer(text):
        if role.start() > longest + 1:
            break
        if (name := text[: role.start()].rstrip()) in known:
            return name, role[1]
    return (text, "operator") if text in known else None


def _unnamed(reading: _Reading, markers: list[int]) -> set[int]:
    """The places of the rows that markers mark which name none."""
    places = sorted((*reading.rows, *reading.headings))
    above: dict[int, int] = {}
    for place in reading.markers:  # of markers one below the other, the line above the first
        above[place] = above.get(place - 1, place - 1)
    marked, tables = set(), set()
    for place in markers:
        at = bisect(places, place)
        following = places[at] if at < len(places) else -1
        if following in reading.rows:
            marked.add(following)
        elif above[place] in reading.rows:
            marked.add(above[place])
        else:
            tables.add(following)
    return marked | {at for at, heading in reading.tables.items() if heading in tables}


def _without_rows(reading: _Reading) -> tuple[tuple[str, str], ...]:
    filled = set(reading.tables.values())
    empty = [group for place, group in reading.headings.items() if place not in filled]
    return tuple(dict.fromkeys((*empty, *((name, "") for name in reading.failed if "::" not in name))))


def _notes(reading: _Reading) -> tuple[str, ...]:
    filled = set(reading.tables.values())
    empty = [f"{operator} {dtype}" for place, (operator, dtype) in reading.headings.items() if place not in filled]
    notes = []
    if reading.broken:
        notes.append(f"{counted(reading.broken, 'line')} of a table cut short or damaged, not counted as a row")
    if reading.homeless:
        notes.append(f"{counted(reading.homeless, 'row')} below no whole heading of a table, of no known operator")
    if reading.cut:
        notes.append(f"{counted(reading.cut, 'heading')} of a table cut or damaged, not counted as a table")
    if empty:
        notes.append(f"{counted(len(empty), 'table')} without a row: {listed(empty)}")
    if reading.failed:
        notes.append(f"failed before the rows were printed: {listed(reading.failed)}")
    return tuple(notes)
