"""The timer's self-test: every method measures calls of known length, and the clock is watched. The device is simulated."""

import json

import pytest
from probe_side import Side, without_torch
from simulated_device import SimulatedClocks, SimulatedDevice
from zl_probe.timing import selftest, warmup
from zl_probe.timing.selftest import Answer, examine, watch_clock

ALL = ("direct", "queued", "graph")
MEGAHERTZ = 2000
"""At which the spinning kernel's cycles take as long as was asked for."""


class SimulatedSpinner(SimulatedDevice):
    """Whatever spins takes a microsecond more than it was asked to."""

    def block(self, seconds):
        super().block(seconds + 1e-6)


class SilentClocks(SimulatedClocks):
    """Of a card that tells nothing."""

    def __init__(self):
        super().__init__(None)

    def reading(self):
        return None


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """The simulated device has a clock of its own, and a warm-up and a watch that go by the host's would only wait."""
    monkeypatch.setattr(warmup, "IDLE_MS", 1)
    monkeypatch.setattr(warmup, "HOT_MS", 1)
    monkeypatch.setattr(warmup, "LONGEST_MS", 5)
    monkeypatch.setattr(selftest, "REST_SECONDS", 0)
    monkeypatch.setattr(selftest, "WATCHED_SECONDS", 0.01)


def do_bench_of(device):
    """Stands for Triton's do_bench, on the simulated device: it has the host's launches between its events."""

    def do_bench(call, rep, return_mode):
        samples = []
        for _ in range(10):
            device.flush()
            device.synchronize()
            first, last = device.event(), device.event()
            first.record()
            call()
            last.record()
            device.synchronize()
            samples.append(first.milliseconds_to(last))
        return samples

    return do_bench


def examined(device, clocks=None, methods=ALL, leave=lambda: None):
    answer = Answer()
    examine(device, clocks or SimulatedClocks(MEGAHERTZ), do_bench_of(device), methods, answer, leave)
    return answer.found


def timing(found, method, l2, what):
    (one,) = [one for one in found["timings"] if (one["method"], one["l2"], one["what"]) == (method, l2, what)]
    return one


def test_every_method_measures_the_length_that_is_known():
    found = examined(SimulatedSpinner())
    regimes = list(dict.fromkeys((one["method"], one["l2"]) for one in found["timings"]))
    assert regimes == [("direct", "cold"), ("queued", "warm"), ("queued", "cold"), ("graph", "warm"), ("graph", "cold")]
    for method, l2 in regimes:
        known, doubled, empty = (timing(found, method, l2, what) for what in ("known", "doubled", "empty"))
        assert known["measured_ms"] == pytest.approx(1.001, rel=0.005)
        assert doubled["measured_ms"] == pytest.approx(2.001, rel=0.005)
        assert (known["expected_ms"], doubled["expected_ms"]) == (pytest.approx(1.0), pytest.approx(2.0))
        assert empty["expected_ms"] is None
        assert {one["note"] for one in (known, doubled, empty)} == {""}
    assert timing(found, "graph", "warm", "empty")["measured_ms"] == pytest.approx(0.001, rel=0.2)
    assert timing(found, "direct", "cold", "empty")["measured_ms"] > 0.0015
    assert found["card"]["name"] == "simulated card"
    assert found["reason"] == ""


def test_the_expected_length_is_by_the_clock_beside_the_measurement():
    found = examined(SimulatedSpinner(), SimulatedClocks(1000), ["direct"])
    assert timing(found, "direct", "cold", "known")["expected_ms"] == pytest.approx(2.0)
    found = examined(SimulatedSpinner(), SilentClocks(), ["direct"])
    assert timing(found, "direct", "cold", "known")["expected_ms"] is None


def test_only_the_methods_that_were_asked_for_are_tried():
    device = SimulatedSpinner()
    found = examined(device, methods=["direct"])
    assert {one["method"] for one in found["timings"]} == {"direct"}
    assert device.replays == 0


def test_a_method_that_is_not_to_be_had_says_why_and_no_other_stands_in_for_it():
    found = examined(SimulatedSpinner(graphs=False), methods=["queued", "graph"])
    for l2 in ("warm", "cold"):
        for what in ("known", "doubled", "empty"):
            one = timing(found, "graph", l2, what)
            assert (one["measured_ms"], one["note"]) == (None, "simulated: no graphs")
            assert timing(found, "queued", l2, what)["measured_ms"] is not None


def test_what_is_no_latency_is_not_given_as_one():
    one = timing(examined(SimulatedDevice(launch_ms=0), methods=["graph"]), "graph", "warm", "empty")
    assert (one["measured_ms"], one["note"]) == (None, "the latency is zero")


def test_without_anything_that_spins_nothing_is_measured():
    found = examined(SimulatedSpinner(blocks=False))
    assert {one["measured_ms"] for one in found["timings"]} == {None}
    assert {one["note"] for one in found["timings"]} == {"simulated: nothing blocks"}


def test_a_failed_capture_ends_the_examination_with_what_was_found():
    left = []
    found = examined(SimulatedSpinner(poisons=True), leave=lambda: left.append(1))
    assert left == [1]
    assert timing(found, "queued", "cold", "known")["measured_ms"] is not None
    one = timing(found, "graph", "warm", "known")
    assert (one["measured_ms"], one["note"]) == (None, "poisoned: simulated: the capture failed")
    assert found["timings"][-1] is one


def watched(device, clocks, **options):
    return watch_clock(device, clocks, lambda seconds: None, lambda: device.host_ms / 1e3, **options)


def test_the_clock_is_read_after_a_rest_and_then_under_load(monkeypatch):
    monkeypatch.setattr(selftest, "WATCHED_SECONDS", 0.02)
    found = watched(SimulatedDevice(), SimulatedClocks(345, 900, 1980))
    assert found["idle"]["clock_mhz"] == 345
    assert [clock for _, clock in found["ramp"]] == [900, 1980, 1980, 1980]
    assert [at for at, _ in found["ramp"]] == pytest.approx([5, 10, 15, 20], rel=0.01)
    assert found["loaded"]["clock_mhz"] == 1980


def test_the_card_rests_before_its_idle_clock_is_read(monkeypatch):
    monkeypatch.setattr(selftest, "REST_SECONDS", 2.0)
    rested = []
    watch_clock(SimulatedDevice(), SimulatedClocks(345), rested.append)
    assert rested == [2.0]


def test_where_nothing_spins_the_load_is_flushes(monkeypatch):
    monkeypatch.setattr(selftest, "WATCHED_SECONDS", 0.02)
    device = SimulatedDevice(blocks=False)
    found = watched(device, SimulatedClocks(1980))
    assert device.flushes == selftest.FLUSHES * len(found["ramp"]) > 0


def test_a_clock_that_is_not_told_is_not_watched():
    assert watched(SimulatedDevice(), SilentClocks()) == {"idle": None, "ramp": [], "loaded": None}


def test_an_answer_is_written_whole(tmp_path):
    answer = Answer()
    answer.write(str(tmp_path / "answer.json"))
    assert json.loads((tmp_path / "answer.json").read_text())["timings"] == []
    assert [path.name for path in tmp_path.iterdir()] == ["answer.json"]


@pytest.mark.integration
def test_a_child_of_the_server_answers_where_there_is_no_device(tmp_path):
    pytest.importorskip("triton", reason="needs triton")
    out = tmp_path / "answer.json"
    with Side(tmp_path, first_paths=[without_torch(tmp_path)]) as side:
        end = side.ask("selftest", device="cuda", methods=list(ALL), out=str(out))
    assert end["code"] == 0
    answer = json.loads(out.read_text())
    assert "finds no cuda device to use" in answer["reason"]
    assert answer["timings"] == []
