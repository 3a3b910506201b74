from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.store.timed_runs import BEGIN, GRAPH_COLD, key, record_run, row, row_failed, timed_row, write_run
from zl_bench.analysis.measured import Regime, Timed
from zl_bench.errors import UsageError
from zl_bench.store.latencies import find_runs, read_source

COLD = Regime("graph", "cold")


def test_a_root_gives_one_sides_rows(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 2.0, torch=4.0))
    record_run(tmp_path, "after", timed_row(key(), 1.0, method="queued", launch_bound=True))
    (old,), (new,) = read_source(tmp_path, "before").rows, read_source(tmp_path, "after").rows
    assert (old.own, old.torch, old.direct, old.launch_bound) == (Timed(2.0, COLD), Timed(4.0, COLD), False, False)
    assert (new.own, new.torch, new.direct, new.launch_bound) == (
        Timed(1.0, Regime("queued", "cold")),
        None,
        True,
        True,
    )
    assert read_source(tmp_path, "after").side == "after"


def test_a_root_with_one_side_gives_what_it_has(tmp_path: Path) -> None:
    record_run(tmp_path, "after", timed_row(key(), 1.0))
    source = read_source(tmp_path, "before")
    assert (source.side, len(source.rows)) == ("after", 1)


def test_a_run_by_itself_and_its_log_are_its_record(tmp_path: Path) -> None:
    run = record_run(tmp_path, "after", timed_row(key(), 1.0))
    (run / "run.log").write_text("Operator: mm  Performance Test (dtype=torch.float16, mode=kernel,level=core)\n")
    assert read_source(run, "before").rows == read_source(run / "run.log", "before").rows
    assert [found.own for found in read_source(run, "before").rows] == [Timed(1.0, COLD)]


def test_failed_rows_of_every_kind(tmp_path: Path) -> None:
    record_run(
        tmp_path, "before", timed_row(key("a"), 0.0), [row(key("b"))], [row_failed(key("c"), "out\nof memory")],
        timed_row(key("d"), 1.0), [row_failed(key("d"))],
    )  # fmt: skip
    found = {measured.detail: (measured.own, measured.failure) for measured in read_source(tmp_path, "before").rows}
    assert found == {
        "a": (None, "the latency is zero"),
        "b": (None, "no latency was recorded"),
        "c": (None, "out of memory"),
        "d": (None, "out of memory"),
    }


def test_nodes_of_an_operator_run_one_after_the_other(tmp_path: Path) -> None:
    for node, started in (("b.py::b", 10.0), ("a.py::a", 20.0)):
        record_run(tmp_path, "before", timed_row(key(node=node), started), node=node, several=True, t=started)
    found = [
        (measured.node, measured.ordinal, measured.occurrence) for measured in read_source(tmp_path, "before").rows
    ]
    assert found == [("b.py::b", 0, 0), ("a.py::a", 0, 1)]
    assert read_source(tmp_path / "mm_before", "before").rows == read_source(tmp_path, "before").rows


def test_a_key_that_two_runs_have_counts_twice(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    record_run(tmp_path, "before", timed_row(key(), 2.0), operator="mm.again")
    found = [(measured.ordinal, measured.occurrence) for measured in read_source(tmp_path, "before").rows]
    assert found == [(0, 0), (1, 1)]


def test_the_repetition_of_a_self_check_is_no_run_of_a_side(tmp_path: Path) -> None:
    node = "t.py::test_again"
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    record_run(tmp_path, "before", timed_row(key(), 5.0), folder="again")
    record_run(tmp_path, "before", timed_row(key("n", node=node), 2.0), operator="add", node=node, several=True)
    assert [found.own for found in read_source(tmp_path, "before").rows] == [Timed(2.0, COLD), Timed(1.0, COLD)]
    assert len(find_runs(tmp_path / "mm_again")) == 1


def test_untimed_runs_are_told_from_timed_ones(tmp_path: Path) -> None:
    record_run(tmp_path / "plain", "before", [row(key())], timing=None)
    record_run(tmp_path / "asked", "before", timing=GRAPH_COLD)
    (tmp_path / "plain" / "mm_before" / "run.log").write_text("placeholders")
    assert not read_source(tmp_path / "plain", "before").timed
    assert not read_source(tmp_path / "plain" / "mm_before" / "run.log", "before").timed
    assert read_source(tmp_path / "asked", "before").timed


def test_what_cut_a_run_short_is_noted(tmp_path: Path) -> None:
    write_run(tmp_path / "mm_before", [BEGIN, *timed_row(key(), 1.0)])
    source = read_source(tmp_path, "before")
    assert len(source.rows) == 1
    (note,) = source.notes
    assert note.startswith("mm_before: the process ended with exit status 0 before the end of its record")
    write_run(
        tmp_path / "mm_before", [BEGIN, *timed_row(key(), 1.0), {"event": "deselected", "dtype": "x"}, {"event": "end"}]
    )
    assert read_source(tmp_path, "before").notes == ()


@pytest.mark.parametrize("damaged", [None, "[7]", "{", "{}", "[" * 200_000])
def test_the_side_of_a_run_without_its_input_is_told_by_its_folder(tmp_path: Path, damaged: str | None) -> None:
    node = "t.py::test_before"
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    runs = [
        record_run(tmp_path, "after", timed_row(key(), 2.0)),
        record_run(tmp_path, "after", timed_row(key(node=node), 3.0), operator="add", node=node, several=True),
    ]
    for run in runs:
        (run / "input.json").unlink()
        if damaged is not None:
            (run / "input.json").write_text(damaged)
    assert [row.own for row in read_source(tmp_path, "before").rows] == [Timed(1.0, COLD)]
    source = read_source(tmp_path, "after")
    assert sorted(row.own.milliseconds for row in source.rows if row.own is not None) == [2.0, 3.0]
    assert [read_source(run, "before").side for run in runs] == ["after", "after"]


def test_a_run_whose_side_nothing_tells_is_left_out_with_a_note(tmp_path: Path) -> None:
    record_run(tmp_path, "before", timed_row(key(), 1.0))
    record_run(tmp_path, "after", timed_row(key(), 2.0))
    stray = write_run(tmp_path / "stray", [BEGIN, *timed_row(key(), 9.0)])
    (stray / "input.json").unlink()
    for side, expected in (("before", 1.0), ("after", 2.0)):
        source = read_source(tmp_path, side)  # type: ignore[arg-type]
        assert [row.own for row in source.rows] == [Timed(expected, COLD)]
        assert source.notes == ("stray: left out, its input.json does not tell its side",)
    assert [row.own for row in read_source(stray, "after").rows] == [Timed(9.0, COLD)], "named itself"


def test_a_run_that_links_lead_to_counts_once(tmp_path: Path) -> None:
    run = record_run(tmp_path, "before", timed_row(key(), 1.0))
    (tmp_path / "a_link").symlink_to(run)
    (tmp_path / "a_loop").symlink_to(tmp_path)
    assert [found.directory for found in find_runs(tmp_path)] == [run]
    links = tmp_path / "links"
    links.mkdir()
    for name in ("x", "y"):
        (links / name).symlink_to(run)
    assert [found.directory for found in find_runs(links)] == [links / "x"]


def test_an_operator_that_crashed_before_its_first_row_is_told(tmp_path: Path) -> None:
    write_run(tmp_path / "mm_before", [BEGIN])
    record_run(tmp_path, "before", timed_row(key(operator="add"), 1.0), operator="add")
    assert read_source(tmp_path, "before").without_rows == (("mm", ""),)
    write_run(tmp_path / "mm_before", [BEGIN], dtype="float16")
    assert read_source(tmp_path, "before").without_rows == (("mm", "float16"),)
    write_run(tmp_path / "mm_before", [BEGIN, *timed_row(key(), 1.0)])
    assert read_source(tmp_path, "before").without_rows == ()


def test_only_files_and_folders_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (Path("/dev/zero"), tmp_path / "pipe"):
        with pytest.raises(UsageError, match=f"{path} is neither a file nor a folder"):
            read_source(path, "before")
    with pytest.raises(UsageError, match=r"x{300} can not be read: File name too long"):
        read_source(tmp_path / ("x" * 300), "before")
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="does not exist"):
        read_source(tmp_path / "file" / "below", "before")


def test_only_true_is_launch_bound(tmp_path: Path) -> None:
    told = (True, "false", 1, None)
    rows = [timed_row(key(str(at)), 1.0, launch_bound=value) for at, value in enumerate(told)]
    record_run(tmp_path, "before", *rows)
    assert [row.launch_bound for row in read_source(tmp_path, "before").rows] == [True, False, False, False]


def test_what_is_no_source_says_what_could_be(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"does not exist\. Give the directory of a run, the root of"):
        read_source(tmp_path / "nowhere", "before")
    with pytest.raises(UsageError, match=r"holds no run itself\. Give the directory of a run"):
        read_source(tmp_path, "before")
    record_run(tmp_path / "ab_x_1", "before", timed_row(key(), 1.0))
    (tmp_path / "ab_x_1" / "screen.json").write_text("{}")
    with pytest.raises(UsageError, match=r"holds no run itself\. It holds .*ab_x_1: give one of them"):
        read_source(tmp_path, "before")
