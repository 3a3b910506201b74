"""What the card's results amount to, the bars they are held against, and the report."""

import math

import pytest
from card_bars import bars
from card_judge import Judged, costs, timed
from card_report import report
from card_results import Results

from .made_up import operator_line, plain_line, run_record, sitting_line

ONE = run_record({"[64]": [0], "[128]": [0]})
OTHER = run_record({"[64]": [0], "[128]": [0]}, (("kernel", "bb"),))


def bar(lines, what):
    (found,) = [line for line in bars(Judged.of(Results(lines))) if line[0] == what]
    return found[1:]


def times(methods, medians=None, **more):
    """A run whose rows were timed by these methods, None for a row without a latency."""
    record = run_record({f"[{number}]": [0] for number in range(len(methods))}, **more)
    for number, (row, method) in enumerate(zip(record["rows"], methods, strict=True)):
        median = (medians or [0.01] * len(methods))[number]
        told = {"method": method or "graph", "l2": "cold", "median_ms": median, "launch_bound": False}
        told |= {"invalid": "" if method else "nothing was measured", "why": "" if method == "graph" else "it waits"}
        row["latency"] = told
    return record


def test_twenty_operators_of_either_switch_hold_the_first_bar():
    lines = [operator_line("null", f"op{number}") for number in range(20)]
    assert bar(lines, "operators as a pair, null") == ["20 with rows (20)", ">= 20", "pass"]
    assert bar(lines[1:], "operators as a pair, null")[2] == "FAIL"
    lines[0]["verdict"]["rows"] = 0
    assert bar(lines, "operators as a pair, null") == ["19 with rows (19)", ">= 20", "FAIL"]
    lines[0]["verdict"]["rows"] = 1
    assert bar(lines, "operators as a pair, rlc")[2] == "not measured"


@pytest.mark.parametrize("word", ["IR_CHANGED", "BROKEN"])
def test_a_null_control_that_changes_code_fails(word):
    lines = [operator_line("null"), operator_line("null", "mm", word=word), operator_line("rlc", word=word)]
    what = "null control: IR_CHANGED or BROKEN"
    assert bar(lines, what) == ["mm", "none", "FAIL"]
    assert bar([lines[0], lines[2]], what) == ["none", "none", "pass"]


def test_a_null_control_whose_outputs_differ_fails():
    sizes = {"same": False, "largest_absolute": 0.5, "largest_relative": 1.0, "note": ""}
    lines = [operator_line("null"), operator_line("null", "dropout", differs=[["[64]", sizes]])]
    what = "null control: numerics differ"
    assert bar(lines, what) == ["dropout (3 rows compared)", "none", "FAIL"]
    assert bar(lines[:1], what) == ["none (1 rows compared)", "none", "pass"]
    assert "- dropout, null, numerics of [64]: absolute 0.5, relative 1.0" in report(Results(lines))


def test_rows_agree_over_both_sides_of_both_switches():
    what = "rows that launch the same offline"
    lines = [operator_line(part, before=ONE) for part in ("null", "offline null", "rlc")]
    offline = operator_line("offline rlc", before=ONE, after=OTHER)
    assert bar([*lines, offline], what)[0].startswith("75.00 % (6 of 8")
    assert bar([*lines, offline], what)[2] == "FAIL"
    assert bar(lines, what) == ["100.00 % (4 of 4, both sides of both switches)", ">= 99 %", "pass"]
    assert bar(lines[:1], what)[2] == "not measured"
    expected = (
        "- softmax, 2 rows (rlc after float16 [64]; rlc after float16 [128]): kernel: TTGIR differs, compiled alike"
    )
    assert expected in report(Results([*lines, offline]))


def test_the_cost_of_a_pair_is_its_share_of_two_plain_runs():
    lines = [operator_line("null", name, seconds=seconds) for name, seconds in (("a", 3.0), ("b", 4.5), ("c", 9.0))]
    lines += [plain_line(name) for name in ("a", "b", "c")]
    assert [one.ratio for one in costs(Results(lines), "null")] == [pytest.approx(each) for each in (1 / 3, 0.5, 1.0)]
    what = "cost of a pair / two plain runs, median, null"
    assert bar(lines, what) == ["0.50", "<= 0.5", "pass"]
    assert bar(lines[1:], what)[2] == "FAIL"
    assert bar(lines[:3], what)[2] == "not measured"


@pytest.mark.parametrize(
    ("plain", "changed", "expected"),
    [
        (plain_line(ended=1), {}, "plain pytest ended with status 1"),
        (plain_line(ended=None), {}, "plain pytest ran out of time"),
        (plain_line(), {"status": "partial"}, "the pair is partial"),
        (plain_line(rows=3), {}, "not the same number of rows: 1, 3"),
    ],
)
def test_what_did_other_work_has_no_ratio(plain, changed, expected):
    results = Results([operator_line("null", **changed), plain])
    (found,) = costs(results, "null")
    assert found.unlike == expected
    assert math.isnan(found.ratio)
    assert f"- softmax, null, has no ratio: {expected}" in report(results)


def test_rows_are_counted_by_the_method_that_timed_them():
    line = operator_line("timing", before=times(["graph", "queued"]), after=times(["graph", "graph"]))
    found = timed(line, None)
    assert dict(found.methods) == {"graph": 3, "queued": 1}
    assert found.otherwise == (("before float16 [1] by queued", "it waits"),)
    assert found.without == ()
    assert found.ratios == (1.0, 1.0)


def test_a_row_without_a_latency_or_missing_is_told():
    line = operator_line("timing", before=times(["graph", None]), after=times(["graph"], absence="ran out of time"))
    found = timed(line, operator_line("null", before=run_record({"[0]": [0], "[1]": [0]})))
    assert found.without == (
        "before float16 [1]: nothing was measured",
        "after float16 [1]: missing: ran out of time",
    )
    assert bar([line], "rows without a latency, with --timing") == ["1 (beside 2)", "0", "FAIL"]


def test_a_row_not_by_graph_must_say_why():
    line = operator_line("timing", before=times(["direct"]), after=times(["graph"]))
    what = "rows not by graph that do not say why"
    assert bar([line], what) == ["0 (of 1 not by graph)", "0", "pass"]
    line["before"]["rows"][0]["latency"]["why"] = ""
    assert bar([line], what) == ["1 (of 1 not by graph)", "0", "FAIL"]
    assert "- softmax, 1 row (before float16 [0] by direct): the record does not say why" in report(Results([line]))


def test_the_ratios_of_identical_code_are_told():
    line = operator_line("timing", before=times(["graph"], [0.0101]), after=times(["graph"], [0.01]))
    assert "before/after is off 1 by 1.00 % in the median" in report(Results([line]))


def test_the_report_has_a_line_for_each_operator_and_what_produced_it():
    lines = [operator_line("null", seconds=3.0), operator_line("rlc", word="IR_CHANGED"), plain_line()]
    lines += [operator_line("offline null"), sitting_line("null", 10.0), sitting_line("plain")]
    text = report(Results(lines))
    assert (
        "| softmax | NO_IR_DIFF (0/1) | IR_CHANGED (0/1) | same | same | - | 2/2 | 0.33 | 0.22 |" in text.splitlines()
    )
    assert "its sittings on the card took 7.0 s." in text
    assert (
        "- null, 2026-01-01T00:00:00+00:00, 10.0 s: `zl-bench screen`; a card GPU-1; torch 2.11.0; commit c0ffee"
        in text
    )
    assert "Of the list, not done: topk, " in text


def test_the_report_of_almost_nothing_can_be_made():
    text = report(Results([sitting_line("null", None)]))
    assert "ended from outside" in text
    assert text.count("not measured") == 9
