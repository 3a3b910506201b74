"""The real command, real servers and forks and sockets, on simulated cards with a simulated device in every run.

What a card would do is made up: how long a call takes is planted by the suite, and its kernels are objects with texts for
stages. Everything between `zl-bench screen` and measure.tsv is what a user would run.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import command, processes_mentioning, wait_for, zl_bench

pytestmark = pytest.mark.integration

SIMULATED_DEVICE = Path(__file__).parents[1] / "probe" / "simulated_device.py"
SWITCH = "TRITON_F32_DEFAULT"
SITE = """
import sys, types
try:
    from zl_probe.timing import nvml, torch_device
except ImportError:  # the tool itself, not a side
    pass
else:
    from simulated_device import SimulatedClocks, SimulatedDevice

    class SimulatedTorchDevice(SimulatedDevice):
        name, current = "cuda", None
        module = types.SimpleNamespace(_lazy_init=lambda: None)

        def use_own_stream(self):
            SimulatedTorchDevice.current = self

        def seed(self):
            pass  # nothing here is drawn from a device's generator

    torch_device.TorchDevice.of = classmethod(lambda cls, name: SimulatedTorchDevice())
    nvml.clocks_of = lambda module: SimulatedClocks(1980)
    sys.modules["simulated_torch_device"] = type(sys)("simulated_torch_device")
    sys.modules["simulated_torch_device"].SimulatedTorchDevice = SimulatedTorchDevice
"""
SUITE = """
import os, random, types
import triton.testing
from triton.compiler import CompiledKernel

TARGET = types.SimpleNamespace(backend="cuda", arch=90, warp_size=32)
AFTER = os.environ["TRITON_F32_DEFAULT"] == "tf32"
TTGIR = 'module {{ tt.func public @k() {{ x.use {{value = {value} : i32}} : i32\\n tt.return }} }}'


class SimulatedKernel:
    def __init__(self, name, value):
        self.name = name
        self.src = types.SimpleNamespace(name=name)
        asked = {"num_warps": 4, "num_stages": 1, "num_ctas": 1}
        self.metadata = types.SimpleNamespace(shared=0, target=TARGET, _asdict=lambda: asked)
        self.asm = {"ttgir": TTGIR.format(value=value), "mubin": b"machine code %d" % value}
        self.run = self.function = None
        self.hash = f"{name}{value}"

    def _init_handles(self):
        pass  # nothing to load; Triton asks for it at every launch that a hook may watch


def bench(detail, milliseconds, changed):
    from simulated_torch_device import SimulatedTorchDevice
    kernel = SimulatedKernel(f"kernel_{detail}", 10 * changed * AFTER + int(os.environ.get("ZL_TEST_OTHER_CODE", 0)))
    device = SimulatedTorchDevice.current or SimulatedTorchDevice()
    call = device.call(milliseconds * (1.1 if changed and AFTER else 1.0) * random.gauss(1, 0.001))

    def launch():
        CompiledKernel.launch_metadata(kernel, (1,), 0)
        call()

    triton.testing.do_bench(launch)


def test_changed():
    random.seed()
    for detail in range(2):
        bench(detail, 0.05 * (detail + 1), True)
    for detail in range(2, 7):
        bench(detail, 0.03 * detail, False)
"""
SMI = """#!/bin/sh
case "$1" in
*compute-apps*) ;;
*) echo "0, SIM-a0, Simulated H1, 0A";;
esac
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A machine with one simulated card."""
    for name in ("bin", "locks", "suite", "site"):
        (tmp_path / name).mkdir()
    (tmp_path / "bin" / "nvidia-smi").write_text(SMI)
    (tmp_path / "bin" / "nvidia-smi").chmod(0o755)
    (tmp_path / "suite" / "test_all.py").write_text(SUITE)
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    shutil.copy(SIMULATED_DEVICE, tmp_path / "site")
    return {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{tmp_path / 'site'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":"),
        "ZL_BENCH_LOCKS": str(tmp_path / "locks"),
        "ZL_TEST_MARKER": f"zl-marker-{tmp_path}",
    }


@pytest.fixture
def root(tmp_path: Path, environment: dict[str, str]) -> Path:
    """A root that was screened on the card."""
    root = tmp_path / "root"
    done = zl_bench(
        "screen", "--switch", f"{SWITCH}=ieee..tf32", "--suite", tmp_path / "suite", "--root", root, "changed",
        env=environment,
    )  # fmt: skip
    assert done.code == 0, done.out + done.err
    assert "IR_CHANGED" in done.out
    return root


def lines(root: Path, kind: str) -> list[dict[str, Any]]:
    path = root / "measure.jsonl"
    found = [json.loads(line) for line in path.read_text().split("\n")[:-1]] if path.exists() else []
    return [line for line in found if line["record"] == kind]


def table(root: Path) -> dict[str, dict[str, str]]:
    with (root / "measure.tsv").open(newline="") as stream:
        return {f"{line['kind']} {line['ordinal']}": line for line in csv.DictReader(stream, delimiter="\t")}


def test_a_planted_change_is_found_by_real_processes_that_take_turns(root: Path, environment: dict[str, str]) -> None:
    done = zl_bench("measure", root, "--rounds", "3", "--seed", "1", "--fail-on", "SLOWER", env=environment)
    assert done.code == 10, done.out + done.err
    rows = table(root)
    assert [rows[f"changed {ordinal}"]["verdict"] for ordinal in range(2)] == ["SLOWER", "SLOWER"]
    assert float(rows["changed 0"]["speedup"]) == pytest.approx(1 / 1.1, rel=0.01)
    assert [rows[f"placebo {ordinal}"]["verdict"] for ordinal in range(2, 7)] == ["IDENTICAL"] * 5
    assert rows["changed 0"]["timing"] == "graph cold"
    assert {len(line["turns"]) for line in lines(root, "round")} == {2}
    assert {line["opened"] == [] for line in lines(root, "pair")} == {True}
    assert processes_mentioning(environment["ZL_TEST_MARKER"]) == []
    judged = zl_bench("judge", root / "measure.jsonl")
    assert judged.code == 0
    assert "SLOWER" in judged.out


def test_processes_one_after_the_other_find_the_same(root: Path, environment: dict[str, str]) -> None:
    done = zl_bench("measure", root, "--rounds", "3", "--alternate", "processes", env=environment)
    assert done.code == 0, done.out + done.err
    assert table(root)["changed 0"]["verdict"] == "SLOWER"
    assert {len(line["turns"]) for line in lines(root, "round")} == {1}


def test_no_process_uses_the_card_before_the_pair_ahead_of_it_has_ended(
    root: Path, environment: dict[str, str]
) -> None:
    done = zl_bench("measure", root, "--rounds", "4", "--ahead", env=environment)
    assert done.code == 0, done.out + done.err
    assert [line["round"] for line in lines(root, "pair")] == [1, 2, 3, 4]
    ended = 0.0
    for number in range(1, 5):
        told = [events(root, number, side) for side in ("before", "after")]
        for one in told:
            names = [event["event"] for event in one]
            assert names.index("collected") < names.index("entered") < names.index("row")
            assert next(event["t"] for event in one if event["event"] == "entered") > ended
        ended = max(one[-1]["t"] for one in told)
    assert processes_mentioning(environment["ZL_TEST_MARKER"]) == []


def events(root: Path, number: int, side: str) -> list[dict[str, Any]]:
    (path,) = (root / "measure" / f"round_{number}").glob(f"changed*_{side}/events.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("how", ["--ahead", "--no-ahead"])
def test_a_killed_measurement_goes_on(root: Path, environment: dict[str, str], how: str) -> None:
    arguments = ("measure", root, "--rounds", "3", how)
    with subprocess.Popen(command(*arguments), env={**os.environ, **environment}, stdout=subprocess.DEVNULL) as tool:
        wait_for(lambda: lines(root, "pair"))
        tool.send_signal(signal.SIGKILL)
    wait_for(lambda: processes_mentioning(environment["ZL_TEST_MARKER"]) == [])
    finished = len(lines(root, "pair"))
    assert 1 <= finished < 3
    assert zl_bench(*arguments, env=environment).code == 2
    done = zl_bench(*arguments, "--resume", env=environment)
    assert done.code == 0, done.out + done.err
    assert sorted(line["round"] for line in lines(root, "pair")) == [1, 2, 3]
    assert {row["rounds"] for row in table(root).values()} == {"3"}


def test_other_code_than_was_screened_stops_it(root: Path, environment: dict[str, str]) -> None:
    done = zl_bench("measure", root, "--rounds", "3", env={**environment, "ZL_TEST_OTHER_CODE": "5"})
    assert done.code == 1, done.out + done.err
    assert "is not the code that was screened" in done.out
    (stopped,) = lines(root, "stopped")
    assert stopped["round"] == 1
    assert lines(root, "round") == []
