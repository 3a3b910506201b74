"""The device behind torch, with a simulated device module in torch's place for cards."""

import contextlib
import gc
import types

import pytest
from zl_probe.seeding import DEVICE_SEED
from zl_probe.timing.device import CanNot, Untrustworthy

torch = pytest.importorskip("torch", reason="needs torch")

from zl_probe.timing.torch_device import TorchDevice  # noqa: E402


@pytest.fixture
def simulated(monkeypatch):
    """A device module that has what a test gives it."""

    def make(**parts):
        module = types.SimpleNamespace(is_available=lambda: True, **parts)
        monkeypatch.setattr(torch, "simulated", module, raising=False)
        return TorchDevice.of("simulated")

    return make


def graphs(fails=False):
    """A module's parts for captures; ending one that failed raises an error of its own, as torch does."""

    @contextlib.contextmanager
    def graph(captured, stream, capture_error_mode):
        assert (stream, capture_error_mode, gc.isenabled()) == ("own", "thread_local", False)
        try:
            yield
        except ValueError:
            raise RuntimeError("the capture was invalidated")  # noqa: B904 - so does torch

    return {"CUDAGraph": object, "graph": graph, "current_stream": lambda: "own"}


def test_what_is_not_there_is_no_device(simulated, monkeypatch):
    assert TorchDevice.of("nothing_of_the_kind") is None
    simulated()
    monkeypatch.setattr(torch.simulated, "is_available", lambda: False)
    assert TorchDevice.of("simulated") is None


def test_a_device_without_graphs_or_events_in_them_or_a_spinning_kernel_can_not(simulated):
    def event(enable_timing):
        return None

    device = simulated(Event=event)
    with pytest.raises(CanNot, match=r"torch\.simulated has no graphs"):
        device.capture(lambda: None)
    with pytest.raises(CanNot, match="no events within graphs"):
        device.event(in_graph=True)
    with pytest.raises(CanNot, match="nothing that blocks"):
        device.block(1)


def test_a_failed_capture_is_told_by_its_first_error(simulated):
    device = simulated(**graphs())

    def body():
        raise ValueError("a copy to the host")

    with pytest.raises(Untrustworthy, match="ValueError: a copy to the host"):
        device.capture(body)
    assert gc.isenabled()


def test_a_capture_that_went_well_is_a_graph(simulated):
    ran = []
    simulated(**graphs()).capture(lambda: ran.append(1))
    assert ran == [1]
    assert gc.isenabled()


def test_a_call_that_makes_the_host_wait_is_noticed_and_other_errors_are_its_own(simulated):
    modes = []
    device = simulated(set_sync_debug_mode=modes.append)

    def waiting():
        raise RuntimeError("called a synchronizing CUDA operation")

    def broken():
        raise RuntimeError("something else")

    assert device.waits(waiting) == "the call makes the host wait for the device"
    assert device.waits(lambda: None) == ""
    with pytest.raises(RuntimeError, match="something else"):
        device.waits(broken)
    assert modes == ["error", "default"] * 3


def test_a_device_without_that_mode_runs_the_call_and_knows_nothing(simulated):
    ran = []
    assert simulated().waits(lambda: ran.append(1)) == ""
    assert ran == [1]


def test_blocking_is_in_ticks_of_a_card_at_full_speed(simulated):
    ticks = []
    simulated(_sleep=ticks.append).block(0.001)
    assert ticks == [2_000_000]


def test_its_generator_gets_the_seed_of_every_run_which_is_wide_and_odd(simulated):
    seeds = []
    simulated(manual_seed=seeds.append).seed()
    simulated().seed()
    (seed,) = seeds
    assert seed == DEVICE_SEED
    assert 2**31 < seed < 2**53
    assert seed % 2 == 1
