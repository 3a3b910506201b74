"""Exports: the exact text of each format, names that no two rows share, and what the tools that read them make of it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyperf import BenchmarkSuite

from tests.analysis.made_rounds import key, row
from zl_bench.analysis.rounds import RoundMedian
from zl_bench.model import SIDES, RowKey, Side
from zl_bench.reports.exports import _go_name, _plain_name, benchfmt, google_benchmark, pyperf, row_names

SOFTMAX = key("[4096, 4096]", "softmax")
MEDIANS = [
    *row([0.0373, 0.0375001, 0.0374], [0.036, 0.0361, 0.0362], SOFTMAX),
    *row([1.5, 1.5, 1.25], [1.5, 1.5, 1.5], key("64", "mm", dtype="float32")),
]


def keys(medians: list[RoundMedian] = MEDIANS) -> set[RowKey]:
    return {median.key for median in medians}


def of(side: Side, medians: list[RoundMedian] = MEDIANS) -> list[RoundMedian]:
    return [median for median in medians if median.side == side]


def test_benchfmt_has_a_line_per_round_of_a_row() -> None:
    assert benchfmt(of("before"), keys()) == (
        "BenchmarkRow/operator=mm/dtype=float32/detail=64 1 1500000 ns/op\n"
        "BenchmarkRow/operator=mm/dtype=float32/detail=64 1 1500000 ns/op\n"
        "BenchmarkRow/operator=mm/dtype=float32/detail=64 1 1250000 ns/op\n"
        "BenchmarkRow/operator=softmax/dtype=float16/detail=[4096,_4096] 1 37300 ns/op\n"
        "BenchmarkRow/operator=softmax/dtype=float16/detail=[4096,_4096] 1 37500.1 ns/op\n"
        "BenchmarkRow/operator=softmax/dtype=float16/detail=[4096,_4096] 1 37400 ns/op\n"
    )


def test_google_benchmark_has_a_repetition_per_round() -> None:
    told = json.loads(google_benchmark(of("after"), keys()))
    assert told["context"] == {"executable": "zl-bench", "json_schema_version": 1}
    assert len(told["benchmarks"]) == 6
    assert told["benchmarks"][3:5] == [
        {
            "name": "softmax float16 [4096, 4096]",
            "family_index": 1,
            "per_family_instance_index": 0,
            "run_name": "softmax float16 [4096, 4096]",
            "run_type": "iteration",
            "repetitions": 3,
            "repetition_index": repetition,
            "threads": 1,
            "iterations": 1,
            "real_time": nanoseconds,
            "cpu_time": nanoseconds,
            "time_unit": "ns",
        }
        for repetition, nanoseconds in ((0, 36000.0), (1, 36100.0))
    ]


def test_pyperf_has_a_run_per_round_in_seconds() -> None:
    assert json.loads(pyperf(of("after"), keys())) == {
        "version": "1.0",
        "metadata": {"unit": "second"},
        "benchmarks": [
            {"metadata": {"name": "mm float32 64"}, "runs": [{"values": [0.0015]}] * 3},
            {
                "metadata": {"name": "softmax float16 [4096, 4096]"},
                "runs": [{"values": [3.6e-05]}, {"values": [3.61e-05]}, {"values": [3.62e-05]}],
            },
        ],
    }


def test_pyperf_itself_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    path.write_text(pyperf(of("before"), keys()))
    suite = BenchmarkSuite.load(str(path))
    assert suite.get_benchmark_names() == ["mm float32 64", "softmax float16 [4096, 4096]"]
    found = suite.get_benchmark("softmax float16 [4096, 4096]")
    assert found.get_values() == (3.73e-05, 3.75001e-05, 3.74e-05)
    assert (found.get_unit(), found.get_nrun()) == ("second", 3)


@pytest.mark.skipif(shutil.which("benchstat") is None, reason="Go's benchstat is not on PATH")
def test_benchstat_itself_reads_it(tmp_path: Path) -> None:
    for side in SIDES:
        (tmp_path / side).write_text(benchfmt(of(side), keys()), encoding="utf-8")
    command = ["benchstat", "-format", "csv", str(tmp_path / "before"), str(tmp_path / "after")]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = {
        line[0]: (float(line[1]), float(line[3])) for line in csv.reader(found.splitlines()) if line[0][:4] == "Row/"
    }
    assert told == {
        "Row/operator=mm/dtype=float32/detail=64": (0.0015, 0.0015),
        "Row/operator=softmax/dtype=float16/detail=[4096,_4096]": pytest.approx((3.74e-05, 3.61e-05)),
    }


def test_the_order_of_the_lines_says_nothing() -> None:
    for write in (benchfmt, google_benchmark, pyperf):
        assert write(of("before")[::-1], keys()) == write(of("before"), keys())


def test_no_digit_is_made_up() -> None:
    """In binary, 0.0373001 times a million is 37300.100000000006."""
    medians = row([0.0373001, 1e-05, 123456.0], [])
    assert [line.split()[2] for line in benchfmt(medians, keys(medians)).splitlines()] == [
        "37300.1", "10", "123456000000",
    ]  # fmt: skip


def test_rows_that_share_a_short_name_are_spelled_out() -> None:
    first, second, other = key("64", node="t.py::a"), key("64", node="t.py::b", ordinal=1), key("65", node="t.py::b")
    assert row_names([second, other, first], _plain_name) == {
        first: "mm float16 64 t.py::a 0",
        second: "mm float16 64 t.py::b 1",
        other: "mm float16 65",
    }
    assert row_names([second, other, first], _go_name)[second] == (
        "BenchmarkRow/operator=mm/dtype=float16/detail=64/node=t.py::b/ordinal=1"
    )


def test_a_name_of_both_sides_does_not_hang_on_which_side_has_the_row() -> None:
    twins = [*row([1.0], [1.0], key("64", node="a")), *row([1.0], [], key("64", node="b"))]
    assert benchfmt(of("after", twins), keys(twins)) == (
        "BenchmarkRow/operator=mm/dtype=float16/detail=64/node=a/ordinal=0 1 1000000 ns/op\n"
    )


@pytest.mark.parametrize(
    ("detail", "expected"),
    [
        ("[64, 64]", "[64,_64]"),
        ("a/b", "a%2Fb"),
        ("50%", "50%25"),
        ("n-64", "n%2D64"),  # a number after a dash at the end is the number of processors
        ("n-64x", "n-64x"),
        ("two\nlines\t and blanks", "two_lines_and_blanks"),
        ("\x1b[31m", r"\x1b[31m"),
        ("größe", "größe"),
    ],
)
def test_names_that_go_would_read_otherwise(detail: str, expected: str) -> None:
    medians = row([1.0], [], key(detail))
    assert benchfmt(medians, keys(medians)) == (
        f"BenchmarkRow/operator=mm/dtype=float16/detail={expected} 1 1000000 ns/op\n"
    )


def test_rows_that_no_spelling_tells_apart_are_numbered() -> None:
    blank, underscore = key("a b"), key("a_b")
    assert sorted(row_names([blank, underscore], _go_name).values()) == [
        "BenchmarkRow/operator=mm/dtype=float16/detail=a_b/ordinal=0",
        "BenchmarkRow/operator=mm/dtype=float16/detail=a_b/ordinal=0#01",
    ]


TEXTS = st.text(st.sampled_from("ab _/#0-%\n\u2028\ud800"), max_size=4)
KEYS = st.lists(st.builds(RowKey, TEXTS, TEXTS, TEXTS, st.integers(0, 2), TEXTS), max_size=12)


@given(KEYS)
def test_every_row_has_a_name_of_its_own_that_each_format_can_hold(found: list[RowKey]) -> None:
    for spelling in (_go_name, _plain_name):
        names = row_names(found, spelling)
        assert names.keys() == set(found)
        assert len(set(names.values())) == len(names)
        for name in names.values():
            assert name == name.strip() != ""
            assert len(name.splitlines()) == 1
            assert name.encode("utf-8")
            assert spelling is _plain_name or not any(character.isspace() for character in name)
