from __future__ import annotations

import time
from pathlib import Path

import pytest

from zl_bench.analysis.measured import Measured, Timed
from zl_bench.errors import UsageError
from zl_bench.store.text_log import parse_text_log, read_text_log

MARKER = "BENCHMARK_DIRECT_NO_CUDAGRAPH"
SIZES = "[torch.Size([64, 64]), 1]"


def table(*lines: str, operator: str = "mm", dtype: str = "torch.float16", mode: str = "kernel") -> str:
    return "\n".join(
        (
            "",
            f"Operator: {operator}  Performance Test (dtype={dtype}, mode={mode},level=core)",
            "Status       Torch Latency (ms)    Gems Latency (ms)         Gems Speedup          Size Detail",
            "-" * 95,
            *lines,
            "",
            "",
        )
    )


def line(
    own: str = "0.500000", detail: str = SIZES, *more: str, torch: str = "1.000000", status: str = "SUCCESS"
) -> str:
    """A row as FlagGems' format has it; `more` are the columns behind the speed-up."""
    return f"{status:<10}" + "".join(f"{cell:>20}" for cell in (torch, own, "2.000", *more)) + " " * 10 + detail


def rows(text: str) -> list[Measured]:
    return list(parse_text_log(text).rows)


def test_a_row_has_what_its_line_says() -> None:
    assert rows(table(line())) == [
        Measured("mm", "float16", SIZES, "", 0, 0, own=Timed(0.5), torch=Timed(1.0)),
    ]


@pytest.mark.parametrize(
    "detail",
    [
        "[torch.Size([64, 64]), 1]",
        "[torch.Size([]), torch.Size([4096])]",
        "[[torch.Size([2]), torch.Size([2])], 0]",
        "([torch.Size([64, 64]), -1], {'out': torch.Size([64, 64])})",
        "{'x': torch.Size([64, 64]), 'k': 5, 'dim': -1}",
        "[torch.Size([4]), torch.float16, None, 0.5, 'mean']",
        "['a(b', \"it's [\", torch.Size([1])]",
        "{}",
        "N/A",
        "(1024, 1024)",
        "1024",
        "0.500 of the whole",
        "[1, 2, 3, 4… (120000 characters, SHA-256 0123456789abcdef)",
    ],
)
@pytest.mark.parametrize("more", [(), ("0.125",), ("N/A", "3.000"), ("12.000", "123456.789", "N/A")])
def test_every_form_of_detail_behind_any_columns(detail: str, more: tuple[str, ...]) -> None:
    (row,) = rows(table(line("0.25", detail, *more)))
    assert (row.detail, row.own) == (detail, Timed(0.25))


@pytest.mark.parametrize(
    ("own", "status", "why"),
    [
        ("N/A", "SUCCESS", "the latency is N/A"),
        ("0.000000", "SUCCESS", "the latency is zero"),
        ("-0.100000", "SUCCESS", "the latency is negative"),
        ("nan", "SUCCESS", "the latency is not a number"),
        ("inf", "SUCCESS", "the latency is infinite"),
        ("N/A", "FAILED", "the log says FAILED"),
        ("0.500000", "FAILED", "the log says FAILED"),
        ("0.500000", "SKIPPED", "the log says SKIPPED"),
    ],
)
def test_failed_rows(own: str, status: str, why: str) -> None:
    (row,) = rows(table(line(own, status=status)))
    assert (row.own, row.failure) == (None, why)


@pytest.mark.parametrize("torch", ["N/A", "0.000000", "nan", "inf", "-1.000000"])
def test_a_row_without_a_torch_latency_is_not_failed(torch: str) -> None:
    (row,) = rows(table(line(torch=torch)))
    assert (row.own, row.torch, row.failure) == (Timed(0.5), None, "")


def test_duplicated_details_count_their_occurrences_across_tables() -> None:
    text = (
        table(line("1.0"), line("2.0", "[1]"), line("3.0"))
        + table(line("4.0"))
        + table(line("5.0"), dtype="torch.int32")
    )
    found = [(row.dtype, row.detail, row.occurrence, row.own) for row in rows(text)]
    assert found == [
        ("float16", SIZES, 0, Timed(1.0)),
        ("float16", "[1]", 0, Timed(2.0)),
        ("float16", SIZES, 1, Timed(3.0)),
        ("float16", SIZES, 2, Timed(4.0)),
        ("int32", SIZES, 0, Timed(5.0)),
    ]


def test_foreign_lines_colours_and_line_ends_change_nothing() -> None:
    plain = table(line("1.0"), line("2.0", "[1]"))
    noise = plain.replace(
        "\nSUCCESS", "\nSUCCESSFULLY loaded 3 modules 1.0 2.0\n\n100%|####| 3/3\rFAILED tests: 0\n\x1b[32mSUCCESS"
    )
    for text in (noise, noise.replace("\n", "\r\n"), "\ufeff" + plain, plain.replace("[1]", "\x1b[1m[1]\x1b[0m   ")):
        assert rows(text) == rows(plain)
    assert len(rows(plain)) == 2


def test_a_heading_of_another_baseline_and_other_dtypes() -> None:
    text = table(line(), operator="to_copy_torch.int32_to_x", dtype="bool", mode="cudagraph").replace(
        "Torch L", "vLLM CUDA L"
    )
    assert [row.group for row in rows(text)] == [("to_copy_torch.int32_to_x", "bool")]
    assert parse_text_log(text).modes == {"cudagraph"}


@pytest.mark.parametrize("cut", range(1, len(line())))
def test_an_interrupted_log_never_invents_a_row(cut: int) -> None:
    whole = table(line("1.0", "[1]"), line()).rstrip("\n")
    log = parse_text_log(whole[: len(whole) - cut])
    assert [row.detail for row in log.rows] == ["[1]"]
    assert cut > 84 - 10 or log.notes == ("1 line of a table cut short or damaged, not counted as a row",)


def test_a_last_row_without_its_line_end_counts() -> None:
    assert len(rows(table(line()).rstrip("\n"))) == 1


def test_what_could_not_be_counted_is_noted() -> None:
    failed = "\x1b[31mFAILED\x1b[0m: Operator=sort dtype={dtype} err=<<<>>>"
    summary = "FAILED benchmark/test_x.py::test_x - RuntimeError: no"
    text = "\n".join((line(), table(), table(line(), operator="add"), failed, summary))
    assert parse_text_log(text).notes == (
        "1 row below no whole heading of a table, of no known operator",
        "1 table without a row: mm float16",
        "failed before the rows were printed: sort, benchmark/test_x.py::test_x",
    )


HEADING = "Operator: add  Performance Test (dtype=torch.float16, mode=kernel,level=core)"


@pytest.mark.parametrize("cut", range(len("Operator: "), len(HEADING) - len("kernel,level=core)")))
def test_rows_below_a_cut_heading_are_nobodys(cut: int) -> None:
    log = parse_text_log(
        table(line()).rstrip("\n") + f"\n{HEADING[:cut]}\n{line('9.0')}\n" + table(line(), operator="sub")
    )
    assert [(row.operator, row.own) for row in log.rows] == [("mm", Timed(0.5)), ("sub", Timed(0.5))]
    assert log.notes == (
        "1 row below no whole heading of a table, of no known operator",
        "1 heading of a table cut or damaged, not counted as a table",
    )


@pytest.mark.parametrize("glued", [HEADING[:50] + line(), line() + HEADING[:50]])
def test_a_cut_heading_and_a_row_in_one_line_are_damage(glued: str) -> None:
    log = parse_text_log(table(line("1.0")).rstrip("\n") + f"\n{glued}\n{line('9.0')}\n")
    assert [row.own for row in log.rows] == [Timed(1.0)]
    assert len(log.notes) == 3
    assert "1 line of a table cut short or damaged, not counted as a row" in log.notes
    assert "1 heading of a table cut or damaged, not counted as a table" in log.notes


def test_a_cut_heading_before_a_whole_one_in_its_line() -> None:
    log = parse_text_log("Operator: ad" + table(line()).lstrip("\n"))
    assert [row.operator for row in log.rows] == ["mm"]
    assert log.notes == ("1 heading of a table cut or damaged, not counted as a table",)


def test_an_error_that_speaks_of_an_operator_ends_no_table() -> None:
    said = (f"{MARKER} queued: mm float16 [9] (operator): Operator: no", "FAILED: Operator=x err=<<<Operator: no>>>")
    assert len(rows(table(line(), *said, line()))) == 2


def test_operators_that_came_to_no_row_are_told() -> None:
    text = table() + table(line(), operator="add") + "FAILED: Operator=sort dtype={dtype}\nFAILED a.py::test_x - no\n"
    assert parse_text_log(text).without_rows == (("mm", "float16"), ("sort", ""))


MANY = 20_000


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Operator: " * MANY, id="cut headings in a line"),
        pytest.param("Operator: x" + " " * 10 * MANY, id="blanks"),
        pytest.param("Operator: x" + " Performance Test (dtype=" * MANY, id="titles in a line"),
        pytest.param(
            "\n".join(f"{MARKER} queued: mm float16 [{at}] (operator): x" for at in range(MANY))
            + table(*(line(detail=f"[{at}]") for at in range(MANY))),
            id="a marker for each row",
        ),
        pytest.param(
            f"{MARKER} queued: mm float16 [1] (operator)\n" * MANY + table(*[line(detail="[1]")] * MANY),
            id="markers of the same row",
        ),
        pytest.param(f"{MARKER}\n" * MANY + table(*[line()] * MANY), id="markers of a table"),
        pytest.param(table(*[f"{MARKER}\n{line()}"] * MANY), id="markers between rows"),
    ],
)
def test_reading_takes_time_in_proportion(text: str) -> None:
    """What takes time by the square takes minutes for these; the limit is far from both, whatever else is running."""
    start = time.process_time()
    parse_text_log(text)
    assert time.process_time() - start < 10


def direct(text: str) -> list[str]:
    return [f"{row.operator} {row.detail}" for row in rows(text) if row.direct]


ROWS = (line(detail="[1]"), line(detail="[2]"), line(detail="[3]"))


def test_a_marker_between_rows_marks_the_next_row() -> None:
    assert direct(table(ROWS[0], f"{MARKER}: capture failed", "a foreign line", *ROWS[1:])) == ["mm [2]"]
    assert direct(table(MARKER, *ROWS)) == ["mm [1]"]


def test_a_marker_within_a_row_marks_that_row_and_is_no_size() -> None:
    assert direct(table(ROWS[0], f"{ROWS[1]}  [{MARKER}]", ROWS[2])) == ["mm [2]"]
    assert direct(table(ROWS[0], f"{MARKER} {ROWS[1]}", ROWS[2])) == ["mm [2]"]


def test_a_marker_right_behind_the_last_row_marks_it() -> None:
    other = table(*ROWS, operator="add")
    assert direct(table(*ROWS).rstrip("\n") + f"\n{MARKER}\n{MARKER}\n{other}") == ["mm [3]"]
    assert direct(table(*ROWS).rstrip("\n") + f"\n{MARKER}\n") == ["mm [3]"]


def test_a_marker_before_a_table_marks_all_of_it() -> None:
    marked = direct(
        table(ROWS[0]) + f"\n{MARKER}: something\n" + table(*ROWS, operator="add") + table(ROWS[0], operator="sub")
    )
    assert marked == ["add [1]", "add [2]", "add [3]"]
    assert direct(table(ROWS[0]) + f"\n\n{MARKER}\n") == []


def test_a_marker_that_names_its_row_marks_that_row_wherever_it_stands() -> None:
    named = f"{MARKER} queued: mm float16 [2] (operator): graph: no capture"
    assert direct(f"{named}\n" + table(*ROWS) + table(*ROWS, operator="add")) == ["mm [2]"]
    assert direct(table(*ROWS) + f"\n{named}\n" + table(*ROWS, operator="add")) == ["mm [2]"]
    assert direct(f"{MARKER} direct: sort float16 [2]\n" + table(*ROWS)) == [], "that table was never printed"
    assert direct(f"{MARKER} direct: mm float16 n=1\n" + table(line(detail="n=1"), line(detail="n=16"))) == ["mm n=1"]


@pytest.mark.parametrize("rest", [" (operator)", " (operator): why", " (operator): why (baseline): not", ""])
def test_a_marker_names_its_row_exactly(rest: str) -> None:
    others = ("(8, 8)", "(8, 8) x", "(8, 8)]", "(8, 8) (operator)", "(8,")
    text = f"{MARKER} queued: mm float16 (8, 8) y{rest}\n{MARKER} queued: mm float16 (8, 8)-{rest}\n"
    assert direct(text + table(*(line(detail=other) for other in others))) == []
    named = f"{MARKER} queued: mm float16 (8, 8){rest}\n" + table(*(line(detail=other) for other in others))
    assert direct(named) == ["mm (8, 8)"]


def test_a_marker_of_a_baseline_is_about_the_torch_latency() -> None:
    text = f"{MARKER} queued: mm float16 [2] (baseline): graph: no capture\n" + table(*ROWS)
    assert direct(text) == []
    assert [row.torch_direct for row in rows(text)] == [False, True, False]


def test_files_that_are_no_logs(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"\xff\xfe\x00binary")
    with pytest.raises(UsageError, match="holds no table of FlagGems' benchmark"):
        read_text_log(path)
    with pytest.raises(UsageError, match="can not be read"):
        read_text_log(tmp_path / "nowhere.log")
