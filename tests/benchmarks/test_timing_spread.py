"""The spread between processes, the bars, and what a results file holds of them."""

import json
import math

import pytest
import timing_spread
from timing_cells import CASES, METHODS, bar, cells, is_whole, spread

READING = {"clock_mhz": 1980, "memory_clock_mhz": 1, "temperature_c": 40, "power_w": 100.0, "throttle": []}
ABOUT = {"commit": "c0ffee", "sources": "abc", "machine": "a processor, 2 cores", "date": "2026-01-01T00:00:00+00:00"}
VERSIONS = {"python": "3.12.3", "torch": {"version": "2.11.0"}, "triton": {"version": "3.6.0"}}


def latency(median_ms, method, **changed):
    told = {"method": method.split()[0], "median_ms": median_ms, "samples": 100, "invalid": "", "fell_back": []}
    return {**told, "launch_bound": False, "before": READING, "after": {**READING, "clock_mhz": 1965}, **changed}


def process(factor=1.0, card="GPU-1", median_ms=0.030, **replaced):
    """A process whose medians are all `median_ms` times `factor`; `replaced` gives single latencies by case."""
    results = {
        case: {method: latency(median_ms * factor, method) for method in METHODS} | replaced.get(case, {})
        for case in CASES
    }
    told = {"name": "a card", "uuid": card, "driver": "1", "processes": []}
    return {**ABOUT, "card": told, "results": results, "abandoned": [], "versions": VERSIONS, "seconds": 20.0}


def cell(lines, case, method):
    return next(one for one in cells(lines) if (one.case, one.method) == (case, method))


def test_the_spread_is_that_of_the_logarithms_in_percent():
    assert spread([[1.0, math.e**0.02]]) == pytest.approx(100 * 0.02 / math.sqrt(2))
    assert spread([[5.0, 5.0, 5.0]]) == 0


def test_what_cards_differ_by_is_no_spread_between_processes():
    apart = math.exp(0.01)
    assert spread([[1.0, apart], [2.0, 2 * apart]]) == pytest.approx(100 * 0.01 / math.sqrt(2))
    assert spread([[1.0, apart, 2.0, 2 * apart]]) > 30


@pytest.mark.parametrize("groups", [[], [[1.0]], [[1.0], [2.0]]])
def test_one_process_a_card_has_no_spread(groups):
    assert math.isnan(spread(groups))


@pytest.mark.parametrize(
    ("method", "microseconds", "expected"),
    [
        ("graph warm", 1.0, 0.6),
        ("graph cold", 20.0, 0.6),
        ("graph cold", 19.9, 3.0),
        ("graph cold", 5.0, 3.0),
        ("graph cold", 4.9, None),
        ("queued cold", 1.0, 3.0),
        ("queued warm", 500.0, 3.0),
        ("direct", 500.0, None),
    ],
)
def test_the_bar_depends_on_the_method_and_on_how_long_a_call_takes(method, microseconds, expected):
    assert bar(method, microseconds) == expected


def alternating(sd_percent, count=16, **options):
    """Processes whose logarithms lie so far from their mean, one up and one down."""
    step = sd_percent / 100 * math.sqrt((count - 1) / count)
    return [process(math.exp(step if number % 2 else -step), **options) for number in range(count)]


@pytest.mark.parametrize(
    ("sd", "median_ms", "method", "expected"),
    [
        (0.59, 0.030, "graph warm", "pass"),
        (0.61, 0.030, "graph warm", "fail"),
        (0.61, 0.010, "graph cold", "pass"),
        (0.61, 0.030, "graph cold", "fail"),
        (3.1, 0.004, "graph cold", "unresolved"),
        (2.9, 0.030, "queued warm", "pass"),
        (3.1, 0.030, "queued cold", "fail"),
        (40.0, 0.030, "direct", "contrast"),
    ],
)
def test_each_cell_is_judged_by_its_bar(sd, median_ms, method, expected):
    found = cell(alternating(sd, median_ms=median_ms), "softmax", method)
    assert found.spread == pytest.approx(sd)
    assert found.microseconds == pytest.approx(median_ms * 1e3, rel=0.5)
    assert found.verdict == expected


def test_fewer_than_fifteen_processes_are_no_full_answer():
    assert cell([process(), process()], "one", "graph warm").verdict == "pass so far"
    assert cell([process()], "one", "graph warm").verdict == "too few"


def test_a_latency_by_another_method_is_none_of_that_cell():
    fell_back = {"graph warm": latency(9.0, "queued", fell_back=[{"method": "graph", "why": "no graphs"}])}
    lines = [process(), process(1.001), process(mm=fell_back)]
    found = cell(lines, "mm", "graph warm")
    assert (len(found.medians), found.otherwise, found.verdict) == (2, ["timed by queued: no graphs"], "fail")
    assert cell(lines, "copy", "graph warm").verdict == "pass so far"


def test_an_invalid_latency_is_none_and_says_why():
    invalid = {"direct": latency("nan", "direct", invalid="nothing was measured")}
    assert cell([process(one=invalid)], "one", "direct").otherwise == ["nothing was measured"]


def test_a_process_that_was_given_up_counts_for_what_it_did():
    line = process()
    del line["results"]["mm"]["graph cold"]
    line["abandoned"] = [{"operator": "mm", "detail": "graph cold", "why": "poisoned", "message": "it failed"}]
    assert not is_whole(line)
    assert len(cell([line], "mm", "graph warm").medians) == 1
    assert cell([line], "mm", "graph cold").otherwise == ["poisoned: it failed"]


def test_the_report_has_a_row_for_every_cell_and_says_what_produced_it():
    text = timing_spread.report([*alternating(0.1), *alternating(0.1, card="GPU-2", median_ms=0.031)])
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(table) == 2 + len(CASES) * len(METHODS)
    assert "32 processes, on 2 cards" in text
    row = next(line for line in table if line.startswith("| softmax 4096x4096 | graph warm"))
    shown = [word.strip() for word in row.strip("|").split("|")]
    assert shown[2] == "pass"
    assert float(shown[4]) == pytest.approx(0.1, abs=0.01)
    assert float(shown[6]) > 1.0
    assert "- softmax 4096x4096, graph warm: the cards differ: over all, the spread of 1." in text
    assert shown[7:] == ["32", "100", "1965 to 1980"]
    assert "16 processes from 2026-01-01T00:00:00+00:00 to 2026-01-01T00:00:00+00:00: a card GPU-2, driver 1" in text


def test_the_report_counts_only_whole_processes_and_notes_what_went_otherwise():
    bound = {"direct": latency(0.06, "direct", launch_bound=True)}
    text = timing_spread.report([process(five=bound), process()])
    assert "2 processes of the 15 that are asked for" in text
    assert "- five such kernels, direct: 1 of 2 were bound by the host" in text


class Started:
    """Stands for the process that times: leaves what it is told to, each time it is started."""

    def __init__(self, *results):
        self.results = list(results)
        self.count = 0

    def __call__(self, folder, about):
        self.count += 1
        result = self.results.pop(0) if self.results else process()
        return None if result is None else {**result, **about}


def test_it_goes_on_where_earlier_visits_stopped(tmp_path, monkeypatch):
    started = Started()
    monkeypatch.setattr(timing_spread, "time_once", started)
    out, earlier = tmp_path / "out.jsonl", tmp_path / "earlier.jsonl"
    earlier.write_text((json.dumps(process()) + "\n") * 3)
    out.write_text(json.dumps(process()) + "\n" + json.dumps(process())[:50])
    assert timing_spread.run(out, [earlier, earlier], 6, math.inf, "named") == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert (started.count, len(lines)) == (2, 3)
    assert lines[-1]["commit"] == "named"


def test_it_starts_nothing_that_would_end_too_late(tmp_path, monkeypatch):
    started, now = Started(), [0.0]

    def time_once(folder, about):
        now[0] += 30
        return started(folder, about)

    monkeypatch.setattr(timing_spread, "time_once", time_once)
    monkeypatch.setattr(timing_spread.time, "monotonic", lambda: now[0])
    assert timing_spread.run(tmp_path / "out.jsonl", [], 15, 100.0, "named") == 0
    assert started.count == 3


def test_processes_that_leave_nothing_end_it(tmp_path, monkeypatch):
    started = Started(None, process(), None, None, None)
    monkeypatch.setattr(timing_spread, "time_once", started)
    assert timing_spread.run(tmp_path / "out.jsonl", [], 15, math.inf, "named") == 1
    assert started.count == 5


def test_a_process_that_fails_is_told_and_leaves_no_line(tmp_path, monkeypatch, capfd):
    program = tmp_path / "timed_cases.py"
    program.write_text("import sys; sys.exit('nothing to time on')")
    monkeypatch.setattr(timing_spread, "HERE", tmp_path)
    assert timing_spread.time_once(tmp_path, {}) is None
    assert "exit status 1" in (told := capfd.readouterr().err)
    assert "nothing to time on" in told


def test_a_process_has_its_result_and_the_circumstances_in_one_line(tmp_path, monkeypatch):
    program = tmp_path / "timed_cases.py"
    program.write_text("import pathlib, sys; pathlib.Path(sys.argv[1]).write_text('{\"results\": {}}')")
    monkeypatch.setattr(timing_spread, "HERE", tmp_path)
    line = timing_spread.time_once(tmp_path, {"commit": "c0ffee"})
    assert line is not None
    assert {"commit": "c0ffee", "results": {}}.items() <= line.items()
    assert line["seconds"] >= 0
