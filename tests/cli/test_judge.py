"""`zl-bench judge`: the table that scripts read, the other formats, and what is said beside them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.analysis.made_rounds import key, row, suite
from zl_bench.analysis.rounds import RoundMedian
from zl_bench.cli.judge import judge
from zl_bench.errors import UsageError

HEADING = (
    "operator\tdtype\tnode\tordinal\tdetail\tkind\trounds\tbefore_ms\tafter_ms\tspeedup\tci_low\tci_high\tq\tmde\tverdict\t"
    "timing\tclock_before\tclock_after\tdropped"
)


def write(path: Path, medians: Iterable[RoundMedian], *further: str) -> Path:
    lines = [
        json.dumps(
            {
                "operator": one.key.operator, "dtype": one.key.dtype, "detail": one.key.detail, "round": one.round,
                "side": one.side, "median_ms": one.median_ms, "identical": one.identical, "node": one.key.node or None,
                "ordinal": one.key.ordinal, "first": one.first,
            }
        )
        for one in medians
    ]  # fmt: skip
    path.write_text("\n".join((*lines, *further)) + "\n")
    return path


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(judge, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    return write(tmp_path / "rounds.jsonl", suite([1.05, 0.95, *[1.0] * 10], [1.0] * 6))


def table(path: Path, *options: str) -> list[dict[str, str]]:
    result = invoke(path, "--format", "tsv", *options)
    assert result.exit_code == 0
    heading, *lines = result.stdout.splitlines()
    assert heading == HEADING
    return [dict(zip(heading.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_the_table_that_scripts_read(rounds: Path) -> None:
    rows = {line["detail"]: line for line in table(rounds)}
    assert len(rows) == 18
    first = rows["c0"]
    assert (first["operator"], first["dtype"], first["node"], first["ordinal"]) == ("op0", "float16", "-", "0")
    assert (first["kind"], first["rounds"], first["verdict"]) == ("changed", "6", "FASTER")
    assert float(first["ci_low"]) < 1.05 < float(first["ci_high"])
    assert float(first["q"]) < 0.05
    assert float(first["mde"]) == 0.01
    assert [first[name] for name in ("timing", "clock_before", "clock_after", "dropped")] == ["-"] * 4
    assert rows["c1"]["verdict"] == "SLOWER"
    placebo = rows["p0"]
    assert (placebo["kind"], placebo["verdict"], placebo["q"], placebo["mde"]) == ("placebo", "IDENTICAL", "-", "-")


def test_without_placebos_the_speed_up_is_that_of_the_latencies(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", row([1.0, 1.1, 1.05], [0.5, 0.51, 0.53], key(node="t.py::t", ordinal=3)))
    (line,) = table(path)
    assert float(line["speedup"]) == pytest.approx(float(line["before_ms"]) / float(line["after_ms"]), rel=1e-5)
    assert (line["node"], line["ordinal"]) == ("t.py::t", "3")


def test_delta_is_a_share_or_a_percentage(rounds: Path) -> None:
    for delta in ("7%", "0.07", "7 %"):
        assert not {"FASTER", "SLOWER"} & {line["verdict"] for line in table(rounds, "--delta", delta)}
    for delta in ("7", "-1%", "0", "one", "nan"):
        result = invoke(rounds, "--delta", delta)
        assert result.exit_code == 2
        assert "write 1% or 0.01" in result.stderr


def test_json_has_the_operators_and_the_whole(rounds: Path) -> None:
    record = json.loads(invoke(rounds, "--format", "json").stdout)
    assert [line["operator"] for line in record["operators"]] == ["op0", "op1", "op2"]
    assert record["operators"][0]["rows"] == 4
    assert record["rows"][0]["verdict"] == "FASTER"
    assert record["rows"][0]["before_ms"] > record["rows"][0]["after_ms"]
    totals = record["totals"]
    assert (totals["rows"], totals["changed"], totals["suite_rows"], totals["placebo_rows"]) == (18, 12, 12, 6)
    assert totals["trusted"] is True
    assert totals["placebo_ci_low"] < 1 < totals["placebo_ci_high"]


def test_the_table_for_people(rounds: Path) -> None:
    printed = invoke(rounds).stdout
    assert "1 FASTER, 1 SLOWER, 10 NO_CHANGE, 6 IDENTICAL; all changed rows: geometric mean " in printed
    assert "op0: geometric mean 1.01" in printed
    assert "4/4 rows over 6 rounds" in printed
    assert "placebos: geometric mean " in printed
    assert "taken out of every round" in printed
    assert "at least 1 %, at most 5 % of them false" in printed


def test_bad_lines_are_named_by_their_number_and_cost_themselves_alone(tmp_path: Path) -> None:
    medians = suite([1.05, *[1.0] * 10], [1.0] * 6)
    path = write(tmp_path / "r.jsonl", medians, '{"operator": 3}', "half a li")
    result = invoke(path, "--format", "tsv")
    assert result.exit_code == 0
    assert f"line {len(medians) + 1}: operator is 3, not text" in result.stderr
    assert f"line {len(medians) + 2}: no JSON" in result.stderr
    assert result.stdout == invoke(write(tmp_path / "s.jsonl", medians), "--format", "tsv").stdout


def test_a_run_whose_placebos_move_is_untrusted(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", suite([1.05, *[1.0] * 10], [1.04] * 6))
    assert {line["verdict"] for line in table(path)} == {"UNTRUSTED", "IDENTICAL"}
    assert "UNTRUSTED: rows of identical code together changed by " in invoke(path).stdout
    assert json.loads(invoke(path, "--format", "json").stdout)["totals"]["trusted"] is False


def test_what_should_be_known_of_the_rounds(tmp_path: Path) -> None:
    unsure = row([1.0, 1.1], [1.0, 1.1], key("unsure"), identical=True)
    medians = [*unsure[:-1], replace(unsure[-1], identical=False), *row([1.0, 2.0, 3.0], [1.0, 2.0])]
    notes = invoke(
        write(tmp_path / "r.jsonl", [replace(one, first="before") for one in medians]), "--format", "tsv"
    ).stderr
    assert "1 round of a row with one side alone, not counted" in notes
    assert "identical in some rounds and not in others, so taken as changed: mm float16 unsure" in notes
    assert "the before side went first in every round" in notes
    assert "no rows of identical code" in notes


def test_placebos_alone_are_judged_too(tmp_path: Path) -> None:
    path = write(tmp_path / "r.jsonl", suite([], [1.0] * 6))
    assert {line["verdict"] for line in table(path)} == {"IDENTICAL"}
    assert "all changed rows: none" in invoke(path).stdout


def test_rounds_of_one_side_are_no_comparison(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="a ratio takes a before and an after"):
        invoke(write(tmp_path / "r.jsonl", row([1.0, 2.0], [])))


def test_other_commands_do_not_pay_for_scipy() -> None:
    code = "import sys, zl_bench.cli.main; sys.exit('scipy' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
