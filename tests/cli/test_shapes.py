"""`--shape` and `--shape-file` on the command line, the sides simulated: from what is asked to what is told at the end."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from tests.suites.flaggems_tree import make_checkout
from tests.workflow.simulated import Given, SimulatedServers, equal, versions
from zl_bench.cli import main as edge
from zl_bench.cli import screen as command
from zl_bench.model import Side
from zl_bench.running.side_server import SidePlan
from zl_bench.workflow import screen as workflow

TESTS = """
@pytest.mark.softmax
def test_softmax():
    base.UnaryBenchmark(op_name="softmax", torch_op=torch.softmax).run()

@pytest.mark.topk
def test_topk():
    base.UnaryBenchmark(op_name="topk", torch_op=torch.topk).run()
"""
CORE = "softmax: {shapes: [[64, 64]]}\ntopk: {shapes: [[8, 8]]}\n"
OWN = [[10000, 256]]
"""What the simulated topk runs whatever the file says."""


def benchmark(given: Given) -> list[dict[str, object]]:
    """The record of a benchmark that finds its shapes as FlagGems does; topk has its own."""
    option = next((text for text in given["pytest_args"] if text.startswith("--shape_file=")), None)
    file = Path(option.partition("=")[2]) if option else Path(given["rootdir"]) / "benchmark" / "core_shapes.yaml"
    document = yaml.safe_load(file.read_text())
    operator = given["operator"]
    key = next((name for name in (operator, "UnaryBenchmark", "Benchmark") if name in document), None)
    shapes = OWN if operator == "topk" else document[key]["shapes"] if key else [[3, 3]]
    told = {"event": "shapes", "node": given["node"], "operator": operator, "file": str(file), "shapes": shapes,
            "classes": ["UnaryBenchmark", "Benchmark"]}  # fmt: skip
    events = equal(given)
    row = next(event for event in events if event["event"] == "row")
    row["detail"] = f"[torch.Size({shapes[0]})]"
    return [*events[:2], told, *events[2:]]


def failing(given: Given) -> list[dict[str, object]]:
    """The record of a benchmark that could make nothing of its shapes; topk did not even get to them."""
    told = [event for event in benchmark(given) if event["event"] == "shapes" and given["operator"] != "topk"]
    key = {"node": given["node"], "operator": given["operator"], "dtype": "float32", "ordinal": 0, "detail": ""}
    message = "ValueError: expected 4, got 1"
    return [
        {"event": "begin", "wire": 1, "pid": 1},
        {"event": "collected", "nodes": [given["node"]]},
        *told,
        {
            "event": "row_failed",
            **key,
            "phase": "run",
            "message": message,
            "kernel": "",
            "stage": "",
            "whole_test": True,
        },
        {"event": "test", "node": given["node"], "outcome": "failed", "message": message},
        {"event": "end", "exit": 1, "message": ""},
    ]


class Screened:
    """Runs the command as a console would, on simulated sides."""

    def __init__(self, checkout: Path):
        self.checkout = checkout
        self.out = self.err = ""
        self.runs: list[Given] = []
        self.record = benchmark

    def __call__(self, *arguments: object, suite: str = "flaggems", command: str = "screen") -> int:
        asked: list[object] = ["zl-bench", command]
        if command == "screen":
            asked += ["--switch", "SWITCH", "--target", "cuda:90", "--suite", suite, "--root", "root"]
            asked += ["--checkout", self.checkout] if suite == "flaggems" else []
        with pytest.MonkeyPatch.context() as patch, CliRunner().isolation() as streams:
            patch.setattr(sys, "argv", [str(text) for text in (*asked, *arguments)])
            with pytest.raises(SystemExit) as end:
                edge.main()
            self.out, self.err = streams[0].getvalue().decode(), streams[1].getvalue().decode()
        assert "Traceback" not in self.err
        return int(end.value.code or 0)

    def table(self) -> dict[str, dict[str, str]]:
        lines = [line.split("\t") for line in Path("root/screen.tsv").read_text().splitlines()]
        return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[1:]}


@pytest.fixture
def screened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Screened:
    checkout = make_checkout(tmp_path / "checkout", test_some=TESTS)
    (checkout / "benchmark" / "core_shapes.yaml").write_text(CORE)
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text("SWITCH")
    stand_in = Screened(checkout)

    def make(plans: Mapping[Side, SidePlan]) -> SimulatedServers:
        found: dict[Side, dict[str, Any]] = {"before": versions(triton), "after": versions(triton)}
        return SimulatedServers(plans, record=stand_in.record, found=found, runs=stand_in.runs)

    monkeypatch.setattr(workflow, "SideServers", make)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(command, "no_stray_processes", pytest.MonkeyPatch.context)
    return stand_in


def test_one_operator_s_shape(screened: Screened) -> None:
    assert screened("--shape", "softmax=4096,256", "--shape", "topk=64,64", "--shape", "sofmax=3") == 0
    table = screened.table()
    assert (table["softmax"]["verdict"], table["softmax"]["reason"]) == ("NO_IR_DIFF", "")
    assert table["topk"]["verdict"] == "NO_IR_DIFF"
    assert table["topk"]["reason"] == "shapes not honoured: asked (64, 64), emitted (10000, 256)"
    assert "topk: shapes not honoured: asked (64, 64), emitted (10000, 256)" in screened.out
    assert "shapes: as asked in 1 operator; not honoured by topk" in screened.out
    assert "no operator of this screen uses the key 'sofmax'; nearest: softmax" in screened.out
    option = f"--shape_file={Path('root/shapes.yaml').absolute()}"
    assert all(run["pytest_args"][-1] == option for run in screened.runs)


def test_show_tells_the_same_from_the_root_alone(screened: Screened) -> None:
    assert screened("--shape", "softmax=4096,256", "--shape", "topk=64,64") == 0
    assert screened("root", "topk", command="show") == 0
    assert "topk  NO_IR_DIFF  shapes not honoured: asked (64, 64), emitted (10000, 256)" in screened.out
    assert screened("root", "softmax", command="show") == 0
    assert "  shapes honoured: (4096, 256)" in screened.out.splitlines()


def test_the_record_has_every_finding(screened: Screened) -> None:
    assert screened("--shape", "softmax=4096,256", "softmax") == 0
    (line,) = Path("root/screen.jsonl").read_text().splitlines()
    record = json.loads(line)
    assert (record["shapes"], record["shape_keys"]) == ("honoured", ["softmax"])
    assert record["nodes"][0]["shapes"][0]["emitted"] == ["(4096, 256)"]


def test_a_whole_file(screened: Screened) -> None:
    Path("mine.yaml").write_text("topk: {shapes: [[1, 2]]}\nsofmax: {shapes: [[5]]}\n")
    assert screened("--shape-file", "mine.yaml") == 0
    assert Path("root/shapes.yaml").read_text() == Path("mine.yaml").read_text()
    assert screened.table()["softmax"]["reason"] == "the shape file has no key for softmax: it ran its own, (3, 3)"
    assert "not honoured by topk; no key in the file for softmax" in screened.out
    assert "uses the key 'sofmax'; nearest: softmax" in screened.out


def test_a_shape_for_all(screened: Screened) -> None:
    assert screened("--shape", "77,88") == 0
    assert screened.table()["softmax"]["reason"] == ""
    assert "asked (77, 88), emitted (10000, 256)" in screened.table()["topk"]["reason"]


def test_a_benchmark_that_fails_on_its_shapes(screened: Screened) -> None:
    screened.record = failing
    Path("mine.yaml").write_text("softmax: {shapes: [[64]]}\n")
    assert screened("--shape-file", "mine.yaml", "softmax") == 1
    row = screened.table()["softmax"]
    assert (row["verdict"], row["rows"]) == ("NO_ROWS", "0")
    told = "the shapes asked for, (64), were given to softmax, which failed on them"
    assert row["reason"] == f"ValueError: expected 4, got 1; {told}"
    assert (
        "shapes: as asked in 0 operators; given as asked to softmax, but a benchmark failed (the reason says how)"
        in screened.out.splitlines()
    )
    assert screened("root", "softmax", command="show") == 0
    assert f"  {told}" in screened.out.splitlines()


def test_a_key_that_the_user_has_not_written_is_not_named(screened: Screened) -> None:
    screened.record = failing
    assert screened("--shape", "64,64", "topk") == 1
    assert screened.table()["topk"]["reason"] == "ValueError: expected 4, got 1"
    assert "no benchmark took the shapes that were asked for every operator" in screened.out.splitlines()
    assert "Benchmark" not in screened.out


def test_without_any_shape_nothing_is_said_of_them(screened: Screened) -> None:
    assert screened() == 0
    assert "shapes:" not in screened.out
    assert "honoured" not in screened.out
    assert not Path("root/shapes.yaml").exists()
    assert not any("--shape_file" in text for run in screened.runs for text in run["pytest_args"])


def test_resuming_needs_the_same_shapes(screened: Screened) -> None:
    assert screened("--shape", "softmax=4096,256", "softmax") == 0
    kept = Path("root/shapes.yaml").read_text()
    assert screened("--shape", "softmax=1,2", "--resume") == 2
    assert "shapes softmax was (4096, 256), now (1, 2)" in screened.err
    assert screened("--resume") == 2
    assert Path("root/shapes.yaml").read_text() == kept
    screened.runs.clear()
    assert screened("--shape", "softmax=4096,256", "--resume", "softmax", "topk") == 0
    assert {run["operator"] for run in screened.runs} == {"topk"}
    assert "shapes: as asked in 1 operator" in screened.out
    assert "no operator of this screen uses" not in screened.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--shape", "64x64"], "write [OPERATOR=]N,N,"),
        (["--shape", "abs=64=64"], "write [OPERATOR=]N,N,"),
        (["--shape", "abs=64;softmax=3"], "--shape once more for each further shape or operator"),
        (["--shape-file", "/dev/zero"], "--shape-file /dev/zero can not be read: it is no regular file"),
        (["--shape-file", "nowhere.yaml"], "--shape-file nowhere.yaml can not be read"),
        (["--shape-file", "bad.yaml"], "--shape-file bad.yaml is not YAML"),
        (["--shape-file", "good.yaml", "--shape", "64"], "would replace the whole of --shape-file"),
    ],
)
def test_mistakes_leave_no_folder(screened: Screened, arguments: list[str], message: str) -> None:
    Path("bad.yaml").write_text("softmax: [1\n")
    Path("good.yaml").write_text("softmax: {shapes: [[1]]}\n")
    assert screened(*arguments) == 2
    assert message in screened.err
    assert not Path("root").exists()


@pytest.mark.parametrize("arguments", [["--shape", "64"], ["--shape-file", "good.yaml"]])
def test_other_suites_have_no_shapes(screened: Screened, arguments: list[str]) -> None:
    assert screened(*arguments, suite="builtin") == 2
    assert "--shape and --shape-file are for --suite flaggems; the suite asked for is builtin" in screened.err
