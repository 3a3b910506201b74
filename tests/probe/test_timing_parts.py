"""The parts that timing rests on: summaries, the warm-up, NVML."""

import ctypes
import math

import pytest
from zl_probe.timing.nvml import Nvml
from zl_probe.timing.summary import as_asked, summarise
from zl_probe.timing.warmup import LONGEST_MS, Warmer


def test_the_summary_has_median_quartiles_and_minimum():
    one = summarise([4.0, 1.0, 2.0, 3.0])
    assert (one.median_ms, one.q1_ms, one.q3_ms, one.min_ms, one.samples) == (2.5, 1.75, 3.25, 1.0, 4)
    assert one.invalid == ""


@pytest.mark.parametrize(
    ("samples", "why"),
    [
        ([], "nothing was measured"),
        ([0.0, 0.0], "the latency is zero"),
        ([-1.0], "the latency is negative"),
        ([math.inf, math.inf], "the latency is infinite"),
        ([1.0, math.nan], "the latency is not a number"),
    ],
)
def test_what_is_no_latency_says_why(samples, why):
    assert summarise(samples).invalid == why


@pytest.mark.parametrize(
    ("quantiles", "mode", "answer"),
    [
        (None, "mean", 2.0),
        (None, "median", 1.5),
        (None, "min", 1.0),
        (None, "max", 4.0),
        (None, "all", [4.0, 1.0, 1.5, 1.5]),
        ([0.5], "mean", 1.5),
        ([0.0, 0.5, 1.0], "mean", [1.0, 1.5, 4.0]),
    ],
)
def test_samples_are_given_in_the_shape_that_do_bench_gives(quantiles, mode, answer):
    assert as_asked([4.0, 1.0, 1.5, 1.5], quantiles, mode) == answer


def test_without_samples_the_answer_is_no_number():
    assert math.isnan(as_asked([], None, "median"))
    assert as_asked([], None, "all") == []


class Clock:
    """Time that passes when work is done; the card's clock follows from how long it has been loaded."""

    def __init__(self, load_seconds, megahertz):
        self.time = 0.0
        self.load_seconds = load_seconds
        self.megahertz = megahertz

    def load(self):
        self.time += self.load_seconds

    def warmer(self):
        return Warmer(lambda: self.megahertz(self.time), lambda: self.time)


def test_an_idle_card_is_loaded_until_its_clock_is_steady():
    clock = Clock(0.01, lambda now: min(1980, 345 + 4000 * now))
    found = clock.warmer().warm_up(clock.load)
    assert found.steady
    assert 0.4e3 < found.milliseconds < 0.5e3


def test_a_card_that_was_just_measured_on_needs_little():
    clock = Clock(0.01, lambda now: 1980)
    warmer = clock.warmer()
    assert warmer.warm_up(clock.load).milliseconds == pytest.approx(300, abs=11)
    warmer.loaded()
    assert warmer.warm_up(clock.load).milliseconds == pytest.approx(50, abs=11)
    clock.time += 1
    assert warmer.warm_up(clock.load).milliseconds == pytest.approx(300, abs=11)


def test_a_clock_that_never_rests_is_not_waited_for_for_ever():
    clock = Clock(0.01, lambda now: 1500 + 100 * (round(now * 100) % 2))
    found = clock.warmer().warm_up(clock.load)
    assert not found.steady
    assert found.milliseconds == pytest.approx(LONGEST_MS, abs=11)


def test_without_a_clock_the_durations_must_agree():
    clock = Clock(0.2, lambda now: None)
    assert clock.warmer().warm_up(clock.load).steady
    ever_faster = Clock(0.2, lambda now: None)

    def load():
        ever_faster.time += ever_faster.load_seconds
        ever_faster.load_seconds *= 0.9

    assert not ever_faster.warmer().warm_up(load).steady


class SimulatedNvml:
    """A library whose calls write what a card would tell; `missing` calls are not in this driver."""

    def __init__(self, missing=(), failing=()):
        self._missing, self._failing = missing, failing

    def __getattr__(self, name):
        if name in self._missing or name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: 9 if name in self._failing else self._answer(name, *arguments)

    def _answer(self, name, *arguments):
        numbers = {"nvmlDeviceGetPowerUsage": 107_500, "nvmlDeviceGetTemperature": 41}
        texts = {
            "nvmlDeviceGetName": b"Simulated",
            "nvmlSystemGetDriverVersion": b"1.2",
            "nvmlSystemGetProcessName": b"other",
        }
        if name == "nvmlDeviceGetClockInfo":
            arguments[-1]._obj.value = {1: 1980, 2: 3201}[arguments[1]]
        elif name in numbers:
            arguments[-1]._obj.value = numbers[name]
        elif name in texts:
            arguments[-2].value = texts[name]
        elif name == "nvmlDeviceGetCurrentClocksThrottleReasons":
            arguments[-1]._obj.value = 0x1 | 0x4 | 0x40
        elif name == "nvmlDeviceGetComputeRunningProcesses_v3":
            _, count, found = arguments
            count._obj.value = 1
            found[0].pid, found[0].used = 123, 5 << 20
        return 0


def test_a_card_tells_clocks_temperature_power_and_what_holds_it_down():
    card = Nvml.of("GPU-1", SimulatedNvml())
    assert card.clock() == 1980
    assert card.reading() == {
        "clock_mhz": 1980,
        "memory_clock_mhz": 3201,
        "temperature_c": 41,
        "power_w": 107.5,
        "throttle": ["power cap", "hardware thermal slowdown"],
    }
    assert card.card() == {
        "name": "Simulated",
        "uuid": "GPU-1",
        "driver": "1.2",
        "processes": [{"pid": 123, "name": "other", "used_mib": 5}],
    }


def test_what_a_driver_does_not_have_or_refuses_is_unknown():
    silent = ("nvmlDeviceGetPowerUsage", "nvmlDeviceGetCurrentClocksThrottleReasons")
    card = Nvml.of("GPU-1", SimulatedNvml(missing=silent, failing=("nvmlDeviceGetClockInfo", "nvmlDeviceGetName")))
    reading = card.reading()
    assert (reading["clock_mhz"], reading["power_w"], reading["throttle"], reading["temperature_c"]) == (
        None,
        None,
        [],
        41,
    )
    assert card.card()["name"] == ""


def test_no_such_card_and_no_library_are_told_by_none():
    assert Nvml.of("GPU-1", SimulatedNvml(failing=("nvmlDeviceGetHandleByUUID",))) is None
    assert Nvml.of("GPU-1", SimulatedNvml(failing=("nvmlInit_v2",))) is None
    assert Nvml.of("GPU-1", ctypes.CDLL(None)) is None
