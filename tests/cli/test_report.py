"""`zl-bench report` and `zl-bench compare`: where the files go, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.reports import simulated_measures as simulated
from tests.reports.test_report import RECORDED
from zl_bench.cli.main import cli
from zl_bench.errors import UsageError
from zl_bench.reports.markdown import COMMENT_LIMIT


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return Path(shutil.copytree(RECORDED, tmp_path / "root"))


def test_html_goes_into_the_root(root: Path) -> None:
    result = invoke("report", root)
    assert result.stdout == f"{root / 'report.html'}\n"
    assert (root / "report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")


def test_markdown_goes_to_standard_output_or_into_the_file_named(root: Path, tmp_path: Path) -> None:
    printed = invoke("report", root, "--format", "markdown")
    assert printed.stdout.startswith("## pass:accelerate\\_matmul on cuda:90\n")
    place = tmp_path / "new" / "report.md"
    assert invoke("report", root, "--format", "markdown", "-o", place).stdout == f"{place}\n"
    assert place.read_text(encoding="utf-8") == printed.stdout


def test_csv_goes_into_the_root_or_into_the_folder_named(root: Path, tmp_path: Path) -> None:
    invoke("report", root, "--format", "csv")
    assert (root / "performance.csv").is_file() and (root / "kernels.csv").is_file()
    result = invoke("report", root, "--format", "csv", "-o", tmp_path / "tables")
    assert result.stdout.splitlines() == [
        str(tmp_path / "tables" / name) for name in ("performance.csv", "kernels.csv")
    ]


def test_markdown_too_long_for_a_comment_is_said(root: Path) -> None:
    lines = (root / "screen.jsonl").read_text().splitlines(keepends=True)
    judged = next(one for one in map(json.loads, lines) if one["verdict"] == "IR_CHANGED")
    judged["reason"] = "x" * 250
    more = [json.dumps({**judged, "operator": f"operator_{number}"}) + "\n" for number in range(300)]
    (root / "screen.jsonl").write_text("".join((*lines, *more)))
    result = invoke("report", root, "--format", "markdown")
    assert len(result.stdout) > COMMENT_LIMIT
    assert f"GitHub takes {COMMENT_LIMIT}" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--format", "csv", "-o", "-"), "two files"),
        (("--format", "csv", "-o", "FILE"), "is a file"),
        (("-o", "FOLDER"), "is a folder"),
    ],
)
def test_places_that_do_not_fit_are_refused(
    root: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    (tmp_path / "file").touch()
    places = {"FILE": tmp_path / "file", "FOLDER": tmp_path}
    with pytest.raises(UsageError, match=message):
        invoke("report", root, *(places.get(argument, argument) for argument in arguments))


def test_two_roots_that_say_the_same(root: Path) -> None:
    result = invoke("compare", RECORDED, root)
    assert result.stdout.splitlines()[-1] == "5 of 5 operators that both have say the same; changes: nothing changed"
    assert "differ in this" not in result.stdout


def test_what_changed_and_what_else_differs(root: Path) -> None:
    path = root / "screen.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    changed = next(one for one in lines if one["dtype"] == "float32")
    changed |= {"verdict": "NO_IR_DIFF", "reason": "", "changed_rows": 0, "machine_code": "same"}
    for node in changed["nodes"]:
        for row in node["paired"]:
            row["changed"] = False
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    request = json.loads((root / "screen.json").read_text())
    request["extra"]["after Triton"] = "another"
    (root / "screen.json").write_text(json.dumps(request))
    text = invoke("compare", RECORDED, root).stdout
    assert (
        "matmul:float32  verdict: IR_CHANGED -> NO_IR_DIFF\n    A: ttgir differs: matmul_kernel; B: no difference"
        in text
    )
    assert "after Triton was 898772c2" in text and ", now another" in text
    assert "4 of 5 operators that both have say the same; changes: 1 verdict" in text
    found = json.loads(invoke("compare", RECORDED, root, "--format", "json").stdout)
    assert [(row["operator"], row["what"], row["b"]) for row in found["rows"]] == [
        ("matmul:float32", "verdict", "NO_IR_DIFF")
    ]


def test_other_axes_are_not_compared(root: Path) -> None:
    request = json.loads((root / "screen.json").read_text())
    (root / "screen.json").write_text(json.dumps({**request, "switch": "pass:coalesce"}))
    with pytest.raises(UsageError, match="different axes"):
        invoke("compare", RECORDED, root)


def test_measured_rows_that_say_otherwise(tmp_path: Path) -> None:
    a, b = simulated.single_row(tmp_path / "a"), simulated.one_round(tmp_path / "b")
    text = invoke("compare", a, b).stdout
    assert "mm  only in A" in text and "op0  only in B" in text
    assert "rounds of the measurement was 6, now 1" in text
