"""The process that times hands every case to the probe's Timer by every method, and keeps what it records."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from timing_cells import CASES, METHODS, cells, is_whole

pytest.importorskip("torch")
pytest.importorskip("triton")

import timed_cases

import zl_bench.inside
from zl_bench.inside.zl_probe.timing.device import Untrustworthy


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """A simulated device in place of the card; calls take it 0.02 ms, and do_bench says 0.05."""
    monkeypatch.syspath_prepend(str(Path(zl_bench.inside.__file__).parent))
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[1] / "probe"))
    from simulated_device import SimulatedClocks, SimulatedDevice

    device = SimulatedDevice()
    device.use_own_stream = lambda: None
    device.module = None
    result = tmp_path / "result.json"
    monkeypatch.setattr(timed_cases.TorchDevice, "of", lambda name: device)
    monkeypatch.setattr(timed_cases, "clocks_of", lambda module: SimulatedClocks(1980))
    monkeypatch.setattr(timed_cases, "calls", lambda: {case: device.call(0.02) for case in CASES})
    monkeypatch.setattr(timed_cases.triton.testing, "do_bench", lambda call, **_: [0.05, 0.05])
    monkeypatch.setattr(timed_cases.versions, "versions", lambda: {"python": "3", "torch": None, "triton": None})
    monkeypatch.setattr("sys.argv", ["timed_cases.py", str(result)])
    return device, result


def test_every_case_is_timed_by_every_method(simulated):
    device, result = simulated
    timed_cases.main()
    line = json.loads(result.read_text())
    assert is_whole(line)
    assert line["card"]["name"] == "simulated card"
    told = {(case, method): line["results"][case][method] for case in CASES for method in METHODS}
    assert {found["call"] for found in told.values()} == set(range(25))
    assert {(method, found["method"]) for (_, method), found in told.items()} == {
        (method, method.split(maxsplit=1)[0]) for method in METHODS
    }
    assert {found["l2"] for (_, method), found in told.items() if "warm" in method} == {"warm"}
    assert told["mm", "graph warm"]["median_ms"] == pytest.approx(0.02, rel=0.01)
    assert told["mm", "direct"]["median_ms"] == pytest.approx(0.05)
    assert [cell.otherwise for cell in cells([line])] == [[]] * 25
    assert device.released == 10


def test_what_was_timed_before_the_process_was_given_up_is_kept(simulated, monkeypatch):
    device, result = simulated

    class Left(Exception):
        """The process would have ended here."""

    def leave(status):
        raise Left(status)

    def poisoned(body):
        raise Untrustworthy("simulated: the capture failed")

    monkeypatch.setattr(timed_cases.os, "_exit", leave)
    monkeypatch.setattr(timed_cases, "METHODS", ("direct", "graph warm"))
    device.capture = poisoned
    with pytest.raises(Left, match=str(timed_cases.GAVE_UP)):
        timed_cases.main()
    line = json.loads(result.read_text())
    assert list(line["results"]) == ["one"]
    assert list(line["results"]["one"]) == ["direct"]
    (lost,) = line["abandoned"]
    assert (lost["operator"], lost["detail"], lost["why"]) == ("one", "graph warm", "poisoned")
    assert not is_whole(line)
