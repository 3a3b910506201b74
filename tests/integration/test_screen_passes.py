"""Passes taken out of stock Triton, on the built-in suite for cuda:90: each verdict, and what the command says of it."""

from __future__ import annotations

import json

import pytest

from tests.integration.running import events, records, table, zl_bench
from zl_bench.model import SIDES


@pytest.fixture(scope="module")
def screened(tmp_path_factory):
    """Screens by pass and operators, each made once."""
    done = {}

    def screen(name, *operators):
        if (name, operators) not in done:
            root = tmp_path_factory.mktemp(name) / "root"
            finished = zl_bench("screen", "--switch", f"pass:{name}", "--target", "cuda:90", "--root", root, *operators)
            done[name, operators] = finished, root
        return done[name, operators]

    return screen


PIPELINE = ("matmul", "flash_attention", "vector_add", "transpose", "aten_addcmul", "vector_add:complex64")


def test_without_pipeline_matmul_and_attention_change(screened):
    done, root = screened("pipeline", *PIPELINE)
    assert done.code == 0, done.out + done.err
    rows = table(root)
    for operator in ("matmul", "flash_attention"):
        assert rows[operator]["verdict"] == "IR_CHANGED"
        assert rows[operator]["first_stage"] == "ttgir"
        assert rows[operator]["machine_code"] == "differs"
    for operator in ("vector_add", "transpose"):
        assert rows[operator]["verdict"] == "NO_IR_DIFF"
        assert rows[operator]["machine_code"] == "same"
        assert rows[operator]["changed_rows"] == "0"
    assert rows["aten_addcmul"]["verdict"] == "NO_KERNEL"
    assert rows["aten_addcmul"]["kernels"] == "0"
    assert int(rows["aten_addcmul"]["rows"]) > 0
    assert all(row["status"] == "complete" for row in rows.values())


def test_a_dtype_that_an_operator_lacks_is_a_clean_absence_with_the_dtypes_it_has(screened):
    _, root = screened("pipeline", *PIPELINE)
    row = table(root)["vector_add:complex64"]
    assert (row["verdict"], row["status"], row["rows"]) == ("NO_ROWS", "complete", "0")
    assert "complex64" in row["reason"]
    assert "float16" in row["reason"]


def test_a_tuned_operator_says_how_its_configuration_was_chosen(screened):
    _, root = screened("pipeline", *PIPELINE)
    assert table(root)["matmul"]["pins"] == "first 1/36"
    assert table(root)["vector_add"]["pins"] == "none"


def test_an_operator_alone_has_its_sides_run_at_once_with_the_choices_of_the_before_side(screened, tmp_path):
    """With two jobs and one operator, the after side starts with the before side; its verdict is that of the usual order."""
    alone = tmp_path / "root"
    screen = ("screen", "--switch", "pass:pipeline", "--target", "cuda:90", "--jobs", "2", "--root", alone)
    done = zl_bench(*screen, "matmul")
    assert done.code == 0, done.out + done.err
    follows = [
        json.loads((alone / f"matmul_{side}" / "input.json").read_text())["pins"] for side in ("before", "after")
    ]
    assert follows == [
        {"mode": "first", "records": []},
        {"mode": "replay", "records": [], "follow": str(alone / "matmul_before")},
    ]
    chosen, replayed = ([one for one in events(alone / f"matmul_{side}") if one["event"] == "pin"] for side in SIDES)
    assert {one["how"] for one in chosen} == {"first"}
    assert {(one["how"], one["origin"]) for one in replayed} == {("replayed", "first")}
    assert [one["configuration"] for one in chosen] == [one["configuration"] for one in replayed]
    _, usual = screened("pipeline", *PIPELINE)
    told = ("verdict", "rows", "changed_rows", "kernels", "first_stage", "machine_code", "pins", "reason", "status")
    assert {name: table(alone)["matmul"][name] for name in told} == {
        name: table(usual)["matmul"][name] for name in told
    }


def test_the_closing_table_explains_each_verdict_that_occurs_and_ends_in_the_path(screened):
    done, root = screened("pipeline", *PIPELINE)
    for word in ("IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS"):
        assert f"{word}: " in done.out
    assert "BROKEN" not in done.out
    assert done.out.rstrip().endswith(str(root / "screen.tsv"))
    assert "\x1b" not in done.out
    line = next(line for line in done.out.splitlines() if line.startswith("vector_add  "))
    assert line.endswith("skip it")


def test_both_sides_compiled_for_themselves(screened):
    _, root = screened("pipeline", *PIPELINE)
    for side in ("before", "after"):
        text = (root / f"matmul_{side}" / "events.jsonl").read_text(encoding="utf-8")
        assert '"event": "compile"' in text
        assert '"cached": true' not in text


def test_the_record_holds_nodes_rows_and_kernels(screened):
    _, root = screened("pipeline", *PIPELINE)
    matmul = next(record for record in records(root) if record["operator"] == "matmul")
    (node,) = matmul["nodes"]
    assert node["node"] == "test_matmul.py::test_matmul"
    assert len(node["paired"]) == int(table(root)["matmul"]["rows"])
    kernel = node["paired"][0]["kernels"][0]
    assert kernel["identity"]["name"] == "matmul_kernel"
    assert "ttgir" in kernel["changed_stages"]


def test_without_layout_removal_the_transpose_has_more_converts_and_other_machine_code(screened):
    done, root = screened("remove_layout_conversions", "transpose")
    row = table(root)["transpose"]
    assert done.code == 0
    assert row["verdict"] == "IR_CHANGED"
    assert int(row["converts_after"]) > int(row["converts_before"])
    assert row["machine_code"] == "differs"


def test_dropping_one_occurrence_is_not_dropping_all(screened):
    _, root_all = screened("remove_layout_conversions", "transpose")
    _, root_last = screened("remove_layout_conversions@1", "transpose")
    every, first = (int(table(root)["transpose"]["converts_after"]) for root in (root_all, root_last))
    assert first < every


def test_reordered_instructions_can_leave_the_machine_code_alone(screened):
    done, root = screened("reorder_instructions", "transpose", "vector_add")
    row = table(root)["transpose"]
    assert (row["verdict"], row["machine_code"]) == ("IR_CHANGED", "same")
    line = next(line for line in done.out.splitlines() if line.startswith("transpose  "))
    assert "nothing to measure" in line


def test_a_pass_that_the_compiler_can_not_do_without_is_broken_and_the_rest_goes_on(screened):
    done, root = screened("accelerate_matmul", "matmul:float16", "matmul:float32", "vector_add")
    assert done.code == 1
    rows = table(root)
    assert rows["matmul:float16"]["verdict"] == "BROKEN"
    reason = rows["matmul:float16"]["reason"]
    assert reason.startswith("after: matmul_kernel failed to compile at llir")
    assert "ConvertTritonGPUToLLVM" in reason
    assert "PassManager::run failed" in reason
    assert rows["matmul:float32"]["verdict"] == "IR_CHANGED"
    assert rows["vector_add"]["verdict"] == "NO_IR_DIFF"
    first = (root / "screen.tsv").read_text(encoding="utf-8").splitlines()[1]
    assert first.startswith("matmul\tfloat16\tBROKEN")


def test_a_pass_that_the_pipeline_never_adds_is_dead(tmp_path):
    done = zl_bench("screen", "--switch", "pass:no_such_pass", "--target", "cuda:90", "--root", tmp_path / "root")
    assert done.code == 4
    assert "no_such_pass" in done.err
    assert "remove_layout_conversions" in done.err  # what there is instead
    done = zl_bench("screen", "--switch", "pass:pipeline@2", "--target", "cuda:90", "--root", tmp_path / "root2")
    assert done.code == 4


def test_show_prints_the_kernels_and_their_diff(screened):
    _, root = screened("remove_layout_conversions", "transpose")
    done = zl_bench("show", root, "transpose", "--row", "1")
    assert done.code == 0
    assert "transpose_kernel" in done.out
    assert any(line.startswith("+") and "convert_layout" in line for line in done.out.splitlines())
    done = zl_bench("show", root, "matmul")
    assert done.code == 2
    assert "transpose" in done.err


def test_irdiff_agrees_with_the_screen(screened):
    _, root = screened("remove_layout_conversions", "transpose")
    before, after = (next((root / f"transpose_{side}" / "ir").glob("*.ttgir")) for side in ("before", "after"))
    assert zl_bench("irdiff", before, before).code == 0
    done = zl_bench("irdiff", before, after)
    assert done.code == 1
    assert "DIFFERENT" in done.out
