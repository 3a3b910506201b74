"""FlagGems' contract from end to end: a small benchmark tree of our own over the operators of the flag-gems wheel."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration import flaggems_screens as screens
from tests.integration.flaggems_screens import cut_short, needs_flag_gems, null_control, without_the_pass
from tests.integration.running import events, records, table
from tests.ir.oracle import print_alike, print_all

pytestmark = needs_flag_gems


@pytest.fixture
def session_folder(tmp_path_factory):
    return tmp_path_factory.getbasetemp()


@dataclass(frozen=True)
class Expected:
    """Of one operator: `changed` rows are those that differ without the pass."""

    rows: int
    kernels: int
    pins: str
    changed: int


EXPECTED = {
    # Rows are dtypes times shapes. A kernel is one per dtype and per constant that depends on the shape (the tile).
    "softmax": Expected(4, 4, "none", 2),
    # The backward kernel's first configuration fits every shape: one variant a dtype. The gradient comes from FlagGems'
    # randn, which has a tuner (6 configurations) beside that of the kernel (5).
    "softmax_backward": Expected(4, 2, "first 2/11", 4),
    # A kernel for short rows, one for long ones and one that loops: 3, 3 and 12 configurations.
    "layer_norm": Expected(6, 6, "first 3/18", 4),
    # Stage 1 has the length of the rows as a constant, stage 2 the number of candidates, which is the same.
    "topk": Expected(2, 3, "none", 2),
    # LibTuner, its keys rounded to 32: of 5 shapes two share a key, and all take the first of 162 configurations.
    "mm": Expected(10, 2, "first 1/162", 10),
    "dropout": Expected(10, 2, "none", 10),
    "conj_physical": Expected(2, 1, "first 1/6", 0),
    # != 0 a dtype, a scan in one block or in three kernels, and the kernel itself.
    "nonzero": Expected(4, 7, "none", 4),
    "absolute": Expected(4, 2, "none", 0),
    # Two of four shapes, one of two dtypes.
    "fails_third": Expected(2, 1, "none", 0),
}
REFUSAL = "RuntimeError: rows of 1024 are not supported"


def rows_of(run: Path) -> list[tuple[tuple[str, str, str, int], list[Path]]]:
    """Each row's key and the TTGIR files of its launches, in order."""
    files: dict[int, Path] = {}
    rows = []
    for event in events(run):
        if event["event"] == "kernel":
            files[event["id"]] = run / event["stages"]["ttgir"]["file"]
        elif event["event"] == "row":
            key = (event["operator"], event["dtype"], event["detail"], event["ordinal"])
            rows.append((key, [files[kernel] for kernel in event["launches"]]))
    return rows


def inputs(run: Path) -> dict[str, Any]:
    return json.loads((run / "input.json").read_text(encoding="utf-8"))


def by_entry(root: Path) -> dict[str, dict[str, Any]]:
    return {
        record["operator"] if record["dtype"] == "-" else f"{record['operator']}:{record['dtype']}": record
        for record in records(root)
    }


@pytest.mark.parametrize("operator", EXPECTED)
def test_a_null_control_shows_no_difference(session_folder, operator):
    _, root = null_control(session_folder)
    row, expected = table(root)[operator], EXPECTED[operator]
    assert row["verdict"] == "NO_IR_DIFF"
    assert (int(row["rows"]), int(row["kernels"]), row["pins"]) == (expected.rows, expected.kernels, expected.pins)
    assert (row["changed_rows"], row["first_stage"]) == ("0", "-")
    assert row["converts_before"] == row["converts_after"]
    assert row["status"] == ("partial" if operator == "fails_third" else "complete")
    limits = {"nonzero": "3 rows with guessed values", "fails_third": f"1 row measured on neither side ({REFUSAL}"}
    assert row["reason"].startswith(limits.get(operator, "")) and bool(row["reason"]) == (operator in limits)


@pytest.mark.parametrize("operator", EXPECTED)
def test_a_dropped_pass_changes_what_tritons_own_printer_sees_changed(session_folder, operator):
    _, root = without_the_pass(session_folder)
    row, expected = table(root)[operator], EXPECTED[operator]
    before, after = (rows_of(root / f"{operator}_{side}") for side in ("before", "after"))
    assert [key for key, _ in before] == [key for key, _ in after]
    texts = print_all({file for rows in (before, after) for _, files in rows for file in files})
    changed = [
        len(here) != len(there) or not all(print_alike(texts[a], texts[b]) for a, b in zip(here, there, strict=True))
        for (_, here), (_, there) in zip(before, after, strict=True)
    ]
    assert sum(changed) == int(row["changed_rows"]) == expected.changed
    told = [paired["changed"] for node in by_entry(root)[operator]["nodes"] for paired in node["paired"]]
    assert told == changed, "in the order in which the rows were measured"
    assert row["verdict"] == ("IR_CHANGED" if expected.changed else "NO_IR_DIFF")
    assert (int(row["rows"]), int(row["kernels"]), row["pins"]) == (expected.rows, expected.kernels, expected.pins)
    assert row["first_stage"] == ("ttgir" if expected.changed else "-")
    for side, rows in (("before", before), ("after", after)):
        files = {file for _, launched in rows for file in launched}
        assert int(row[f"converts_{side}"]) == sum(texts[file].count("ttg.convert_layout") for file in files)


def test_the_dropped_pass_leaves_more_layout_conversions(session_folder):
    _, root = without_the_pass(session_folder)
    for operator, expected in EXPECTED.items():
        row = table(root)[operator]
        assert (int(row["converts_after"]) > int(row["converts_before"])) == (expected.changed > 0), operator


@pytest.mark.parametrize("screened", [null_control, without_the_pass])
def test_operators_without_a_kernel_or_a_row(session_folder, screened):
    done, root = screened(session_folder)
    assert done.code == 1, "fails_third failed"
    transpose = table(root)["transpose"]
    assert (transpose["verdict"], transpose["rows"], transpose["kernels"]) == ("NO_KERNEL", "2", "0")
    assert (transpose["pins"], transpose["status"]) == ("none", "complete")
    assert transpose["reason"].startswith("no row launched a Triton kernel")
    skipped = table(root)["not_on_cuda"]
    assert (skipped["verdict"], skipped["rows"], skipped["status"]) == ("NO_ROWS", "0", "complete")
    assert skipped["reason"] == "skipped: Issue #1: wrong results on CUDA"


@pytest.mark.parametrize(
    ("entry", "status", "reason"),
    [
        ("topk:int32", "complete", "dtype int32 is not one of topk's: float16"),
        ("conj_physical:float16", "complete", "dtype float16 is not one of conj_physical's: complex64"),
        ("by_parameter:bfloat16", "complete", "dtype bfloat16 is not one of by_parameter's: float16, float32"),
        ("banned", "complete", "deselected by the suite itself: benchmark/test_endings.py::test_banned"),
        ("elsewhere", "failed", "no test was collected: not found: .*test_endings.py::test_elsewhere$"),
        # One kernel compiled, and no row: the host's clock timed it, which no probe sees.
        ("host_timed", "failed", "the test measured nothing, though 1 kernel compiled"),
    ],
)
def test_no_rows_always_names_its_reason(session_folder, entry, status, reason):
    _, root = null_control(session_folder)
    row = table(root)[entry]
    assert (row["verdict"], row["rows"], row["kernels"]) == ("NO_ROWS", "0", "0")
    assert row["status"] == status
    assert re.search(reason if ".*" in reason else f"^{re.escape(reason)}$", row["reason"]), row["reason"]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("hangs", "ran out of time, more than 6 s, before its first row"),
        ("crashes", "killed by SIGABRT, before its first row, having compiled abs_func_kernel_rank_1"),
    ],
)
def test_a_run_that_is_cut_short_says_how(session_folder, entry, reason):
    done, root = cut_short(session_folder)
    row = table(root)[entry]
    assert (row["verdict"], row["status"], row["reason"]) == ("NO_ROWS", "failed", reason)
    assert done.code == 1


def test_a_dtype_is_passed_only_if_one_was_asked_for(session_folder):
    _, root = null_control(session_folder)
    own, asked = root / "softmax_before", root / "softmax.float32_before"
    assert "--dtypes" not in inputs(own)["pytest_args"]
    assert inputs(asked)["pytest_args"][-2:] == ["--dtypes", "float32"]
    assert [key[1] for key, _ in rows_of(own)] == ["float16", "float16", "float32", "float32"]
    assert [key for key, _ in rows_of(asked)] == [key for key, _ in rows_of(own) if key[1] == "float32"]
    names = [[file.name for file in files] for key, files in rows_of(own) if key[1] == "float32"]
    assert names == [[file.name for file in files] for _, files in rows_of(asked)], "the same code"


def test_rows_stand_in_the_order_of_measuring_and_carry_the_printed_name(session_folder):
    _, root = null_control(session_folder)
    keys = [key for key, _ in rows_of(root / "absolute_after")]
    details = ["[torch.Size([64, 64])]", "[torch.Size([512, 512])]"]
    assert keys == [("abs", dtype, detail, 0) for dtype in ("float16", "bfloat16") for detail in details]
    backward = [key for key, _ in rows_of(root / "softmax_backward_before")]
    assert {key[0] for key in backward} == {"softmax_backward"}


def test_a_late_failure_keeps_the_earlier_rows_and_names_the_first_that_failed(session_folder):
    _, root = null_control(session_folder)
    (node,) = by_entry(root)["fails_third"]["nodes"]
    assert [row["key"]["detail"] for row in node["paired"]] == ["[torch.Size([16, 256])]", "[torch.Size([16, 512])]"]
    assert {(row["side"], row["key"]["dtype"], row["key"]["detail"]) for row in node["failed"]} == {
        (side, "float16", "[torch.Size([16, 1024])]") for side in ("before", "after")
    }
    assert all(row["message"].startswith(REFUSAL) and row["whole_test"] for row in node["failed"])
    assert not node["broken"] and not node["one_sided"]


def test_rows_that_rest_on_guesses_are_marked_one_by_one(session_folder):
    """Random halves, and more integers than the stand-in keeps, are unknown; 4096 integers made on the host are known."""
    _, root = null_control(session_folder)
    guessed = {
        operator: [row["key"]["dtype"] + row["key"]["detail"] for row in node["paired"] if row["guesses"]]
        for operator in EXPECTED
        for node in by_entry(root)[operator]["nodes"]
    }
    sizes = {"float16": ((64, 64), (512, 512)), "int32": ((512, 512),)}
    expected = [f"{dtype}[torch.Size([{a}, {b}])]" for dtype, shapes in sizes.items() for a, b in shapes]
    assert guessed.pop("nonzero") == expected
    assert not any(guessed.values())


def test_every_choice_of_a_tuner_is_replayed(session_folder):
    _, root = null_control(session_folder)
    for operator, expected in EXPECTED.items():
        before, after = (
            [event for event in events(root / f"{operator}_{side}") if event["event"] == "pin"]
            for side in ("before", "after")
        )
        assert bool(before) == (expected.pins != "none"), operator
        choice = ("tuner", "key", "configuration", "position", "candidates")
        assert [[pin[name] for name in choice] for pin in before] == [[pin[name] for name in choice] for pin in after]
        assert {pin["how"] for pin in before} <= {"first"} and {pin["how"] for pin in after} <= {"replayed"}


def test_keys_of_the_tuner_are_rounded_by_its_strategy(session_folder):
    """The kernel with descriptors has keys rounded up to 32, so a stride of 1 becomes 32; the other one's stay exact."""
    _, root = without_the_pass(session_folder)
    pins = [event for event in events(root / "mm_self_transpose.float16_before") if event["event"] == "pin"]
    keys = {True: [], False: []}
    for pin in pins:
        values, _ = json.loads(pin["key"])
        keys["mm_kernel_general_host_tma#" in pin["tuner"]].append(dict(values))
    assert len(keys[True]) == 7
    assert {key["stride_am"] for key in keys[True]} == {32}
    assert [(key["M"], key["K"], key["stride_am"]) for key in keys[False]] == [(257, 96, 1), (5333, 71, 1)]


def test_nothing_inherited_slips_in(session_folder):
    _, root = null_control(session_folder)
    inherited = screens.INHERITED
    for operator in screens.MEASURED:
        sides = {}
        for side in ("before", "after"):
            run = root / f"{operator}_{side}"
            environment = json.loads((run / "env.json").read_text(encoding="utf-8"))["environment"]
            own = {"TRITON_CACHE_DIR": f"{run}/cache/triton", "FLAGGEMS_CACHE_DIR": f"{run}/cache/flaggems"}
            fixed = {"USE_C_EXTENSION": "0", "USE_FLAGTUNE": "0", "GEMS_VENDOR": "nvidia", **own}
            assert {name: environment.get(name) for name in inherited} == {**dict.fromkeys(inherited), **fixed}
            sides[side] = {name: value for name, value in environment.items() if name not in own}
        assert sides["before"] == sides["after"], "byte-identical but for the run's own folders"


def test_kernels_were_compiled_by_the_run_that_launched_them(session_folder):
    _, root = null_control(session_folder)
    for operator in EXPECTED:
        for side in ("before", "after"):
            compiles = [event for event in events(root / f"{operator}_{side}") if event["event"] == "compile"]
            assert compiles and not any(event["cached"] or event["foreign"] for event in compiles), operator


def test_the_baseline_is_neither_run_nor_counted(session_folder):
    """Only the operator's own latency is asked for, and metrics that a class adds to the shared list are not added."""
    _, root = null_control(session_folder)
    arguments = inputs(root / "mm_before")["pytest_args"]
    assert arguments[-6:] == ["--level", "core", "--metrics", "latency", "--record", "none"]
    assert len(rows_of(root / "mm_before")) == EXPECTED["mm"].rows
