"""Two compiles of the same source from two places agree at every stage, down to the machine code."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.ir.corpus import DATA, run_make
from zl_bench.ir.fingerprint import fingerprint, normalise
from zl_bench.ir.stages import order_stages

pytestmark = pytest.mark.integration
triton = pytest.importorskip("triton")


@pytest.fixture(scope="module")
def two_places(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Path], list[Path]]:
    """All stages of all fixture kernels, compiled from two folders, in the second with lines moved."""
    outputs = []
    for name, moved in (("first", ""), ("second_with_a_longer_name", "\n# moved\n\n")):
        folder = tmp_path_factory.mktemp(name)
        for file in ("kernels.py", "make.py"):
            shutil.copy(DATA / file, folder / file)
        source = folder / "kernels.py"
        source.write_text(source.read_text().replace("\n@triton.jit\n", f"{moved}\n@triton.jit\n"))
        os.utime(source, (1_000_000_000, 1_000_000_000 + len(moved)))
        outputs.append(run_make(folder, "--all-stages", script=folder / "make.py"))
    return outputs[0], outputs[1]


def test_nothing_but_the_raw_text_differs(two_places: tuple[list[Path], list[Path]]) -> None:
    first, second = two_places
    assert [path.name for path in first] == [path.name for path in second]
    stages = order_stages(path.suffix[1:] for path in first)
    assert stages == ("ttir", "ttgir", "llir", "ptx", "amdgcn", "cubin", "hsaco")
    raw_differences = 0
    for one, other in zip(first, second, strict=True):
        stage = one.suffix[1:]
        raw_differences += one.read_bytes() != other.read_bytes()
        assert fingerprint(stage, one.read_bytes()) == fingerprint(stage, other.read_bytes()), one.name
        if stage not in ("cubin", "hsaco"):
            assert normalise(stage, one.read_bytes()) == normalise(stage, other.read_bytes())
    assert raw_differences == len(first), "the two compiles should differ wherever debug information is kept"


def test_a_dropped_pass_is_seen_down_to_the_machine_code(
    two_places: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    stock = {path.name: path for path in two_places[0]}
    dropped = run_make(tmp_path, "--all-stages", "--without", "remove_layout_conversions")
    for path in dropped:
        if path.name.startswith("transpose.cuda90") and path.suffix != ".ttir":
            stage = path.suffix[1:]
            before, after = (fingerprint(stage, file.read_bytes()) for file in (stock[path.name], path))
            assert before.digest != after.digest, path.name
            if stage == "ttgir":
                assert after.converts > before.converts


def test_the_source_files_age_gets_into_a_cubin_and_not_into_its_fingerprint(
    two_places: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    """ptxas looks the source up and writes its modification time and size into the line table."""
    ptxas = Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas"
    if not ptxas.exists():
        pytest.skip("this Triton ships no ptxas")
    ptx = next(path for path in two_places[0] if path.name == "matmul.cuda90.ptx")
    source = ptx.parent.parent / "kernels.py"
    cubins = []
    for age in (1_000_000_000, 1_500_000_000):
        os.utime(source, (age, age))
        output = tmp_path / f"{age}.cubin"
        subprocess.run([ptxas, "-lineinfo", "--gpu-name=sm_90a", ptx, "-o", output], check=True)
        cubins.append(output.read_bytes())
    assert cubins[0] != cubins[1]
    assert fingerprint("cubin", cubins[0]) == fingerprint("cubin", cubins[1])
