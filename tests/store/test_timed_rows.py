"""What one run of a measurement timed, as it is read back."""

from __future__ import annotations

from pathlib import Path

from tests.store.timed_runs import BEGIN, END, key, latency, row, write_run
from zl_bench.model import RowKey
from zl_bench.store.timed_rows import read_timed_run
from zl_bench.store.timings import AskedTiming

ASKED = AskedTiming("graph", "cold")
CARD = {"clock_mhz": 1980, "memory_clock_mhz": 1, "temperature_c": 40, "power_w": 3.5, "throttle": ["power cap"]}
ROW = RowKey("test_mm.py::test_mm", "mm", "float16", 0, "64")


def test_turns_the_card_and_the_others_are_read(tmp_path: Path) -> None:
    turns = [{"median_ms": 0.4, "samples": 50, "before": CARD, "after": None}, {"median_ms": 0.6, "samples": 50}]
    others = [{"pid": 7, "name": "python", "used_mib": 3}]
    card = {"event": "card", "name": "H1", "uuid": "SIM-a", "driver": "9", "processes": []}
    told = latency(key(), 0.5, turns=turns, others=others, warmup_ms=90.0)
    run = read_timed_run(write_run(tmp_path, [{**BEGIN, "opened": ["/dev/sim"]}, card, row(key()), told, END]), ASKED)
    assert (run.card, run.opened, run.left) == ({"name": "H1", "uuid": "SIM-a", "driver": "9"}, ("/dev/sim",), "")
    timed = run.rows[ROW]
    assert (timed.latency.median_ms, timed.warmup_ms, timed.others) == (0.5, 90.0, tuple(others))
    assert [(turn.median_ms, turn.samples) for turn in timed.turns] == [(0.4, 50), (0.6, 50)]
    assert timed.turns[0].before is not None
    assert timed.turns[0].before.throttle == ("power cap",)


def test_a_latency_without_turns_is_one_turn(tmp_path: Path) -> None:
    run = read_timed_run(write_run(tmp_path, [BEGIN, row(key()), latency(key(), 0.5, before=CARD), END]), ASKED)
    (turn,) = run.rows[ROW].turns
    assert (turn.median_ms, turn.samples) == (0.5, 50)
    assert turn.before is not None


def test_a_row_that_was_not_timed_has_no_turn_and_baselines_are_no_rows(tmp_path: Path) -> None:
    events = [BEGIN, latency(key(), 0.7, "baseline"), row(key()), latency(key(), "nan", invalid="not wanted"), END]
    run = read_timed_run(write_run(tmp_path, events), ASKED)
    assert run.rows[ROW].turns == ()
    assert run.rows[ROW].latency.invalid == "not wanted"
    assert read_timed_run(write_run(tmp_path, events[:2]), ASKED).rows == {}


def test_a_run_that_left_says_why_and_damage_costs_what_is_damaged(tmp_path: Path) -> None:
    directory = write_run(
        tmp_path, [BEGIN, row(key()), latency(key(), 0.5, turns="no"), {"event": "left", "why": "alone"}]
    )
    with (directory / "events.jsonl").open("a") as stream:
        stream.write('{"event": "laten')
    run = read_timed_run(directory, ASKED)
    assert run.left == "alone"
    assert run.rows == {}
    assert read_timed_run(tmp_path / "nowhere", ASKED).events == ()
