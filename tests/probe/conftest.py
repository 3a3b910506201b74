"""The probe's tests import it as the measured process does: as `zl_probe`, from the folder that is put on its path."""

import sys
from pathlib import Path

INSIDE = Path(__file__).resolve().parents[2] / "src" / "zl_bench" / "inside"
if str(INSIDE) not in sys.path:
    sys.path.insert(0, str(INSIDE))

import pytest  # noqa: E402
from probe_side import CUDA, Cases, Side  # noqa: E402


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
