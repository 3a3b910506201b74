"""The probe's tests import it as the measured process does: as `zl_probe`, from the folder that is put on its path."""

import sys
from importlib.util import find_spec
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[2] / "src" / "zl_bench" / "inside"
if str(INSIDE) not in sys.path:
    sys.path.insert(0, str(INSIDE))

import pytest  # noqa: E402
from probe_side import CUDA, HIP, Cases, Side, without_torch  # noqa: E402


@pytest.fixture(scope="session")
def side(tmp_path_factory):
    """A real side server for cuda:90 that all tests share; every case still runs in a process of its own."""
    pytest.importorskip("triton", reason="needs triton")
    with Side(tmp_path_factory.mktemp("side"), target=CUDA) as started:
        yield started


@pytest.fixture(scope="session")
def cases(side, tmp_path_factory):
    """Runs benchmark files of `cases/` on the shared server."""
    return Cases(side, tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="session")
def hip_side(tmp_path_factory):
    """The same for hip:gfx942, where the tested Triton can compile for it."""
    triton = pytest.importorskip("triton", reason="needs triton")
    if tuple(map(int, triton.__version__.split(".")[:2])) < (3, 6):
        pytest.skip("hip needs Triton 3.6 or later: older ones want an installed ROCm linker")
    wants_torch = triton.__version__.startswith("3.6.")
    if wants_torch and find_spec("torch") is None:
        pytest.skip("needs torch: Triton 3.6 imports it to compile for hip")
    folder = tmp_path_factory.mktemp("hip_side")
    with Side(folder, target=HIP, first_paths=[] if wants_torch else [without_torch(folder)]) as started:
        yield started
