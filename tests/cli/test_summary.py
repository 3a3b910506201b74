from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.store.timed_runs import NODE, abandoned, key, latency, record_run, row, row_failed, timed_row
from zl_bench.cli.summary import summary
from zl_bench.errors import UsageError

LOGS = Path(__file__).parent.parent / "data" / "logs"
AB_HEADING = "operator\tdtype\tpaired\ttotal\tfailed_before\tfailed_after\tgeomean\tmin\tmax\tdirect"
TORCH_HEADING = "operator\tdtype\trows\tfailed\tgeomean\tmin\tmedian\tmax\tdirect"


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(summary, [str(argument) for argument in arguments], catch_exceptions=False)


def table(*arguments: str | Path) -> list[str]:
    """The lines of the TSV below its heading."""
    result = invoke(*arguments, "--format", "tsv")
    assert result.exit_code == 0, result.output
    heading, *lines = result.stdout.splitlines()
    assert heading == (AB_HEADING if "--ab" in arguments else TORCH_HEADING)
    return lines


def test_two_logs_in_another_order_with_everything_that_goes_wrong() -> None:
    """Made-up logs: foreign lines, colours, a failed and a zero row, a duplicated key, a marker, and a cut last line."""
    assert table("--ab", LOGS / "before.log", LOGS / "after.log") == [
        "cumsum_out\tfloat16\t1\t2\t1\t0\t1.2\t1.2\t1.2\t-",
        "mm\tfloat16\t2\t2\t0\t0\t1.25\t1.25\t1.25\t-",
        "mm\tfloat32\t1\t2\t0\t0\t2\t2\t2\t-",
        "sort\t-\t0\t0\t0\t0\t-\t-\t-\t-",
        "sum\tfloat16\t2\t3\t1\t0\t2\t2\t2\t-",
        "topk\tfloat16\t2\t2\t0\t0\t1\t0.8\t1.25\tafter",
    ]
    notes = invoke("--ab", LOGS / "before.log", LOGS / "after.log", "--format", "tsv").stderr
    assert "after.log: 1 line of a table cut short or damaged" in notes
    assert "mm float32: 1 row only before" in notes
    assert "failed before the rows were printed: sort" in notes


def test_a_log_against_torch() -> None:
    assert table(LOGS / "before.log") == [
        "cumsum_out\tfloat16\t2\t1\t0.833333\t0.833333\t0.833333\t0.833333\t-",
        "mm\tfloat16\t2\t0\t0.8\t0.8\t0.8\t0.8\t-",
        "mm\tfloat32\t2\t0\t0.774597\t0.75\t0.775\t0.8\t-",
        "sum\tfloat16\t3\t1\t0.707107\t0.5\t0.75\t1\t-",
        "topk\tfloat16\t2\t0\t-\t-\t-\t-\t-",
    ]


def test_a_log_against_itself_shows_no_difference() -> None:
    assert "mm\tfloat16\t2\t2\t0\t0\t1\t1\t1\t-" in table("--ab", LOGS / "before.log", LOGS / "before.log")


def sides(root: Path) -> Path:
    """A root of a screen with timing: of five rows of mm, two are pairs."""
    record_run(
        root, "before", timed_row(key("a"), 3.0), timed_row(key("b"), 1.0), timed_row(key("c"), 1.0), timed_row(key("d"), 1.0),
    )  # fmt: skip
    record_run(
        root, "after", timed_row(key("b"), 4.0), timed_row(key("a"), 1.5), [row_failed(key("c"))],
        timed_row(key("d"), 0.5, method="queued"), timed_row(key("e"), math.nan),
    )  # fmt: skip
    (root / "screen.json").write_text("{}")
    return root


EXPECTED = f"mm\tfloat16\t2\t5\t0\t2\t{math.sqrt(0.5):.6g}\t0.25\t2\tafter"


def test_one_root_that_has_both_sides(tmp_path: Path) -> None:
    root = sides(tmp_path)
    assert table("--ab", root) == [EXPECTED]
    assert table("--ab", root, root) == [EXPECTED]
    assert table("--ab", root / "mm_before", root / "mm_after") == [EXPECTED]
    notes = invoke("--ab", root, "--format", "tsv").stderr
    assert (
        "1 row timed by different methods or L2 policies on the two sides, no pair (before graph, L2 cold; after"
        in notes
    )
    assert "2 rows failed after (" in notes
    assert "1 row only after" in notes


def test_every_format_shows_how_many_rows_are_paired(tmp_path: Path) -> None:
    root = sides(tmp_path)
    assert "2/5" in invoke("--ab", root).stdout
    assert "(incomplete)" in invoke("--ab", root).stdout
    assert "| 2/5 |" in invoke("--ab", root, "--format", "markdown").stdout
    record = json.loads(invoke("--ab", root, "--format", "json").stdout)
    assert (record["rows"][0]["paired"], record["rows"][0]["total"]) == (2, 5)


def test_two_roots_of_one_side_each(tmp_path: Path) -> None:
    record_run(tmp_path / "a", "before", timed_row(key(), 2.0))
    record_run(tmp_path / "b", "before", timed_row(key(), 1.0))
    assert table("--ab", tmp_path / "a", tmp_path / "b") == ["mm\tfloat16\t1\t1\t0\t0\t2\t2\t2\t-"]


def test_a_recorded_run_against_a_log(tmp_path: Path) -> None:
    sizes = "[torch.Size([4096, 4096]), torch.Size([4096, 4096])]"
    record_run(tmp_path, "before", timed_row(key(sizes), 0.5, method="direct"))
    assert table("--ab", tmp_path, LOGS / "after.log")[1] == "mm\tfloat16\t1\t2\t0\t0\t2.5\t2.5\t2.5\tbefore"


def test_a_run_of_several_processes(tmp_path: Path) -> None:
    begin = {"event": "begin"}
    first = [*timed_row(key("a"), 1.0), row(key("b")), abandoned(key("b"))]
    record_run(tmp_path, "before", first, [begin, *timed_row(key("b"), 2.0, method="queued")])
    record_run(tmp_path, "after", timed_row(key("a"), 0.5), timed_row(key("b"), 1.0, method="queued"))
    assert table("--ab", tmp_path) == ["mm\tfloat16\t2\t2\t0\t0\t2\t2\t2\tboth"]


def test_recorded_runs_against_torch(tmp_path: Path) -> None:
    record_run(
        tmp_path, "before", timed_row(key("a"), 1.0, torch=2.0), timed_row(key("b"), 1.0, torch=8.0), timed_row(key("c"), 1.0),
        [latency(key("d"), 0.0, "baseline"), row(key("d")), latency(key("d"), 1.0)],
        [latency(key("e"), 1.0, "baseline", method="queued"), row(key("e")), latency(key("e"), 1.0)],
    )  # fmt: skip
    record_run(tmp_path / "other", "before", timed_row(key(operator="add"), 2.0, torch=1.0), operator="add")
    assert table(tmp_path / "mm_before", tmp_path / "other") == [
        "add\tfloat16\t1\t0\t0.5\t0.5\t0.5\t0.5\t-",
        "mm\tfloat16\t5\t0\t4\t2\t5\t8\tyes",
    ]
    notes = invoke(tmp_path / "mm_before").stdout
    assert "mm float16: 2 rows without a torch latency, not in the range" in notes
    assert "mm float16: 1 row whose torch latency was taken another way" in notes
    assert "2/5 rows compared with torch (incomplete)" in notes


def test_of_a_root_with_both_sides_one_is_shown_against_torch(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 1.0, torch=2.0))
    record_run(tmp_path, "after", timed_row(key(), 1.0, torch=3.0))
    assert table(tmp_path) == ["mm\tfloat16\t1\t0\t2\t2\t2\t2\t-"]
    assert table(tmp_path, "--side", "after") == ["mm\tfloat16\t1\t0\t3\t3\t3\t3\t-"]
    assert "has runs of both sides" in invoke(tmp_path).stdout
    record_run(tmp_path / "one", "before", timed_row(key(), 1.0, torch=2.0))
    assert "has no run of the after side" in invoke(tmp_path / "one", "--side", "after").stdout
    assert "is in 2 of the sources" in invoke(tmp_path / "mm_before", tmp_path / "one").stdout


def test_untimed_roots_are_refused_and_timing_is_named(tmp_path: Path) -> None:
    record_run(tmp_path / "untimed", "before", [row(key())], timing=None)
    record_run(tmp_path / "untimed", "after", [row(key())], timing=None)
    record_run(tmp_path / "timed", "after", timed_row(key(), 1.0))
    untimed, timed = tmp_path / "untimed", tmp_path / "timed"
    for arguments in (
        ("--ab", untimed),
        ("--ab", untimed, timed),
        ("--ab", timed, untimed),
        (untimed,),
        (timed, untimed),
    ):
        with pytest.raises(UsageError, match=r"untimed holds no latency.* --timing"):
            invoke(*arguments)
    assert UsageError.exit_code == 2


def test_what_can_not_be_compared(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    with pytest.raises(UsageError, match="only has runs of the before side: there is nothing to compare it with"):
        invoke("--ab", tmp_path)
    with pytest.raises(UsageError, match="has no two sides"):
        invoke("--ab", LOGS / "before.log")
    with pytest.raises(UsageError, match="compares two"):
        invoke("--ab", tmp_path, tmp_path, tmp_path)
    with pytest.raises(UsageError, match="--side chooses one"):
        invoke("--ab", tmp_path, "--side", "after")
    with pytest.raises(UsageError, match="a text log that FlagGems' benchmark printed"):
        invoke(tmp_path / "nowhere")
    assert invoke().exit_code == 2


def test_a_screen_that_never_came_to_its_after_side_says_so(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    (tmp_path / "screen.json").write_text("{}")
    assert (
        "has no run of the after side; those of the before side are taken" in invoke("--ab", tmp_path, tmp_path).stdout
    )


def test_a_run_that_crashed_is_named_and_its_rows_are_missing(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key("a"), 1.0), timed_row(key("b"), 1.0))
    run = record_run(tmp_path, "after", timed_row(key("a"), 1.0))
    (run / "outcome.json").write_text('{"kind": "signal", "code": 11, "detail": ""}')
    result = invoke("--ab", tmp_path)
    assert "1/2" in result.stdout
    assert f"after: {tmp_path}: mm_after: killed by SIGSEGV" in result.stdout


@pytest.mark.parametrize("side", ["before", "after"])
def test_an_operator_that_crashed_before_its_first_row_is_in_the_table(tmp_path: Path, side: str) -> None:
    for known in ("before", "after"):
        record_run(tmp_path, known, timed_row(key(operator="add"), 1.0, torch=1.0), operator="add")
        run = record_run(tmp_path, known)
        (run / "outcome.json").write_text('{"kind": "signal", "code": 11, "detail": ""}')
    assert table(tmp_path, "--side", side) == ["add\tfloat16\t1\t0\t1\t1\t1\t1\t-", "mm\t-\t0\t0\t-\t-\t-\t-\t-"]
    assert table("--ab", tmp_path)[1] == "mm\t-\t0\t0\t0\t0\t-\t-\t-\t-"
    assert f"mm_{side}: killed by SIGSEGV" in invoke(tmp_path, "--side", side).stdout


@pytest.mark.parametrize("form", ["table", "tsv", "json", "markdown"])
def test_every_format_ends_alike_when_its_reader_has_gone(form: str) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "zl_bench", "summary", str(LOGS / "before.log"), "--format", form]
    try:
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_logs_of_two_modes_are_compared_with_a_warning(tmp_path: Path) -> None:
    other = tmp_path / "graph.log"
    other.write_text((LOGS / "before.log").read_text().replace("mode=kernel", "mode=cudagraph"))
    assert (
        "different modes of FlagGems' benchmark (before kernel; after cudagraph)"
        in invoke("--ab", LOGS / "before.log", other).stdout
    )


def test_a_damaged_record_is_no_traceback(tmp_path: Path) -> None:
    run = record_run(tmp_path, "before", timed_row(key(), 1.0))
    (run / "events.jsonl").write_text('{"event": "begin"}\n7\n')
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert "events.jsonl holds something else than events" in result.stdout
    assert NODE not in result.stdout
