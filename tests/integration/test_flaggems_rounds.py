"""The benchmark of rounds on a card, all of it, on a simulated card: visits that go on, a pack, and the report."""

from __future__ import annotations

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.integration.running import processes_mentioning
from tests.integration.test_measure_simulated import SUITE, environment  # noqa: F401 - the fixture

pytestmark = pytest.mark.integration

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "flaggems_rounds.py"
CONFTEST = """
def pytest_addoption(parser):
    for name in ("level", "metrics", "record", "dtypes"):
        parser.addoption(f"--{name}", action="append" if name in ("metrics", "dtypes") else "store")
"""
TARGET = """
try:
    from zl_probe import liveness
except ImportError:
    pass
else:
    liveness.card_target = lambda: "cuda:90"
"""
"""What the card compiles for, which only its driver would know."""
AFTER = """AFTER = "_after" in os.environ["TRITON_CACHE_DIR"] and "DISABLE_LLVM_OPT" not in os.environ"""
TESTS = """

@pytest.mark.NAME
def test_NAME():
    random.seed()
    for detail in range(3):
        bench(detail, 0.05 * (detail + 1), True)
    for detail in range(3, 8):
        bench(detail, 0.02 * detail, False)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """FlagGems as far as the benchmark needs it: two tests, each with three rows that a pass changes."""
    folder = tmp_path / "checkout" / "benchmark"
    folder.mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "flag_gems").mkdir(parents=True)
    (tmp_path / "checkout" / "src" / "flag_gems" / "__init__.py").write_text("")
    (folder / "conftest.py").write_text(CONFTEST)
    for name in ("base.py", "consts.py"):
        (folder / name).write_text("")
    shared = SUITE[: SUITE.index("def test_changed")].replace(
        'AFTER = os.environ["TRITON_F32_DEFAULT"] == "tf32"', AFTER
    )
    for name in ("softmax", "topk"):
        source = f"import pytest\n{shared}{TESTS.replace('NAME', name)}"
        (folder / f"test_{name}.py").write_text(source)
    return tmp_path / "checkout"


class Visits:
    """Runs the benchmark as one would on a card."""

    def __init__(self, folder: Path, checkout: Path, environment: dict[str, str]):  # noqa: F811
        self.out = folder / "out"
        self._options = [
            "--checkout",
            checkout,
            "--out",
            self.out,
            "--commit",
            "named",
            "--rounds",
            "3",
            "--at-once",
            "2",
        ]
        self._environment = {**os.environ, **environment}

    def __call__(self, command: str, *arguments: object) -> str:
        options = [] if command == "report" else self._options
        done = subprocess.run(
            [sys.executable, str(BENCHMARK), command, *map(str, (*options, *arguments))],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @property
    def packed(self) -> Path:
        return self.out / "flaggems_rounds.jsonl.xz"

    def lines(self) -> dict[tuple[str, str], dict[str, Any]]:
        lines = map(json.loads, lzma.decompress(self.packed.read_bytes()).decode().splitlines())
        return {(line["part"], line["name"]): line for line in lines}


@pytest.fixture
def visits(tmp_path: Path, checkout: Path, environment: dict[str, str]) -> Visits:  # noqa: F811
    with (tmp_path / "site" / "sitecustomize.py").open("a") as site:
        site.write(TARGET)
    return Visits(tmp_path, checkout, environment)


def test_visits_go_on_and_the_report_is_made_of_what_they_packed(
    tmp_path: Path,
    visits: Visits,
    environment: dict[str, str],  # noqa: F811
) -> None:
    work = tmp_path / "work"
    visits("visit", "--work", work, "--parts", "aa", "--seconds", "400")
    first = visits.lines()
    assert set(first) == {("aa", "softmax"), ("aa", "topk")}
    visits("visit", "--work", work, "--have", visits.packed, "--seconds", "400")
    lines = visits.lines()
    assert set(lines) == {(part, name) for part in ("aa", "rlc", "mirror") for name in ("softmax", "topk")}
    assert {place: lines[place]["date"] for place in first} == {place: line["date"] for place, line in first.items()}
    header, again = (lines[part, "topk"]["record"][0] for part in ("rlc", "mirror"))
    assert (header["mirrored"], again["mirrored"], header["seed"]) == (False, True, again["seed"])
    assert lines["rlc", "topk"]["screen"] == lines["mirror", "topk"]["screen"]
    assert {len(line["entered"]) for line in lines.values()} == {6}
    assert "screened" not in visits("visit", "--work", work, "--have", visits.packed, "--seconds", "400")
    report = visits("report", visits.packed)
    assert "| operators, identical code | 2 (16 rows) | >= 15 | FAIL |" in report
    assert "0 of 6 (6 confirmed, 0 not decided)" in report
    assert "| measured again: the other side first | 48 of 48 | all | pass |" in report
    assert "| identical code: operators UNTRUSTED | none | none | pass |" in report
    assert (
        "not imported once for all processes: no card answered: softmax (aa); topk (aa); softmax (rlc) and 3" in report
    )
    assert processes_mentioning(environment["ZL_TEST_MARKER"]) == []


def test_what_can_not_end_in_time_is_not_begun(tmp_path: Path, visits: Visits) -> None:
    assert visits("visit", "--work", tmp_path / "work", "--seconds", "60") == ""
    assert not visits.packed.exists()
