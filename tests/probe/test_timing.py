"""One call is timed by the method that was asked for, or by the next one that it bears, and the record says which."""

import threading
from types import SimpleNamespace

import pytest
from simulated_device import SimulatedClocks, SimulatedDevice
from zl_probe import wire
from zl_probe.timing import graphs, methods, sampling
from zl_probe.timing.device import Untrustworthy
from zl_probe.timing.timer import RESTLESS_SAMPLE_MS, SAMPLE_MS, Timer, TimingPlan
from zl_probe.timing.warmup import IDLE_MS

KEY = {"node": "test_a.py::test_a", "operator": "a", "dtype": "float16", "ordinal": 0, "detail": "(64, 64)"}


class Events(list):
    def event(self, event, **fields):
        self.append({"event": event, **fields})

    def of(self, kind):
        return [event for event in self if event["event"] == kind]


class Left(Exception):
    """The process would have ended here."""


def plan(method="graph", l2="warm", **going_on):
    given = {"timing": {"method": method, "l2": l2, "baseline": True}}
    return TimingPlan.of({**given, "continue": going_on} if going_on else given)


def timer(device, events, chosen=None, do_bench=None, **options):
    def leave():
        raise Left

    return Timer(
        chosen or plan(), device, SimulatedClocks(1980), events, do_bench or direct(0.5, device), leave, **options
    )


def direct(milliseconds, device):
    """Stands for Triton's do_bench: two samples."""

    def do_bench(call, rep, return_mode):
        assert return_mode == "all"
        device.enqueue(milliseconds)
        return [milliseconds, milliseconds * 3]

    return do_bench


def time_once(device, milliseconds=0.02, chosen=None, number=0, role="operator", **options):
    events = Events()
    samples = timer(device, events, chosen, **options).time(device.call(milliseconds), (), KEY, number, role)
    (latency,) = events.of("latency")
    return samples, latency, events


def test_a_warm_graph_holds_many_calls_and_gives_the_time_of_one():
    device = SimulatedDevice()
    samples, latency, events = time_once(device, 0.02)
    assert {
        "method": "graph",
        "l2": "warm",
        "fell_back": [],
        "invalid": "",
        "launch_bound": False,
    }.items() <= latency.items()
    assert latency["median_ms"] == pytest.approx(0.02, rel=0.01)
    assert latency["samples"] == len(samples) >= sampling.FEWEST_SAMPLES
    assert (device.flushes, device.released) == (0, 1)
    assert latency["before"]["clock_mhz"] == latency["after"]["clock_mhz"] == 1980
    assert [event["event"] for event in events] == ["card", "latency"]
    assert {**KEY, "call": 0, "role": "operator"}.items() <= latency.items()


def test_a_cold_graph_flushes_before_each_call_and_leaves_the_flush_out():
    device = SimulatedDevice()
    _, latency, _ = time_once(device, 0.02, plan(l2="cold"))
    assert latency["l2"] == "cold"
    assert latency["median_ms"] == pytest.approx(0.02)
    assert 75 <= device.flushes <= graphs.MOST_COLD_CALLS + 1  # in the capture, and the one before it


def test_queued_calls_are_enqueued_while_the_device_is_kept_busy():
    device = SimulatedDevice(launch_ms=0.01)  # a call's host work is longer than its 5 us on the device
    _, latency, _ = time_once(device, 0.005, plan("queued"))
    assert (latency["method"], latency["launch_bound"], latency["fell_back"]) == ("queued", False, [])
    assert latency["median_ms"] == pytest.approx(0.005)


@pytest.mark.parametrize("l2", ["cold", "warm"])
def test_the_device_is_busy_between_queued_calls_and_that_is_no_part_of_them(l2):
    device = SimulatedDevice()
    _, latency, _ = time_once(device, 0.001, plan("queued", l2=l2))
    assert (latency["method"], latency["launch_bound"]) == ("queued", False)
    assert latency["median_ms"] == pytest.approx(0.001)
    between = {"cold": device.flushes, "warm": device.spins.count(methods.SPACE_MS)}
    assert between.pop(l2) >= latency["samples"] >= sampling.FEWEST_SAMPLES
    assert list(between.values()) == [0]


def test_a_call_that_waits_for_the_device_is_queued_in_vain_and_says_so():
    device = SimulatedDevice(waiting=True)
    _, latency, events = time_once(device, 0.005)
    assert (latency["method"], latency["launch_bound"]) == ("queued", True)
    assert latency["fell_back"] == [{"method": "graph", "why": "simulated: the call waits"}]
    assert not events.of("abandoned")


def test_queueing_in_vain_keeps_the_device_for_a_bounded_time():
    device = SimulatedDevice(waiting=True)
    spent = []
    device.block = spent.append
    method = methods.Queued(device, device.synchronize, sampling.Estimate(1.0, 1.0), cold=True)
    found = method.samples(100)
    assert found.launch_bound
    assert len(found.milliseconds) >= sampling.FEWEST_SAMPLES
    assert sum(spent) < 2.0, "seconds: it waits in vain, and must not wait longer each time"


def test_what_can_neither_be_captured_nor_queued_is_timed_directly():
    device = SimulatedDevice(graphs=False, blocks=False)
    samples, latency, _ = time_once(device)
    assert (latency["method"], latency["l2"], samples) == ("direct", "cold", [0.5, 1.5])
    assert [one["method"] for one in latency["fell_back"]] == ["graph", "queued"]
    assert (latency["median_ms"], latency["min_ms"]) == (1.0, 0.5)


def test_a_row_not_timed_by_graph_carries_the_marker_in_the_log(capsys):
    time_once(SimulatedDevice(waiting=True))
    assert capsys.readouterr().out == (
        f"{wire.DIRECT_MARKER} queued: a float16 (64, 64) (operator): graph: simulated: the call waits\n"
    )
    time_once(SimulatedDevice())
    assert capsys.readouterr().out == ""
    time_once(SimulatedDevice(), chosen=plan("direct"))
    assert capsys.readouterr().out == f"{wire.DIRECT_MARKER} direct: a float16 (64, 64) (operator): as asked\n"


def test_a_failed_capture_gives_the_process_up_before_anything_else_is_timed():
    events = Events()
    with pytest.raises(Left):
        timer(SimulatedDevice(poisons=True), events).time(lambda: None, (), KEY, 4, "operator")
    (abandoned,) = events.of("abandoned")
    assert {**KEY, "call": 4, "method": "graph", "why": "poisoned", "role": "operator"}.items() <= abandoned.items()
    assert "the capture failed" in abandoned["message"]
    assert not events.of("latency")


def test_a_device_that_does_not_answer_is_noticed_from_another_thread():
    device, events, gone = SimulatedDevice(), Events(), threading.Event()
    device.wedges_on_replay = True
    device.wedged = lambda: gone.wait(20)
    slow = Timer(plan(), device, SimulatedClocks(1980), events, direct(1, device), gone.set, patience_seconds=0.05)
    slow.time(device.call(0.02), (), KEY, 2, "operator")
    (abandoned,) = events.of("abandoned")
    assert (abandoned["why"], abandoned["call"], abandoned["method"]) == ("wedged", 2, "graph")
    assert "did not answer" in abandoned["message"]


@pytest.mark.parametrize(
    ("going_on", "number", "method"),
    [
        ({"avoid": {"3": ["graph"]}}, 3, "queued"),
        ({"avoid": {"3": ["graph"]}}, 4, "graph"),
        ({"avoid": {"3": ["graph", "queued"]}}, 3, "direct"),
        ({"avoid": {}, "queue_rest": True}, 9, "queued"),
    ],
)
def test_a_process_that_goes_on_avoids_what_lost_the_one_before(going_on, number, method):
    _, latency, _ = time_once(SimulatedDevice(), chosen=plan(**going_on), number=number)
    assert latency["method"] == method
    assert [one["method"] for one in latency["fell_back"]] == ["graph", "queued", "direct"][: len(latency["fell_back"])]
    assert all("unusable" in one["why"] for one in latency["fell_back"])
    assert bool(latency["fell_back"]) is (method != "graph")


def test_a_call_that_every_method_lost_a_process_to_is_not_run_again():
    device = SimulatedDevice()
    samples, latency, _ = time_once(device, chosen=plan(avoid={"3": ["graph", "queued", "direct"]}), number=3)
    assert (samples, latency["invalid"], device.random) == ([], "nothing was measured", 7)
    assert [one["method"] for one in latency["fell_back"]] == ["graph", "queued", "direct"]


@pytest.mark.parametrize("method", ["graph", "queued", "direct"])
def test_an_error_that_the_device_keeps_gives_the_process_up(method):
    device, events = SimulatedDevice(), Events()

    def call():
        device.broken = True
        raise RuntimeError("simulated: an illegal access")

    with pytest.raises(Left):
        timer(device, events, plan(method)).time(call, (), KEY, 1, "operator")
    (abandoned,) = events.of("abandoned")
    assert (abandoned["method"], abandoned["why"], abandoned["call"]) == (method, "poisoned", 1)
    assert "an illegal access" in abandoned["message"]


def test_a_latency_of_zero_is_recorded_and_not_handed_on():
    samples, latency, _ = time_once(SimulatedDevice(graphs=False, blocks=False), do_bench=lambda *_, **__: [0.0])
    assert (samples, latency["invalid"], latency["median_ms"]) == ([], "the latency is zero", 0.0)


def test_a_call_of_many_kernels_is_estimated_by_the_device_not_the_host(monkeypatch):
    device = SimulatedDevice(launch_ms=0.01)
    monkeypatch.setattr(sampling, "time", SimpleNamespace(perf_counter=lambda: device.host_ms / 1e3))

    def call():
        for _ in range(5):
            device.enqueue(0.001)

    one = sampling.estimate(device, call)
    assert (one.device_ms, one.host_ms) == (pytest.approx(0.005), pytest.approx(0.05))
    without = SimulatedDevice(launch_ms=0.01, blocks=False)
    assert sampling.estimate(without, without.call(0.005)).device_ms == pytest.approx(0.02)  # two launches


@pytest.mark.parametrize(("host_ms", "calls"), [(0.01, 512), (1.0, 100), (500.0, 1)])
def test_a_call_that_the_host_is_long_at_is_captured_fewer_times(host_ms, calls):
    device, captured = SimulatedDevice(), []
    graphs.WarmGraph(device, lambda: captured.append(1), sampling.Estimate(0.001, host_ms))
    assert len(captured) == calls
    captured.clear()
    graphs.ColdGraph(device, lambda: captured.append(1), sampling.Estimate(0.001, host_ms))
    assert len(captured) == {512: 123, 100: 100, 1: graphs.FEWEST_COLD_CALLS}[calls]  # 10 ms of calls and flushes


def test_a_full_queue_is_no_slow_host(monkeypatch):
    device = SimulatedDevice(launch_ms=0.01, queue=500)
    monkeypatch.setattr(sampling, "time", SimpleNamespace(perf_counter=lambda: device.host_ms / 1e3))

    def call():  # a batch of sixty is more than the queue takes
        for _ in range(20):
            device.enqueue(0.002)

    queued = methods.Queued(device, call, sampling.estimate(device, call), cold=False)
    found = queued.samples(20)
    assert not found.launch_bound
    assert found.milliseconds == pytest.approx([0.04] * len(found.milliseconds))


def test_a_call_that_raises_while_it_is_timed_loses_its_latency_and_no_more():
    device, events, calls = SimulatedDevice(graphs=False, blocks=False), Events(), []

    def call():
        calls.append(1)
        raise ValueError("no more memory")

    assert timer(device, events).time(call, (), KEY, 0, "operator") == []
    (latency,) = events.of("latency")
    assert latency["invalid"] == "nothing was measured"
    assert [one["why"] for one in latency["fell_back"]] == ["ValueError: no more memory"] * 3
    assert latency["median_ms"] == "nan"


def test_timing_leaves_the_random_numbers_where_they_were():
    device = SimulatedDevice()
    time_once(device)
    assert device.random == 7


def test_gradients_are_dropped_before_each_call():
    class Tensor:
        grad = "old"

    device, tensor, seen = SimulatedDevice(), Tensor(), []

    def call():
        seen.append(tensor.grad)
        tensor.grad = "new"
        device.enqueue(0.02)

    timer(device, Events()).time(call, [tensor], KEY, 0, "operator")
    assert set(seen) == {None}


def test_long_calls_have_few_samples_and_short_ones_a_bounded_number():
    assert sampling.enough_for(0.0001, 100) == sampling.MOST_SAMPLES
    assert sampling.enough_for(1, 100) == 100
    assert sampling.enough_for(100, 100) == sampling.FEWEST_SAMPLES
    assert sampling.enough_for(1500, 100) == sampling.FEWEST_LONG_SAMPLES


def test_direct_is_launch_bound_where_the_host_needs_as_long_as_was_measured():
    device = SimulatedDevice()
    for host_ms, bound in ((1.5, True), (0.5, False)):
        method = methods.Direct(device, lambda: None, sampling.Estimate(1.0, host_ms), lambda *_, **__: [1.0])
        assert method.samples(100).launch_bound is bound


def test_direct_asks_again_where_do_bench_planned_by_a_compile():
    answers = [[0.5], [0.25] * 200]
    method = methods.Direct(
        SimulatedDevice(), lambda: None, sampling.Estimate(0.2, 0.1), lambda *_, **__: answers.pop(0)
    )
    assert method.samples(100).milliseconds == [0.25] * 200
    answers = [[60.0], [1.0]]
    assert method.samples(100).milliseconds == [60.0], "as many as there was time for"


def test_direct_takes_the_median_of_a_triton_that_gives_no_samples():
    def do_bench(call, rep, quantiles=None, **unknown):
        if unknown:
            raise AssertionError("return_mode")
        return 0.25

    device = SimulatedDevice()
    assert methods.Direct(device, lambda: None, sampling.Estimate(0.2, 0.1), do_bench).samples(100).milliseconds == [
        0.25
    ]


def test_nothing_is_planned_without_timing():
    assert TimingPlan.of({}) is None
    assert TimingPlan.of({"timing": None}) is None
    assert plan().methods_for(0) == ["graph", "queued", "direct"]
    assert plan("direct").methods_for(0) == ["direct"]


def test_a_poisoned_capture_is_an_error_to_whoever_survives_it():
    timer_ = Timer(plan(), SimulatedDevice(poisons=True), SimulatedClocks(1), Events(), None, lambda: None)
    with pytest.raises(Untrustworthy):
        timer_.time(lambda: None, (), KEY, 0, "operator")


@pytest.mark.parametrize(
    ("told", "longer"),
    [([1980], False), ([1980, 1965], False), ([1980, 1900], True), ([None], False)],
    ids=["at rest", "a step", "a moving clock", "no clock"],
)
def test_a_card_whose_clock_moved_is_measured_on_again_and_for_longer(told, longer, monkeypatch):
    told, wanted, samples = list(told), [], graphs.WarmGraph.samples

    def reading():
        return {"clock_mhz": told.pop(0) if len(told) > 1 else told[0]}

    def sampled(method, milliseconds):
        wanted.append(milliseconds)
        return samples(method, milliseconds)

    clocks, device, events = SimulatedClocks(1980), SimulatedDevice(), Events()
    monkeypatch.setattr(clocks, "reading", reading)
    monkeypatch.setattr(graphs.WarmGraph, "samples", sampled)
    Timer(plan(), device, clocks, events, None, lambda: None).time(device.call(0.02), (), KEY, 0, "operator")
    assert wanted == [SAMPLE_MS, RESTLESS_SAMPLE_MS][: 1 + longer]
    (latency,) = events.of("latency")
    assert (latency["warmup_ms"] >= 2 * IDLE_MS) is longer
