"""`repro`: a folder that shows with Triton alone what was recorded, and names nothing of the machine that made it."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import Finished, zl_bench

LAYOUTS = "pass:remove_layout_conversions@2"
Made = Callable[..., tuple[Finished, Path, Path]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Repros of screened operators, each made once: what the command said, the root and the folder."""

    @cache
    def make(operator: str, *arguments: str) -> tuple[Finished, Path, Path]:
        folder = tmp_path_factory.mktemp("repro")
        screen = zl_bench("screen", "--root", folder / "root", "--target", "cuda:90", *arguments, operator)
        assert screen.code in {0, 10, 1}, screen.err
        return zl_bench("repro", folder / "root", operator, "-o", folder / "shown"), folder / "root", folder / "shown"

    return make


@pytest.fixture(scope="module")
def only_triton(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a fresh environment that has Triton, and neither torch nor pyelftools nor this tool."""
    fresh = tmp_path_factory.mktemp("fresh") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(fresh)], check=True)
    (packages,) = fresh.glob("lib/python*/site-packages")
    installed = Path(sysconfig.get_paths()["purelib"])
    for found in (installed / "triton", *installed.glob("triton-*.dist-info")):
        (packages / found.name).symlink_to(found)
    return fresh / "bin" / "python"


def reproduce(folder: Path, python: Path, *arguments: object) -> Finished:
    command = [str(python), str(folder / "reproduce.py"), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, cwd="/", env={})
    return Finished(done.returncode, done.stdout, done.stderr)


def texts(folder: Path) -> Iterator[tuple[str, str]]:
    for path in folder.rglob("*"):
        if path.is_file():
            yield path.name, path.read_bytes().decode("utf-8", "replace")


def test_a_changed_kernel_is_shown_with_triton_alone(made: Made, only_triton: Path) -> None:
    told, _, folder = made("matmul:float16", "--switch", "pass:pipeline")
    assert told.code == 0, told.out + told.err
    done = reproduce(folder, only_triton)
    assert done.code == 0, done.out + done.err
    assert done.out.count("ttir, ttgir, llir, ptx: as recorded") == 2
    assert done.out.count("cubin: not compared (no pyelftools here)") == 2
    assert "between the sides: ttir same, ttgir differs" in done.out
    assert "--- before/ttgir" in done.out
    assert "these differ between the sides: ttgir, llir, ptx, cubin" in (folder / "README.md").read_text()


def test_a_broken_kernel_fails_where_it_was_recorded_to(made: Made, only_triton: Path) -> None:
    told, _, folder = made("matmul:float16", "--switch", "pass:accelerate_matmul")
    assert told.code == 0, told.out + told.err
    assert "cubin: as recorded" in told.out  # where the tool runs there is pyelftools
    done = reproduce(folder, only_triton)
    assert done.code == 0, done.out + done.err
    before, after = done.out.split("after: ")
    assert "fails" not in before
    assert "fails at llir: RuntimeError: PassManager::run failed" in after
    assert "recorded: fails at llir" in after


@pytest.mark.parametrize("switch", ["pass:pipeline", "pass:accelerate_matmul"])
def test_nothing_names_a_path_of_this_machine(made: Made, switch: str) -> None:
    _, root, folder = made("matmul:float16", "--switch", switch)
    repository = Path(__file__).resolve().parents[2]
    forbidden = [str(path) for path in (root, folder, repository, Path(sys.prefix), Path.home(), Path.cwd())]
    for name, text in texts(folder):
        assert not [path for path in forbidden if path in text], name
    assert 'loc("matmul.py":' in (folder / "kernel.mlir").read_text() or "loc(" in (folder / "kernel.mlir").read_text()
    assert sum(len(text) for _, text in texts(folder)) < 200_000
    assert not list(folder.rglob("*.pyc"))


def test_another_compiler_result_is_not_called_as_recorded(made: Made, only_triton: Path, tmp_path: Path) -> None:
    _, _, folder = made("matmul:float16", "--switch", "pass:pipeline")
    other = tmp_path / "other"
    other.mkdir()
    for path in folder.rglob("*"):
        target = other / path.relative_to(folder)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    case = json.loads((other / "case.json").read_text())
    case["sides"]["after"]["drop_pass"] = None
    (other / "case.json").write_text(json.dumps(case))
    done = reproduce(other, only_triton)
    assert done.code == 1
    assert "ttgir, llir, ptx: NOT as recorded" in done.out
    assert "between the sides: ttir same, ttgir same" in done.out


def test_a_variable_is_set_on_its_side_and_a_place_of_the_machine_is_not_told(made: Made, only_triton: Path) -> None:
    arguments = ("--switch", "TRITON_F32_DEFAULT=ieee..tf32x3", "--env", f"SOME_FOLDER={Path.home()}/of/mine")
    told, _, folder = made("matmul:float32", *arguments)
    assert told.code == 0, told.out + told.err
    assert "left out, as places of this machine or secrets: SOME_FOLDER" in told.err
    readme = (folder / "README.md").read_text()
    assert "SOME_FOLDER had been set where this was recorded" in readme
    assert "TRITON_F32_DEFAULT=tf32x3" in readme
    assert str(Path.home()) not in (folder / "case.json").read_text() + readme
    done = reproduce(folder, only_triton)
    assert done.code == 0, done.out + done.err


def test_a_folder_that_is_there_is_not_written_over(made: Made) -> None:
    _, root, folder = made("matmul:float16", "--switch", "pass:pipeline")
    done = zl_bench("repro", root, "matmul:float16", "-o", folder)
    assert done.code == 2
    assert "name a new folder" in done.err


def test_a_compile_that_needs_a_file_of_this_machine_is_refused(made: Made, tmp_path: Path) -> None:
    _, root, _ = made("matmul:float16", "--switch", "pass:pipeline")
    other = tmp_path / "root"
    other.mkdir()
    for path in root.rglob("*"):
        target = other / path.relative_to(root)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    for file in other.glob("*/events.jsonl"):
        lines = []
        for line in file.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "kernel":
                event["options"]["extern_libs"] = [["mine", "/opt/mine.bc"]]
            lines.append(json.dumps(event))
        file.write_text("\n".join(lines) + "\n")
    done = zl_bench("repro", other, "matmul:float16", "-o", tmp_path / "shown")
    assert done.code == 2
    assert "needs /opt/mine.bc, which only this machine has" in done.err
    assert not (tmp_path / "shown").exists()
