"""performance.csv and kernels.csv: what they hold, and that pandas and DuckDB read their types and join them."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pytest

from tests.reports import simulated_measures as simulated
from tests.reports.test_report import FLAGGEMS, GOLDEN, MEASURED, RECORDED
from zl_bench.analysis.axis import AxisState
from zl_bench.model import FailedRow, OneSidedRow, RowKey, Verdict
from zl_bench.reports.csv_files import KERNEL_COLUMNS, PERFORMANCE_COLUMNS, kernels_csv, performance_csv
from zl_bench.reports.report_view import OperatorView, ReportView
from zl_bench.store.screen import ScreenRecord
from zl_bench.workflow.report import read_report
from zl_bench.workflow.report_operators import operator_view, with_distinct_keys
from zl_bench.workflow.report_rows import KernelTable, row_key_text


def lines(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_line_per_row_and_a_line_per_kernel_and_side() -> None:
    view = read_report(RECORDED)
    rows, kernels = lines(performance_csv(view)), lines(kernels_csv(view))
    assert len(rows) == sum(len(one.rows) for one in view.operators) + 2 + 1, (
        "two broken rows, one operator without any"
    )
    assert len({row["row_key"] for row in rows}) == len(rows)
    assert all(row["row_key"] and row["ordinal"] == "0" for row in rows)
    assert {kernel["row_key"] for kernel in kernels} <= {row["row_key"] for row in rows}
    launches = sum(len(row.launches) for one in view.operators for row in one.rows)
    assert len(kernels) == 2 * launches > 0, "each of these launches has a partner"
    assert {kernel["side"] for kernel in kernels} == {"before", "after"}
    assert list(kernels[0])[: len(KERNEL_COLUMNS)] == list(KERNEL_COLUMNS)
    assert list(kernels[0])[-5:] == [f"{stage}_sha256" for stage in ("ttir", "ttgir", "llir", "ptx", "cubin")]
    changed = [row for row in rows if row["changed"] == "true"]
    assert {row["operator_verdict"] for row in changed} == {"IR_CHANGED"}
    assert all(row["before_ms"] == row["verdict"] == row["clocks"] == "" for row in rows), "nothing was timed"


def test_rows_that_broke_and_operators_without_rows_have_lines_with_reasons() -> None:
    rows = lines(performance_csv(read_report(RECORDED)))
    found = Counter((row["operator_verdict"], row["problem"], row["failed_side"]) for row in rows if row["reason"])
    assert found == {("BROKEN", "broken", "after"): 2, ("NO_ROWS", "", ""): 1}
    broken = [row for row in rows if row["problem"] == "broken"]
    assert [row["detail"] for row in broken] == ["shape=(512, 512, 512)", "shape=(1000, 1000, 1000)"]
    assert all(row["reason"].startswith("after: matmul_kernel failed to compile at llir") for row in broken)
    assert all((row["changed"], row["launches"]) == ("", "") for row in broken), "nothing was compared"
    (alone,) = (row for row in rows if row["operator_verdict"] == "NO_ROWS")
    assert {column: value for column, value in alone.items() if value and column != "row_key"} == {
        "entry": "vector_add:complex64", "operator": "vector_add", "ordinal": "0", "operator_verdict": "NO_ROWS",
        "operator_status": "complete",
        "reason": "dtype complex64 is not one of vector_add's: float16, bfloat16, float32, int32",
    }  # fmt: skip


def judged_otherwise(**changes: Any) -> OperatorView:
    """The recorded BROKEN operator, had its node come to something else."""
    (judged,) = (one for one in ScreenRecord(RECORDED).judged() if one.verdict.verdict is Verdict.BROKEN)
    (node,) = judged.nodes
    made = replace(judged, nodes=(replace(node, **{"broken": (), "failed": (), **changes}),))
    return operator_view(made, None, AxisState.LIVE, KernelTable(RECORDED), None)


KEYS = [RowKey("t.py::t", "mm", "float16", 0, str(size)) for size in range(3)]


def test_rows_of_one_side_and_rows_that_failed_on_both_are_told_apart() -> None:
    one = judged_otherwise(
        failed=(
            ("before", FailedRow(KEYS[0], "run", "out of memory")),
            ("before", FailedRow(KEYS[1], "run", "timeout")),
            ("after", FailedRow(KEYS[0], "run", "out of memory")),
            ("after", FailedRow(KEYS[1], "run", "crashed")),
        ),
        one_sided=(OneSidedRow(KEYS[2], "before", "the run ended before it"),),
    )
    rows = lines(performance_csv(replace(read_report(RECORDED), operators=(one,))))
    assert [(row["detail"], row["problem"], row["failed_side"], row["reason"]) for row in rows] == [
        ("0", "failed", "both", "out of memory"),
        ("1", "failed", "both", "before: timeout; after: crashed"),
        ("2", "one side only", "after", "the run ended before it"),
    ]


def test_a_row_that_broke_keeps_one_line_and_one_key_when_it_is_measured_later_or_asked_for_twice() -> None:
    one = judged_otherwise(one_sided=tuple(OneSidedRow(key, "before", "why") for key in KEYS[:2]))
    measured = replace(one, rows=(one.uncompared[0].row,))
    view = replace(read_report(RECORDED), operators=tuple(with_distinct_keys([one, measured])))
    keys = [row_key_text(key) for key in KEYS[:2]]
    rows = lines(performance_csv(view))
    assert [row["row_key"] for row in rows] == [f"{keys[0]}-2", keys[1], keys[0], f"{keys[1]}-2"]
    assert {row["failed_side"] for row in rows} == {"after"}


@pytest.mark.parametrize("root", [RECORDED, FLAGGEMS, MEASURED], ids=lambda root: root.name)
@pytest.mark.parametrize(("name", "render"), [("performance", performance_csv), ("kernels", kernels_csv)])
def test_csv_of_a_recorded_root(root: Path, name: str, render: Callable[[ReportView], str]) -> None:
    golden = GOLDEN / f"{root.name}.{name}.csv"
    assert render(read_report(root)) == golden.read_bytes().decode("utf-8")


def test_numbers_keep_their_digits(tmp_path: Path) -> None:
    view = read_report(simulated.single_row(tmp_path / "m"))
    (row,) = lines(performance_csv(view))
    timing = view.operators[0].rows[0].timing
    assert timing is not None
    assert list(row) == list(PERFORMANCE_COLUMNS)
    assert (float(row["speedup"]), float(row["ci_low"])) == (timing.speedup, timing.low)
    assert (row["rounds"], row["rounds_of"], row["kind"], row["parameters"]) == ("6", "6", "changed", "64")
    assert (row["changed"], row["numerics_same"]) == ("", ""), "it was not screened"


def test_one_round_has_no_interval_and_no_q(tmp_path: Path) -> None:
    for row in lines(performance_csv(read_report(simulated.one_round(tmp_path / "m")))):
        assert (row["rounds"], row["ci_low"], row["ci_high"], row["q"]) == ("1", "", "", "")


def test_whatever_is_in_a_name_a_cell_stays_a_cell(tmp_path: Path) -> None:
    (row,) = lines(performance_csv(read_report(simulated.hostile_names(tmp_path / "m"))))
    assert row["detail"] == simulated.HOSTILE


def written(folder: Path) -> tuple[Path, Path]:
    view = read_report(simulated.nothing_changed(_copy(folder)))
    paths = folder / "performance.csv", folder / "kernels.csv"
    for path, text in zip(paths, (performance_csv(view), kernels_csv(view)), strict=True):
        path.write_text(text, encoding="utf-8", newline="")
    return paths


def _copy(folder: Path) -> Path:
    """The recorded screen, which is then measured as well."""
    import shutil

    return Path(shutil.copytree(RECORDED, folder / "root"))


def test_pandas_reads_the_types(tmp_path: Path) -> None:
    performance, kernels = (pandas.read_csv(path) for path in written(tmp_path))
    assert performance["speedup"].dtype.kind == "f"
    assert performance["ordinal"].dtype.kind == "i"
    assert kernels["num_warps"].dtype.kind == "i"
    assert kernels["unstable"].dtype.kind == "b"
    joined = performance.merge(kernels, on="row_key", validate="one_to_many")
    assert len(joined) == len(kernels)
    assert performance.groupby("operator_verdict", dropna=True).size()["BROKEN"] == 2
    nullable = pandas.read_csv(tmp_path / "performance.csv", dtype_backend="numpy_nullable")
    assert (str(nullable["launches"].dtype), str(nullable["changed"].dtype)) == ("Int64", "boolean")


def test_duckdb_reads_the_types(tmp_path: Path) -> None:
    performance, kernels = map(str, written(tmp_path))
    connection = duckdb.connect()

    def types(path: str) -> dict[str, str]:
        return {
            name: kind for name, kind, *_ in connection.sql(f"describe select * from read_csv('{path}')").fetchall()
        }

    assert {name: types(performance)[name] for name in ("speedup", "ordinal", "launches", "changed", "row_key")} == {
        "speedup": "DOUBLE", "ordinal": "BIGINT", "launches": "BIGINT", "changed": "BOOLEAN", "row_key": "VARCHAR",
    }  # fmt: skip
    assert {name: types(kernels)[name] for name in ("num_warps", "unstable", "registers")} == {
        "num_warps": "BIGINT", "unstable": "BOOLEAN", "registers": "BIGINT",
    }  # fmt: skip
    joined = connection.sql(
        f"select count(*) from read_csv('{performance}') join read_csv('{kernels}') using (row_key)"
    ).fetchall()
    alone = connection.sql(f"select count(*) from read_csv('{kernels}')").fetchall()
    assert joined == alone
