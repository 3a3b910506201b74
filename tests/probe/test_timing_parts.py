"""The parts that timing rests on: summaries, the warm-up, NVML."""

import ctypes
import math
import os
import random
from types import SimpleNamespace

import pytest
from simulated_device import SimulatedDevice
from zl_probe import seeding
from zl_probe.timing.nvml import Nvml, clocks_of
from zl_probe.timing.random_numbers import unmoved
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


def test_the_generators_of_the_host_can_be_put_back():
    random.seed(3)
    state = seeding.host_state()
    drawn = random.random()
    seeding.restore_host_state(state)
    assert random.random() == drawn


def test_the_generators_of_numpy_and_torch_can_be_put_back():
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    torch = pytest.importorskip("torch", reason="needs torch")
    numpy.random.seed(3)
    state = seeding.host_state()
    drawn = numpy.random.random(), torch.rand(1).item()
    seeding.restore_host_state(state)
    assert (numpy.random.random(), torch.rand(1).item()) == drawn


def test_what_is_drawn_meanwhile_moves_nothing_also_when_it_fails():
    device = SimulatedDevice()
    with pytest.raises(ValueError, match="drawn"), unmoved(device):
        device.random += 5
        raise ValueError("drawn")
    assert device.random == 7
    with unmoved(None):
        pass


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


FOREIGN = 2**22 + 1
"""A number that no process has: more than Linux gives."""


class SimulatedNvml:
    """A library whose calls write what a card would tell; `missing` calls are not in this driver."""

    def __init__(self, missing=(), failing=(), pids=None):
        self._missing, self._failing = missing, failing
        self._pids = (os.getpid(), FOREIGN) if pids is None else pids

    def __getattr__(self, name):
        if name in self._missing or name.startswith("_"):
            raise AttributeError(name)
        return lambda *arguments: 9 if name in self._failing else self._answer(name, *arguments)

    def _answer(self, name, *arguments):
        numbers = {"nvmlDeviceGetPowerUsage": 107_500, "nvmlDeviceGetTemperature": 41}
        texts = {
            "nvmlDeviceGetName": b"Simulated",
            "nvmlDeviceGetUUID": b"GPU-2",
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
            count._obj.value = len(self._pids)
            for place, pid in enumerate(self._pids):
                found[place].pid, found[place].used = pid, 5 << 20
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
        "processes": [{"pid": FOREIGN, "name": "other", "used_mib": 5}],
    }


@pytest.mark.parametrize(
    ("pids", "others"),
    [
        ((os.getpid(), FOREIGN), [FOREIGN]),
        ((os.getppid(), os.getpid()), []),
        ((FOREIGN, FOREIGN + 1), [FOREIGN]),  # in a container, where this process has another number
        ((FOREIGN,), []),
        ((), []),
    ],
)
def test_the_processes_of_others_are_those_that_are_not_this_one_or_above_it(pids, others):
    card = Nvml.of("GPU-1", SimulatedNvml(pids=pids)).card()
    assert [process["pid"] for process in card["processes"]] == others


def test_a_card_without_a_uuid_that_nvml_knows_is_found_by_its_place():
    class Asked(SimulatedNvml):
        asked = ()

        def _answer(self, name, *arguments):
            if "GetHandle" in name:
                self.asked = (*self.asked, (name, arguments[0]))
            return super()._answer(name, *arguments)

    def module(**properties):
        known = SimpleNamespace(name="Simulated", **properties)
        return SimpleNamespace(current_device=lambda: 0, get_device_properties=lambda index: known)

    place = {"pci_domain_id": 1, "pci_bus_id": 0x9A, "pci_device_id": 0}
    library = Asked()
    assert clocks_of(module(uuid="1-2", **place), library).card()["uuid"] == "GPU-1-2"
    assert clocks_of(module(**place), library).card()["uuid"] == "GPU-2"
    assert library.asked == (
        ("nvmlDeviceGetHandleByUUID", b"GPU-1-2"),
        ("nvmlDeviceGetHandleByPciBusId_v2", b"00000001:9a:00.0"),
    )
    assert clocks_of(module(), library).card() == {"name": "Simulated", "uuid": "", "driver": "", "processes": []}


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
