from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from zl_bench.analysis.ab import Comparison
from zl_bench.analysis.summary import OperatorSummary
from zl_bench.reports.summary import as_json, markdown, print_summary, tsv
from zl_bench.reports.summary_view import SummaryView, ab_view, torch_view

MM = Comparison("mm", "float16", total=4, failed_before=0, failed_after=1, speedups=(0.8, 1.25, 2.0), direct="after",
                failures_after=("the latency is zero",), launch_bound=1)  # fmt: skip
SUM = Comparison("sum|[x]\t*", "int32", total=3, failed_before=0, failed_after=0, speedups=(), direct="-", only_before=2,
                 otherwise=("before graph, L2 cold; after queued, L2 cold",))  # fmt: skip
AB = ab_view([MM, SUM], "a", "b", ["a: cut short"])
TORCH = torch_view(
    [
        OperatorSummary("mm", "float16", 5, 1, (0.5, 2.0, 2.5), False, without_torch=1, failures=("out of memory",)),
        OperatorSummary(
            "topk", "float16", 2, 0, (), True, without_torch=1, otherwise=("torch queued; operator graph",)
        ),
    ],
    ["a"],
    [],
)


def printed(view: SummaryView, *, terminal: bool = False, width: int = 100) -> str:
    stream = io.StringIO()
    print_summary(
        view, Console(file=stream, force_terminal=terminal, width=width, color_system=None, legacy_windows=False)
    )
    return stream.getvalue()


def test_ab_as_tsv() -> None:
    assert tsv(AB) == (
        "operator\tdtype\tpaired\ttotal\tfailed_before\tfailed_after\tgeomean\tmin\tmax\tdirect\n"
        "mm\tfloat16\t3\t4\t0\t1\t1.25992\t0.8\t2\tafter\n"
        "sum|[x] *\tint32\t0\t3\t0\t0\t-\t-\t-\t-\n"
    )


def test_ab_in_a_pipe() -> None:
    assert printed(AB) == (
        "before / after, above 1 is faster: before a, after b\n"
        "operator   dtype    paired/total  failed before  failed after  geomean     min     max  direct\n"
        "mm         float16           3/4              0             1   1.2599  0.8000  2.0000   after\n"
        "sum|[x] *  int32             0/3              0             0        -       -       -       -\n"
        "a: cut short\n"
        "mm float16: 1 row failed after (the latency is zero)\n"
        "mm float16: 1 pair LAUNCH_BOUND, where the host was slower than the device\n"
        "mm float16: the after side has rows that were not timed by graph replay (BENCHMARK_DIRECT_NO_CUDAGRAPH)\n"
        "sum|[x] * int32: 2 rows only before\n"
        "sum|[x] * int32: 1 row timed by different methods or L2 policies on the two sides, no pair "
        "(before graph, L2 cold; after queued, L2 cold)\n"
        "2 operators, 3/7 rows paired (incomplete), geometric mean of all paired rows 1.2599\n"
    )


def test_ab_on_a_terminal_shows_every_cell_and_how_many_are_paired() -> None:
    text = printed(AB, terminal=True)
    for part in ("3/4", "0/3", "1.2599", "sum|[x] *", "after", "3/7 rows paired (incomplete)"):
        assert part in text
    assert "3/4" in printed(AB, terminal=True, width=40), "too narrow for a table: lines"


def test_ab_as_markdown() -> None:
    lines = markdown(AB).splitlines()
    assert lines[2:6] == [
        "| operator | dtype | paired/total | failed before | failed after | geomean | min | max | direct |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| mm | float16 | 3/4 | 0 | 1 | 1.2599 | 0.8000 | 2.0000 | after |",
        "| sum\\|\\[x\\] \\* | int32 | 0/3 | 0 | 0 | - | - | - | - |",
    ]
    assert lines[7] == "2 operators, 3/7 rows paired (incomplete), geometric mean of all paired rows 1.2599"
    assert lines[9] == "- a: cut short"


def test_ab_as_json() -> None:
    record = json.loads(as_json(AB))
    assert record["rows"][1] == {
        "operator": "sum|[x] *", "dtype": "int32", "paired": 0, "total": 3, "failed_before": 0, "failed_after": 0,
        "geomean": None, "min": None, "max": None, "direct": "-",
    }  # fmt: skip
    assert (record["rows"][0]["min"], record["rows"][0]["max"]) == (0.8, 2.0)
    assert record["totals"]["paired"] == 3
    assert record["totals"]["total"] == 7
    assert record["notes"][0] == "a: cut short"


def test_torch_as_tsv() -> None:
    assert tsv(TORCH) == (
        "operator\tdtype\trows\tfailed\tgeomean\tmin\tmedian\tmax\tdirect\n"
        "mm\tfloat16\t5\t1\t1.35721\t0.5\t2\t2.5\t-\n"
        "topk\tfloat16\t2\t0\t-\t-\t-\t-\tyes\n"
    )


def test_torch_in_a_pipe() -> None:
    assert printed(TORCH) == (
        "speed-up over torch (torch / operator, above 1 is faster): a\n"
        "operator  dtype    rows  failed  geomean     min  median     max  direct\n"
        "mm        float16     5       1   1.3572  0.5000  2.0000  2.5000       -\n"
        "topk      float16     2       0        -       -       -       -     yes\n"
        "mm float16: 1 row failed (out of memory)\n"
        "mm float16: 1 row without a torch latency, not in the range\n"
        "topk float16: 1 row without a torch latency, not in the range\n"
        "topk float16: 1 row whose torch latency was taken another way, not in the range (torch queued; operator graph)\n"
        "topk float16: has rows that were not timed by graph replay (BENCHMARK_DIRECT_NO_CUDAGRAPH)\n"
        "2 operators, 7 rows (1 failed), 3/7 rows compared with torch (incomplete), geometric mean of those compared 1.3572\n"
    )


def test_torch_as_json_and_markdown() -> None:
    record = json.loads(as_json(TORCH))
    assert record["rows"][1]["median"] is None
    assert record["totals"] == {
        "operators": 2,
        "rows": 7,
        "failed": 1,
        "compared": 3,
        "geomean": record["rows"][0]["geomean"],
    }
    assert "| mm | float16 | 5 | 1 | 1.3572 | 0.5000 | 2.0000 | 2.5000 | - |" in markdown(TORCH).splitlines()


def test_a_complete_pairing_is_not_called_incomplete_and_reasons_are_counted() -> None:
    view = ab_view([Comparison("mm", "f", 1, 0, 0, (1.0,), "-")], "a", "b", [])
    assert view.totals == "1 operator, 1/1 rows paired, geometric mean of all paired rows 1.0000"
    failed = ab_view([Comparison("mm", "f", 3, 3, 0, (), "both", failures_before=("a", "b", "b"))], "a", "b", [])
    assert failed.notes[0] == "mm f: 3 rows failed before (b ×2, a)"
    assert failed.notes[1].startswith("mm f: both sides have rows that were not")


def test_nothing_at_all() -> None:
    view = ab_view([], "a", "b", [])
    assert view.totals == "0 operators, 0/0 rows paired, geometric mean of all paired rows -"
    assert len(tsv(view).splitlines()) == 1
    assert json.loads(as_json(view))["rows"] == []


def test_an_operator_without_a_row_leaves_a_summary_incomplete() -> None:
    whole, empty = Comparison("mm", "f", 1, 0, 0, (1.0,), "-"), Comparison("add", "-", 0, 0, 0, (), "-")
    view = ab_view([empty, whole], "a", "b", [])
    assert view.lines[0].cells == ("add", "-", "0/0", "0", "0", "-", "-", "-", "-")
    assert "1/1 rows paired (incomplete)" in view.totals
    torch = torch_view(
        [OperatorSummary("add", "-", 0, 0, (), False), OperatorSummary("mm", "f", 1, 0, (1.0,), False)], [], []
    )
    assert "1/1 rows compared with torch (incomplete)" in torch.totals


def test_what_can_not_be_seen_is_shown_escaped_in_every_format() -> None:
    view = ab_view([Comparison("m\u202em\ud800", "f\x1b[1m\u200b\n", 1, 0, 0, (1.0,), "-")], "a\udcff", "b", ["\ud800"])
    for text in (tsv(view), as_json(view), markdown(view), printed(view), printed(view, terminal=True)):
        text.encode()
        assert not set("\u202e\x1b\u200b") & set(text)
    assert view.lines[0].exact[:2] == ("m\\u202em\\ud800", "f\\x1b[1m\\u200b")
    assert view.notes[0] == "\\ud800"


@pytest.mark.parametrize("width", [60, 70, 80, 90, 100, 200])
@pytest.mark.parametrize("operator", ["mm", "a_rather_long_operator", "x" * 90])
def test_no_name_is_folded_on_a_terminal_of_any_width(operator: str, width: int) -> None:
    view = ab_view([Comparison(operator, "float16", 4, 0, 1, (0.8, 1.25, 2.0), "after")], "a", "b", [])
    lines = printed(view, terminal=True, width=width).splitlines()
    (row,) = [line.split() for line in lines if line.split()[:2] == [operator, "float16"]]
    assert row == [operator, "float16", "3/4", "0", "1", "1.2599", "0.8000", "2.0000", "after"]


def test_eighty_columns_hold_a_table() -> None:
    view = ab_view([Comparison("upsample_nearest_1d_x", "float16", 4, 0, 1, (0.8, 1.25), "before")], "a", "b", [])
    assert "─" in printed(view, terminal=True, width=80)


def test_far_numbers_stay_readable() -> None:
    view = ab_view([Comparison("mm", "f", 2, 0, 0, (1.234e-5, 1.234e9), "-")], "a", "b", [])
    assert view.lines[0].cells[-3:-1] == ("1.234e-05", "1.234e+09")
