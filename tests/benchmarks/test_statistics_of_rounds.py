"""The simulated suites, what is counted of them, the bars, and going on where a results file ends."""

import math
import random
from dataclasses import replace

import json_lines
import numpy as np
import pytest
import statistics_of_rounds
from statistics_cells import CELLS, STANDARD, Cell, Share, counted, run_batch, scores
from statistics_model import Model, simulate
from statistics_report import report
from statistics_rules import CLAIMS, Found, both_looks, judged, naive

from zl_bench.analysis.judgement import DELTA, judge
from zl_bench.analysis.looks import judge_looks
from zl_bench.analysis.rounds import RoundMedian, pair_rounds, table_place

CELL = Cell(STANDARD, 6, 0.02)
COUNTS = {
    "suites": 100, "false_suites": 4, "false": 5, "claims": 50, "false_share": 2.0, "moved": 1500, "found": 1350,
    "untrusted": 1, "intervals": 6000, "inside": 5800,
}  # fmt: skip


def generator(seed=0):
    return np.random.default_rng(seed)


def test_a_suite_is_what_the_model_says():
    suite = simulate(Model(rounds=4, effect=0.02, share=0.5), generator())
    rounds = suite.rounds
    assert rounds.logs.shape == (100, 4)
    assert rounds.keys == tuple(sorted(rounds.keys, key=table_place))
    assert rounds.placebo.sum() == 40
    assert set(suite.truth[~rounds.placebo]) == {0.0, -math.log1p(0.02)}
    assert not suite.truth[rounds.placebo].any()
    assert ((rounds.before > 0.005) & (rounds.before < 6)).all()
    assert np.median(suite.noise) == pytest.approx(0.004, rel=0.2)


def test_rows_that_moved_moved_by_the_effect():
    quiet = Model(rounds=200, effect=0.05, noise=0.0005, drift=0.0)
    suite = simulate(quiet, generator(1))
    assert np.median(suite.rounds.logs, axis=1) == pytest.approx(suite.truth, abs=0.003)


def test_the_second_turn_costs_more_whichever_side_takes_it_and_the_sides_take_turns():
    slot = Model(rounds=6, slot=0.5, drift=1e-9, changed=400, placebos=0)
    signs = np.sign(np.median(simulate(replace(slot, drift=1.0), generator(2)).rounds.logs, axis=0))
    assert set(signs[::2]) == {signs[0]}
    assert set(signs[1::2]) == {-signs[0]}


def test_a_tick_is_seen_in_every_median():
    rounds = simulate(Model(tick_ms=0.0005), generator(3)).rounds
    assert rounds.tick_ms == pytest.approx(0.0005)
    assert rounds.before / 0.0005 == pytest.approx(np.round(rounds.before / 0.0005), abs=1e-6)


def test_rows_of_an_operator_share_what_is_shared():
    def spread_of_means(shared):
        rounds = simulate(Model(shared=shared, changed=170, placebos=0, drift=0.0, rounds=50), generator(4)).rounds
        names = np.array([key.operator for key in rounds.keys])
        return np.std([rounds.logs[names == name].mean(axis=0) for name in sorted(set(names))])

    assert spread_of_means(0.01) > 3 * spread_of_means(0.0)


def medians_of(rounds):
    return [
        RoundMedian(key, number, side, float(latencies[place, column]), bool(rounds.placebo[place]))
        for side, latencies in (("before", rounds.before), ("after", rounds.after))
        for place, key in enumerate(rounds.keys)
        for column, number in enumerate(rounds.numbers)
    ]


def claims_of(judgement):
    return [CLAIMS.get(row.verdict, 0) for row in judgement.rows]


def test_a_suite_is_judged_as_the_tool_judges_a_file_of_it():
    suite = simulate(Model(rounds=6, effect=0.05), generator(5))
    medians = medians_of(suite.rounds)
    random.Random(0).shuffle(medians)
    judgement = judge(pair_rounds(medians))
    found = judged(suite)["one look"]
    assert [row.key for row in judgement.rows] == list(suite.rounds.keys)
    assert claims_of(judgement) == found.claims.tolist()
    assert [row.ci_low for row in judgement.rows] == pytest.approx(np.exp(-found.mean - found.reach))
    assert found.claims.any()


def test_two_looks_find_what_the_tool_finds_by_them():
    for seed in range(4):
        suite = simulate(Model(rounds=6, effect=0.02), generator(seed))
        found = judged(suite)
        assert found.keys() == {"one look", "two looks"}
        assert found["two looks"].claims.tolist() == claims_of(judge_looks(suite.rounds, 6, DELTA).judgement)
    assert judged(simulate(Model(rounds=4), generator())).keys() == {"one look"}


def test_what_either_look_has_found_is_found_unless_the_last_one_speaks_against_it():
    early = Found(np.array([1, 0, 1, -1, 0, 1, -1]))
    means, reaches = np.array([0.02, 0.03, -0.03, -0.03, 0.0, 0.01, 0.02]), np.full(7, 0.015)
    last = Found(np.array([0, 1, -1, -1, 0, 0, 0]), means, reaches)
    assert both_looks(early, last).claims.tolist() == [1, 1, 0, -1, 0, 0, 0]
    assert both_looks(early, replace(last, trusted=False)).claims.tolist() == [0] * 7


def test_naive_rules_see_changes_where_there_are_none():
    suites = [simulate(Model(rounds=6), generator(seed)) for seed in range(4)]
    found = [naive(suite, generator(7)) for suite in suites]
    for rule in ("single run > 3%", "pooled Mann-Whitney", "Welch on samples"):
        assert sum(one[rule].claims.any() for one in found) >= 2
        assert {claim for one in found for claim in one[rule].claims} <= {-1, 0, 1}
        assert not any(one[rule].claims[suite.rounds.placebo].any() for one, suite in zip(found, suites, strict=True))


def test_what_is_counted_of_a_suite_by_hand():
    """Six changed rows: one found, one missed, one found the wrong way round, one claimed of nothing; and a placebo."""
    suite = simulate(Model(changed=6, placebos=1, rounds=2), generator(8))
    truth = np.array([-0.02, -0.02, -0.02, 0, 0, 0, 0])
    assert suite.rounds.placebo.tolist() == [False] * 6 + [True]
    found = Found(np.array([-1, 0, 1, 1, 0, 0, 1]), np.array([0, 0, -0.02, 0, 0, 0.5, 9]), np.full(7, 0.01))
    assert counted(replace(suite, truth=truth), found) == {
        "suites": 1, "false_suites": 1, "false": 2, "claims": 3, "false_share": pytest.approx(2 / 3), "moved": 3,
        "found": 1, "untrusted": 0, "intervals": 6, "inside": 3,
    }  # fmt: skip


def test_a_batch_is_the_same_wherever_it_is_run():
    first, again, other = (run_batch(CELL, batch, suites=2) for batch in (0, 0, 1))
    assert first == again != other
    assert first["one look"]["suites"] == 2
    assert first["one look"]["intervals"] == 120
    assert "Welch on samples" in first
    assert "Welch on samples" not in run_batch(Cell("drift tripled", 3, 0.0), 0, suites=1)


def test_a_share_has_a_binomial_error_and_two_of_them_of_slack():
    assert Share(0.05, 400).error == pytest.approx(math.sqrt(0.05 * 0.95 / 400), rel=0.02)
    assert Share(0.0, 400).error > 0
    assert Share(0.079, 400).holds(most=0.06)
    assert not Share(0.095, 400).holds(most=0.06)
    assert Share(0.925, 400).holds(least=0.93)
    assert not Share(0.89, 400).holds(least=0.93)


def line(cell=CELL, batch=0, **changed):
    told = {"variant": cell.variant, "rounds": cell.rounds, "effect": cell.effect, "batch": batch, "seconds": 1.0}
    about = {
        "sources": statistics_of_rounds.sources(),
        "commit": "c0ffee",
        "machine": "a processor",
        "date": "2026-01-01",
    }
    return {**told, **about, "versions": {"Python": "3.12"}, "rules": {"one look": {**COUNTS, **changed}}}


def score(cell=CELL, **changed):
    return scores([line(cell, **changed)])[cell, "one look"]


def test_batches_add_up():
    found = scores([line(), line(batch=1, false_suites=8)])[CELL, "one look"]
    assert found.suites == 200
    assert found.false_suites == Share(12 / 200, 200)
    assert found.power == Share(0.9, 3000)
    assert found.coverage == Share(5800 / 6000, 12000)
    assert found.false_discoveries == Share(0.02, 200)


@pytest.mark.parametrize(
    ("cell", "changed", "missed"),
    [
        (CELL, {}, []),
        (CELL, {"found": 1200}, ["power"]),
        (CELL, {"inside": 5500}, ["coverage"]),
        (CELL, {"inside": 5990}, ["coverage"]),
        (CELL, {"untrusted": 10}, ["UNTRUSTED"]),
        (CELL, {"false_share": 14.0}, ["false discoveries"]),
        (CELL, {"false_suites": 50}, []),  # of suites in which rows moved, nothing is promised but the share
        (Cell(STANDARD, 6, 0.0), {"false_suites": 16}, ["any false verdict"]),
        (Cell(STANDARD, 3, 0.0), {"false_suites": 16}, []),  # promised from four rounds on
    ],
)
def test_the_bars(cell, changed, missed):
    assert score(cell, **changed).missed() == missed


def test_a_run_goes_on_where_the_file_ends():
    assert len(statistics_of_rounds.wanted(400, [])) == 4 * len(CELLS)
    left = statistics_of_rounds.wanted(100, [line(), {**line(Cell(STANDARD, 3, 0.0)), "sources": "others"}])
    assert (CELL, 0) not in left
    assert (Cell(STANDARD, 3, 0.0), 0) in left
    assert len(left) == len(CELLS) - 1


def test_a_sitting_writes_lines_that_the_report_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(statistics_of_rounds, "CELLS", (CELL, Cell("no placebos", 3, 0.0)))
    monkeypatch.setattr(statistics_of_rounds, "run_batch", lambda cell, batch: run_batch(cell, batch, suites=1))
    out = tmp_path / "statistics.jsonl"
    statistics_of_rounds.run(out, suites=100, jobs=1, seconds=60.0)
    lines = json_lines.read_all([out])
    assert len(lines) == 2
    assert statistics_of_rounds.wanted(100, lines) == []
    text = report(statistics_of_rounds.current(lines))
    assert "| no placebos | 3 |" in text
    assert "| standard | 6, two looks |" in text
    assert "| pooled Mann-Whitney | 6 |" not in text  # without its suites of no effect


def test_the_report_names_what_was_missed_and_marks_it():
    null = line(Cell(STANDARD, 6, 0.0), false_suites=16, moved=0, found=0)
    text = report([null, line()])
    assert "Cells that hold every bar within two standard errors: 1 of 2." in text
    assert "- standard, 6 rounds, 0%, one look: any false verdict" in text
    assert "| standard | 6 | 16.0 ± 3.7 ! |" in text


def test_lines_of_older_sources_are_left_out():
    older = {**line(), "sources": "others"}
    assert statistics_of_rounds.current([older, line()]) == [line()]
    assert statistics_of_rounds.current([]) == []
