"""Rows that are timed: what is run, in which order, under which keys, and what a process that goes on leaves out."""

import math
import sys
import types

import pytest
from simulated_device import SimulatedClocks, SimulatedDevice
from zl_probe.rows import Rows
from zl_probe.timing.timer import NoTimer, Timer, TimingPlan

LABEL = {"node": "test_a.py::test_a", "operator": "a", "dtype": "float16", "detail": "8"}


class Events(list):
    def event(self, event, **fields):
        self.append({"event": event, **fields})

    def told(self, *fields):
        return [tuple(event.get(field) for field in ("event", *fields)) for event in self if event["event"] != "card"]


class SimulatedCapture:
    """Every call launches kernel 5."""

    def start(self):
        pass

    def stop(self):
        return [5]


class NoPins:
    tuning_depth = 0


class Bench:
    """Rows with a device behind them, and do_bench as a benchmark file would find it."""

    def __init__(self, monkeypatch, baseline=True, timed=True, **going_on):
        testing = types.ModuleType("triton.testing")
        testing.do_bench = self.own_do_bench
        triton = types.ModuleType("triton")
        triton.testing = testing
        monkeypatch.setitem(sys.modules, "triton", triton)
        monkeypatch.setitem(sys.modules, "triton.testing", testing)
        self.events, self.device, self.sampled = Events(), SimulatedDevice(), []
        self.rows = Rows(
            self.events, SimulatedCapture(), NoPins(), outputs=self, from_call=going_on.get("from_call", 0)
        )
        own = self.rows.install()
        if timed:
            given = {"timing": {"method": "graph", "l2": "warm", "baseline": baseline}, "continue": going_on}
            plan = TimingPlan.of(given)
            self.rows.timer = Timer(plan, self.device, SimulatedClocks(1980), self.events, own)
        self.do_bench = testing.do_bench
        self.rows.label = dict(LABEL)

    def own_do_bench(self, fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
        raise AssertionError("nothing here is to be timed directly")

    def record(self, key, value):
        """Stands for Outputs."""
        self.sampled.append((key["ordinal"], value))

    def shape(self, milliseconds=0.02):
        """One shape of a suite: torch's operator, then the one under test."""
        self.rows.baseline = True
        baseline = self.do_bench(self.device.call(2 * milliseconds), return_mode="median")
        self.rows.baseline = False
        return baseline, self.do_bench(self.device.call(milliseconds), return_mode="median")


def test_a_timed_row_answers_with_its_latency_and_records_it_after_the_row(monkeypatch):
    bench = Bench(monkeypatch)
    assert bench.shape() == pytest.approx((0.04, 0.02), rel=0.01)
    assert bench.shape() == pytest.approx((0.04, 0.02), rel=0.01)
    assert bench.events.told("ordinal", "role", "call") == [
        ("latency", 0, "baseline", 0),
        ("row", 0, None, None),
        ("latency", 0, "operator", 1),
        ("latency", 1, "baseline", 2),
        ("row", 1, None, None),
        ("latency", 1, "operator", 3),
    ]
    assert all(LABEL.items() <= event.items() for event in bench.events if event["event"] != "card")


def test_without_the_baseline_the_suites_own_comparison_is_not_run(monkeypatch):
    bench = Bench(monkeypatch, baseline=False)
    baseline, own = bench.shape()
    assert math.isnan(baseline)
    assert own == pytest.approx(0.02, rel=0.01)
    assert bench.events.told("role") == [("row", None), ("latency", "operator")]


def test_a_baseline_that_fails_costs_the_comparison_and_not_the_row(monkeypatch):
    bench = Bench(monkeypatch)

    def fails():
        raise NotImplementedError("torch has no such operator")

    bench.rows.baseline = True
    assert math.isnan(bench.do_bench(fails, return_mode="median"))
    bench.rows.baseline = False
    bench.do_bench(bench.device.call(0.02))
    assert bench.events.told("role", "invalid") == [
        ("latency", "baseline", "nothing was measured"),
        ("row", None, None),
        ("latency", "operator", ""),
    ]


def test_an_error_that_only_waiting_shows_is_the_row_s(monkeypatch):
    bench = Bench(monkeypatch)

    def call():
        bench.device.broken = True

    with pytest.raises(RuntimeError, match="the device is broken"):
        bench.do_bench(call)
    assert bench.events.told() == [("row_failed",)]


def test_where_there_is_nothing_to_time_on_each_row_says_so(monkeypatch):
    bench = Bench(monkeypatch)
    bench.rows.timer = NoTimer(bench.rows.timer.plan, bench.events, "torch has no cuda device")
    assert all(map(math.isnan, bench.shape()))
    assert bench.events.told("role", "invalid", "method", "samples") == [
        ("latency", "baseline", "torch has no cuda device", "graph", 0),
        ("row", None, None, None, None),
        ("latency", "operator", "torch has no cuda device", "graph", 0),
    ]


def test_an_untimed_row_is_called_twice_and_answered_with_a_placeholder(monkeypatch):
    bench = Bench(monkeypatch, timed=False)
    assert bench.shape() == (1.0, 1.0)
    assert bench.events.told() == [("row",)]
    assert bench.device.random == 7 + 2


def test_a_process_that_goes_on_neither_runs_nor_records_the_calls_before(monkeypatch):
    bench = Bench(monkeypatch, from_call=3, avoid={"3": ["graph"]})
    bench.shape()
    assert bench.device.random == 7
    bench.shape()
    bench.shape()
    assert bench.events.told("ordinal", "role", "call", "method") == [
        ("row", 1, None, None, None),
        ("latency", 1, "operator", 3, "queued"),
        ("latency", 2, "baseline", 4, "graph"),
        ("row", 2, None, None, None),
        ("latency", 2, "operator", 5, "graph"),
    ]


def test_the_first_call_of_a_row_is_sampled(monkeypatch):
    bench = Bench(monkeypatch)
    results = iter(range(100))
    bench.do_bench(lambda: next(results))
    assert bench.sampled == [(0, 0)]


def test_a_timing_within_a_timed_call_is_part_of_it(monkeypatch):
    bench = Bench(monkeypatch)

    def call():
        bench.do_bench(bench.device.call(0.02))

    bench.do_bench(call)
    assert bench.events.told("ordinal") == [("row", 0), ("latency", 0)]
