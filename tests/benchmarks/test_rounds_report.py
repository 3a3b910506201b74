"""The report of rounds on a card, from what visits packed."""

import json
import lzma

import pytest
import rounds_bars
import rounds_report
import rounds_results
from card_results import RESULTS, Results
from rounds_costs import Costs

from . import made_rounds
from .made_rounds import line, node_of, pair_line, record, round_line

ROWS = {f"[{number}]": (0.01 * 2**number, 1.0) for number in range(5)}
LONG = {f"[{number}]": (0.03, 1.0) for number in range(14)}
CHANGED = {"[1]": (0.05, 1.05), "[2]": (0.05, 1.0)}


def identical(count=15):
    lines = [line("aa", f"op{number}", record(f"op{number}", ROWS, seed=2)) for number in range(count - 1)]
    return [*lines, line("aa", "topk", record("topk", LONG), wall=95.0)]


def left_out(count=15, again=CHANGED):
    return [
        line(part, f"op{number}", record(f"op{number}", rows, identical=False, mirrored=part == "mirror"))
        for number in range(count)
        for part, rows in (("rlc", CHANGED), ("mirror", again))
    ]


def held(lines):
    return {bar[0]: bar[1:] for bar in rounds_bars.bars(rounds_bars.Judged.of(Results(lines)))}


def test_good_rounds_hold_every_bar():
    found = held([*identical(), *left_out()])
    assert {what: bar for what, bar in found.items() if bar[2] != "pass"} == {}
    assert found["operators, identical code"][0] == "15 (84 rows)"
    assert found["a pass left out: rows FASTER or SLOWER that are contradicted"][0] == (
        "0 of 15 (15 confirmed, 0 not decided)"
    )
    assert found["topk: seconds of six rounds"][:2] == ["95 (14 rows; 24 of it in pairs)", "<= 120"]


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (identical(14), "operators, identical code"),
        (
            [*identical(), line("aa", "mm", record("mm", {f"[{number}]": (0.1, 1.03) for number in range(6)}))],
            "identical code: operators UNTRUSTED",
        ),
        (
            [line("aa", f"op{number}", record(f"op{number}", {"[1]": (0.05, 1.004)})) for number in range(15)],
            "identical code: all rows together, before / after",
        ),
        (
            [line("aa", f"op{number}", record(f"op{number}", {"[1]": (0.05, 1.04)})) for number in range(15)],
            "identical code, each operator judged as changed: operators with a false verdict",
        ),
        (
            [line("aa", "mm", record("mm", {"[x]": (0.1, 1.05), **ROWS}))],
            "identical code, half of the rows judged as changed: suites with a false verdict",
        ),
        (left_out(again={"[1]": (0.05, 0.95)}), "a pass left out: rows FASTER or SLOWER that are contradicted"),
        ([*left_out()[::2]], "a pass left out: rows not measured again"),
        ([*identical(2)[:1], line("aa", "topk", record("topk", LONG), wall=121.0)], "topk: seconds of six rounds"),
    ],
)
def test_what_is_beyond_a_bar_fails_it(lines, what):
    assert held(lines)[what][2] == "FAIL"


def test_an_order_that_was_not_reversed_fails():
    lines = [line(part, "op", record("op", CHANGED, identical=False)) for part in ("rlc", "mirror")]
    assert held(lines)["measured again: the other side first"] == ["0 of 12", "all", "FAIL"]


def test_what_was_not_measured_holds_no_bar():
    assert {bar[2] for bar in held([]).values()} == {"not measured"}
    resumed = held([line("aa", "topk", record("topk", LONG), resumed=True)])
    assert resumed["topk: seconds of six rounds"][2] == "not measured"


def test_the_report_has_every_part_and_what_produced_it():
    text = rounds_report.report(Results([*identical(2), *left_out(1)]))
    for part in ("Identical code", "Planted changes", "A pass left out, twice", "Cost", "Starting", "Produced by"):
        assert f"## {part}\n" in text
    assert "| topk, aa | 14 | 6 | 24 | 0.29 | 95 | 20 (8) |" in text
    assert "| op0 | op0 float16 [1] | SLOWER |" in text
    assert "Every side imported the suite's library once" in text
    assert "H1 GPU-1; driver 580.1; triton 3.6.0; commit abc; CPU, 16 cores" in text
    assert "clock 1980 MHz in the median, 1980 to 1980; seed 1" in text
    assert "/tmp/r" not in text
    assert "No exception." in text


def test_every_exception_is_told():
    name = "softmax"
    lines = [
        *record(name, ROWS, rounds=2),
        {"record": "dropped", "entry": node_of(name), "case": node_of(name), "round": 2, "why": "the clock", "seconds": 3.0},
        *(round_line(name, "[q]", 3, side, 0.01, method="queued", fell_back=[{"method": "graph", "why": "no capture"}])
          for side in ("before", "after")),
        *(round_line(name, "[h]", 3, side, 0.01, launch_bound=True) for side in ("before", "after")),
        pair_line(name, 3, 4, missing=[{"row": "softmax float16 [m]", "why": "not reached"}]),
    ]  # fmt: skip
    stopped = [*record("mm", ROWS), {"record": "stopped", "entry": "mm", "case": "mm", "round": 6, "why": "other code"}]
    nothing = line("rlc", "sort", [], exit=1, said="what was said")
    text = rounds_report.report(
        Results([line("aa", name, lines, not_imported="why not"), line("aa", "mm", stopped), nothing])
    )
    for told in (
        "- softmax, aa: 1 pair dropped: the clock",
        "- softmax, aa: softmax float16 [m] not timed in 1 rounds: not reached",
        "- softmax, aa: bound by the host: softmax float16 [h]",
        "- softmax, aa: softmax float16 [q] timed by queued: graph: no capture",
        "- mm, aa: stopped: other code",
        "- sort, rlc: not measured, exit 1, screened IR_CHANGED. what was said",
        "- not imported once for all processes: why not: softmax (aa)",
    ):
        assert told in text
    assert "No exception" not in text


def test_packing_keeps_the_last_of_each_and_nothing_half_written(tmp_path):
    work, earlier = tmp_path / "work", tmp_path / "earlier.jsonl"
    work.mkdir()
    earlier.write_text("".join(json.dumps(one) + "\n" for one in identical(2)))
    (work / RESULTS).write_text(json.dumps(line("aa", "topk", [], wall=1.0)) + "\n")
    packed = rounds_results.pack(work, [earlier], tmp_path / "out")
    lines = [json.loads(one) for one in lzma.decompress(packed.read_bytes()).decode().splitlines()]
    assert [(one["name"], one["wall"]) for one in lines] == [("op0", 50.0), ("topk", 1.0)]
    assert [path.name for path in packed.parent.iterdir()] == [rounds_results.PACKED]


def test_a_cost_is_expected_of_what_was_measured_and_of_the_rows():
    assert Costs.of(Results([])).expected("mm", 10) == pytest.approx(1.15 * 100)
    known = Costs.of(Results([line("aa", "topk", made_rounds.record("topk", LONG), wall=90.0)]))
    assert known.expected("topk", 14) == pytest.approx(1.15 * 90)
    assert known.expected("mm", 14) == pytest.approx(1.15 * 90), "70 s beside the start, of fourteen rows"
    assert known.expected("mm", None) == pytest.approx(1.15 * 45)
    resumed = line("aa", "topk", made_rounds.record("topk", LONG), wall=9.0, resumed=True)
    assert Costs.of(Results([resumed])).expected("topk", 5) == pytest.approx(1.15 * 60)
