"""A side server never touches a device: what it would have opened is of no use to its forks. The devices are simulated."""

import json
import os
from pathlib import Path

import pytest
from probe_side import Side, without_torch
from zl_probe import devices

TORCH = """
import sys, types
torch = types.ModuleType("torch")
torch.__version__ = "0"
torch.version = types.SimpleNamespace()
torch.set_num_threads = lambda count: None
torch._C = types.SimpleNamespace()
torch.cuda = types.SimpleNamespace(is_initialized=lambda: {initialised})
sys.modules["torch"] = torch
"""
DRIVER = """
from triton.runtime import driver


class SimulatedDriver:
    def get_current_target(self):
        import types
        return types.SimpleNamespace(backend="cuda", arch=90, warp_size=32)


driver.set_active(SimulatedDriver())
"""


def test_what_any_process_has_open_is_no_device():
    with Path("/dev/null").open(), Path("/dev/urandom").open("rb"), Path("/dev/zero").open("rb"):
        assert devices.opened() == []


def test_a_character_device_is_one(tmp_path):
    path = tmp_path / "simulated0"
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))  # null's own numbers under another name
        with path.open():
            found = devices.opened()
    except OSError:
        pytest.skip("device files can not be made here")
    assert found == [str(path)]
    assert devices.opened() == []


def test_a_side_that_opened_none_says_so(side):
    assert side.greeting["ready"]["opened"] == []


@pytest.mark.integration
@pytest.mark.parametrize("initialised", [True, False])
def test_a_server_that_has_initialised_a_device_does_not_start(tmp_path, initialised):
    pytest.importorskip("triton", reason="needs triton")
    (tmp_path / "simulated_torch.py").write_text(TORCH.format(initialised=initialised))
    with_it = [tmp_path, without_torch(tmp_path)]
    side = Side(tmp_path, modules=["simulated_torch"], first_paths=with_it)
    try:
        assert ("ready" in side.greeting) is not initialised
        if initialised:
            assert "has initialised torch.cuda" in side.greeting["failed"]
    finally:
        side.close()


def asked(side, folder):
    """How a question for the card's target ended, and the answer."""
    out = Path(folder) / "answer.json"
    end = side.ask("target", out=str(out))
    return end, json.loads(out.read_text()) if out.exists() else None


@pytest.mark.integration
def test_a_child_says_what_the_card_compiles_for(tmp_path):
    pytest.importorskip("triton", reason="needs triton")
    (tmp_path / "simulated_driver.py").write_text(DRIVER)
    with Side(tmp_path, modules=["simulated_driver"], first_paths=[tmp_path, without_torch(tmp_path)]) as side:
        end, answer = asked(side, tmp_path)
    assert end["code"] == 0
    assert answer == {"target": "cuda:90"}


@pytest.mark.integration
def test_without_a_card_the_reason_is_in_the_log(tmp_path):
    pytest.importorskip("triton", reason="needs triton")
    first_paths = [without_torch(tmp_path)]
    with Side(tmp_path, first_paths=first_paths, CUDA_VISIBLE_DEVICES="-1", HIP_VISIBLE_DEVICES="-1") as side:
        end, answer = asked(side, tmp_path)
    assert end["code"] != 0
    assert answer is None
    assert "Error" in (tmp_path / "answer.json.log").read_text()
