"""The commands of the README and of docs/ that are not the tutorial's `$` steps, run as they stand there.

A reader's own names are put in their places: a root that was screened here, files of it, a suite. Where a line screens all
there is, one operator is, and a line that measures does so for one round; that is all that differs. What asks for a card runs
on a simulated one, with a variable in the place of a pass; the few lines that are not run here say which test runs the like.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.analysis.made_rounds import suite as made_rounds
from tests.documents import DOCUMENTS, commands, steps
from tests.integration.running import zl_bench
from tests.integration.test_measure_simulated import SIMULATED_DEVICE, SITE, SMI, SUITE
from tests.reports.simulated_measures import simulated_measure
from tests.reports.test_report import RECORDED

pytestmark = pytest.mark.integration

ONE_OPERATOR = ("vector_add:float16",)
CODES: Mapping[str, int] = {
    "zl-bench screen --switch build:/opt/triton-a/bin/python../opt/triton-b/bin/python --target cuda:90": 4,
    "zl-bench irdiff a.ttgir b.ttgir": 1,
    "zl-bench irdiff before.ttgir after.ttgir": 1,
}
"""Exit codes other than 0, and why: here both builds are the same one, so that axis is dead; two files differ."""
NOT_RUN: Mapping[str, str] = {
    "zl-bench bisect ROOT transpose --goal speed": "times what it finds: tests/integration/test_bisect_speed_simulated.py",
    "zl-bench measure 'runs/ab_…' --resume": "goes on after a kill: tests/integration/test_measure_simulated.py",
    "zl-bench measure runs/hopper matmul:float32": "one operator of a root: tests/integration/test_measure_simulated.py",
    "zl-bench screen --switch pass:accelerate_matmul --target cuda:90 --root runs/hopper matmul:float32 vector_add": (
        "a part of the tutorial's screen: tests/integration/test_tutorial.py"
    ),
}
"""Parsed by tests/test_documents.py, and run by the test that is named."""


@dataclass(frozen=True)
class Place:
    """A folder in which a reader's commands run, and what stands for the names in them."""

    folder: Path
    names: Mapping[str, Path | str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, line: str, *further: object) -> str:
        """What a line prints. Fails the test for another exit code than the one that it should have."""
        given = [self._meant(word) for word in shlex.split(line)[1:]]
        done = zl_bench(*given, *further, cwd=self.folder, env=dict(self.environment))
        assert done.code == CODES.get(line, 0), done.out + done.err
        return done.out + done.err

    def _meant(self, word: str) -> str:
        return re.sub(r"/opt/triton-[ab]/bin/python", sys.executable, str(self.names.get(word, word)))


def lines() -> Iterator[str]:
    for document in DOCUMENTS:
        shown = {shlex.join(shlex.split(step.command)) for step in steps(document)}
        yield from (line for line in commands(document) if line not in shown)


SHOWN = tuple(dict.fromkeys(lines()))
ON_A_CARD = tuple(
    line for line in SHOWN
    if line not in NOT_RUN
    and (line.split()[1] in ("measure", "summary", "run") or ("screen" in line and "--target" not in line))
)  # fmt: skip
SCREEN, *WITHOUT = (line for line in SHOWN if line not in NOT_RUN and line not in ON_A_CARD)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A machine without a card, on which the first screen of the README has been made."""
    folder = tmp_path_factory.mktemp("desk")
    simulated_measure(folder / "rounds", made_rounds([1.05], [1.0] * 6))
    shutil.copy(folder / "rounds" / "measure.jsonl", folder / "rounds.jsonl")
    root = folder / "ROOT"
    place = Place(folder, {}, {"CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": _with_acme(folder)})
    assert "2 IR_CHANGED" in place.run(SCREEN, "--root", root)
    (before,), (after,) = (list(RECORDED.glob(f"matmul.float32_{side}/ir/*.ttgir")) for side in ("before", "after"))
    files = {"a.ttgir": before, "before.ttgir": before, "b.ttgir": after, "after.ttgir": after}
    # The tutorial's root, which its own test makes, has a kernel that is changed likewise.
    others: dict[str, Path | str] = {"runs/hopper": root, "matmul:float32": "transpose"}
    return Place(folder, {**files, **others, "runs/ab_…": root, "runs/ab_last_week": root}, place.environment)


def _with_acme(folder: Path) -> str:
    """A path of Python's with the backend of docs/add-a-backend.md on it, installed as that page says."""
    (page,) = (path for path in DOCUMENTS if path.name == "add-a-backend.md")
    blocks = re.findall(r"(?:^    .*\n|^\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    (module,) = (block for block in blocks if "BACKEND = " in block)
    (point,) = (block for block in blocks if "entry-points" in block)
    (folder / "site" / "acme_zl_bench-1.0.dist-info").mkdir(parents=True)
    (folder / "site" / "acme_zl_bench.py").write_text(re.sub(r"^    ", "", module, flags=re.MULTILINE))
    name, target = re.findall(r'^    (\w+) = "(.*)"', point, re.MULTILINE)[0]
    found = folder / "site" / "acme_zl_bench-1.0.dist-info"
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-zl-bench\nVersion: 1.0\n")
    (found / "entry_points.txt").write_text(f"[zl_bench.backends]\n{name} = {target}\n")
    return f"{folder / 'site'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":")


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A machine with one simulated card, a suite of operators with the README's names, and roots that were made there."""
    folder = tmp_path_factory.mktemp("machine")
    for name in ("bin", "locks", "suite", "site"):
        (folder / name).mkdir()
    (folder / "bin" / "nvidia-smi").write_text(SMI)
    (folder / "bin" / "nvidia-smi").chmod(0o755)
    (folder / "site" / "sitecustomize.py").write_text(SITE)
    shutil.copy(SIMULATED_DEVICE, folder / "site")
    text = SUITE.replace('os.environ["TRITON_F32_DEFAULT"]', 'os.environ.get("TRITON_F32_DEFAULT")')
    text = text.replace("def test_changed():", "def rows():") + "".join(
        f"\n\ndef test_{name}():\n    rows()\n" for name in ("softmax", "mm")
    )  # fmt: skip
    text += '\n\nimport pytest\n@pytest.mark.parametrize("dtype", ["float16"])\ndef test_topk(dtype):\n    rows()\n'
    (folder / "suite" / "test_all.py").write_text(text)
    environment = {
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{folder / 'site'}:{os.environ.get('PYTHONPATH', '')}".rstrip(":"),
        "ZL_BENCH_LOCKS": str(folder / "locks"),
    }
    runs = folder / "runs"
    names: dict[str, Path | str] = {
        "flaggems": folder / "suite",
        # A pass is left out of a compiler's pipeline, and none runs here.
        "pass:pipeline": "TRITON_F32_DEFAULT=ieee..tf32",
        "runs/ab_…": runs / "ab",
        "runs/ab_pass-pipeline_…": runs / "ab_timed",
        "runs/run_…": runs / "run",
        "matmul": "mm",
    }
    return Place(folder, names, environment)


@pytest.mark.parametrize("line", WITHOUT)
def test_without_a_card(desk: Place, line: str) -> None:
    name, *words = shlex.split(line)[1:]
    # The whole suite would take minutes, and is in no test but the demo's.
    alone = name == "screen" and not any(word for word in words[4:] if not word.startswith("-"))
    said = desk.run(line, *(("--root", desk.folder / f"root_{abs(hash(line))}", *ONE_OPERATOR) if alone else ()))
    assert said.strip()


def test_on_a_card(machine: Place) -> None:
    """The screens and the run first, then what reads their roots, in the order of the documents."""
    ranks = {"screen": 0, "run": 1}
    suite = ("--suite", machine.folder / "suite")
    for line in sorted(ON_A_CARD, key=lambda line: ranks.get(line.split()[1], 2)):
        match line.split()[1]:
            case "screen":
                root = machine.names["runs/ab_pass-pipeline_…" if "--timing" in line else "runs/ab_…"]
                said = machine.run(line, "--root", root, *suite)
            case "run":
                said = machine.run(line, "--root", machine.names["runs/run_…"])
            case "measure":
                said = _measured(machine, line)
            case _:
                said = machine.run(line)
        assert said.strip(), line


def _measured(machine: Place, line: str) -> str:
    """What a line that measures says. A root is measured once, so each line has a copy of its own."""
    root = machine.folder / f"measured_{ON_A_CARD.index(line)}"
    name = next(word for word in shlex.split(line) if word.startswith("runs/"))
    shutil.copytree(machine.names[name], root)
    return Place(machine.folder, {**machine.names, name: root}, machine.environment).run(line, "--rounds", "1")


def test_every_line_is_run_somewhere() -> None:
    assert SCREEN.startswith("zl-bench screen --switch pass:remove_layout_conversions")
    assert {SCREEN, *WITHOUT, *ON_A_CARD, *NOT_RUN} == set(SHOWN)
    project = Path(__file__).parents[2]
    for why in NOT_RUN.values():
        (test,) = re.findall(r"tests/[\w/]+\.py", why)
        assert (project / test).is_file()
