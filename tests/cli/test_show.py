from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.ir.corpus import read_fixture
from zl_bench.cli.show import show
from zl_bench.errors import UsageError
from zl_bench.model import ProcessOutcome, Status, Verdict, split_entry
from zl_bench.store.layout import run_directory
from zl_bench.store.runs import read_run, write_outcome
from zl_bench.store.screened import join_entry, load_operator, screened_entries
from zl_bench.workflow.judge import judge_operator

NODE = "test_add.py::test_add"
TTGIR = read_fixture("vector_add.cuda90")
CHANGED = TTGIR.replace("arith.subf", "arith.addf")


def make_run(root: Path, side: str, texts: dict[str, str], *, operator: str = "add", dtype: str | None = None,
             node: str = NODE, several: bool = False, warps: int = 4,
             outputs: dict[str, list[float]] | None = None) -> Path:  # fmt: skip
    """A run of two rows, each launching one kernel with the given stage texts; `outputs` are of rows by their size."""
    directory = run_directory(root, operator, dtype, side, node, several=several)  # type: ignore[arg-type]
    (directory / "ir").mkdir(parents=True)
    stages = {}
    for stage, text in texts.items():
        (directory / "ir" / f"k.{stage}").write_text(text)
        stages[stage] = {"file": f"ir/k.{stage}", "sha256": hashlib.sha256(text.encode()).hexdigest()}
    kernel = {
        "event": "kernel", "id": "k", "name": "add_kernel", "signature": '{"x": "*fp32"}', "constants": "{}",
        "attributes": "{}", "num_warps": warps, "num_stages": 3, "num_ctas": 1, "shared": 0, "configuration": "",
        "stages": stages,
    }  # fmt: skip
    rows = [
        {"event": "row", "node": node, "operator": operator, "dtype": "float32", "ordinal": 0, "detail": size,
         "launches": ["k"], "guesses": 0}
        for size in ("1024", "4096")
    ]  # fmt: skip
    for size, values in (outputs or {}).items():
        content = struct.pack(f"<{len(values)}f", *values)
        digest = hashlib.sha256(content).hexdigest()
        (directory / "outputs").mkdir(exist_ok=True)
        (directory / "outputs" / f"{digest}.bin").write_bytes(content)
        sample = {"dtype": "float32", "shape": [len(values)], "sha256": digest, "file": f"outputs/{digest}.bin",
                  "elements": len(values), "of": len(values)}  # fmt: skip
        key = {"node": node, "operator": operator, "dtype": "float32", "ordinal": 0, "detail": size}
        rows.append({"event": "outputs", **key, "tensors": [sample], "reason": ""})
    events = [{"event": "begin"}, {"event": "compile", "kernel": "add_kernel"}, kernel, *rows,
              {"event": "test", "node": node, "outcome": "passed", "message": ""}, {"event": "end", "exit": 0}]  # fmt: skip
    (directory / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (directory / "input.json").write_text(
        json.dumps({"operator": operator, "dtype": dtype, "node": node, "side": side})
    )
    write_outcome(directory, ProcessOutcome("exited"))
    return directory


def shown(*arguments: object) -> str:
    result = CliRunner().invoke(show, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_run(tmp_path, "before", {"ttgir": TTGIR})
    make_run(tmp_path, "after", {"ttgir": CHANGED})
    return tmp_path


def test_the_kernels_are_listed_matched_across_the_sides(root: Path) -> None:
    text = shown(root, "add")
    assert text.startswith("add  IR_CHANGED  ttgir differs: add_kernel\n")
    assert f"node {NODE}" in text
    assert "  row 1  float32 1024  changed, first difference at ttgir" in text
    assert "  row 2  float32 4096  changed" in text
    assert "    add_kernel  warps 4, stages 3, ctas 1" in text
    assert 'signature {"x": "*fp32"}' in text
    assert "ttgir differs" in text
    assert "converts 0 before, 0 after" in text
    assert "+++" not in text


def test_a_row_shows_its_diff_at_the_first_stage_that_differs(root: Path) -> None:
    text = shown(root, "add", "--row", 2)
    assert "row 1" not in text
    assert "--- before/k.ttgir" in text
    assert any(line.startswith("-") and "arith.subf" in line for line in text.splitlines())
    assert any(line.startswith("+") and "arith.addf" in line for line in text.splitlines())


def test_a_stage_alone_shows_each_diff_once(root: Path) -> None:
    assert shown(root, "add", "--stage", "ttgir").count("--- before/k.ttgir") == 1


def test_the_same_kernel_says_so(tmp_path: Path) -> None:
    for side in ("before", "after"):
        make_run(tmp_path, side, {"ttgir": TTGIR})
    text = shown(tmp_path, "add", "--row", 1)
    assert text.startswith("add  NO_IR_DIFF\n")
    assert "no stage differs" in text
    assert "ttgir is the same" in shown(tmp_path, "add", "--row", 1, "--stage", "ttgir")


def test_a_kernel_specialised_otherwise_is_matched_by_name_and_diffed(tmp_path: Path) -> None:
    make_run(tmp_path, "before", {"ttgir": TTGIR}, warps=4)
    make_run(tmp_path, "after", {"ttgir": CHANGED}, warps=8)
    text = shown(tmp_path, "add", "--row", 1)
    assert "specialised otherwise: num_warps 4 before, 8 after" in text
    assert "--- before/k.ttgir" in text


def test_rows_whose_outputs_differ_say_by_how_much(tmp_path: Path) -> None:
    make_run(tmp_path, "before", {"ttgir": TTGIR}, outputs={"1024": [1, 2], "4096": [1, 2]})
    after = make_run(tmp_path, "after", {"ttgir": TTGIR}, outputs={"1024": [1, 2], "4096": [1, 3]})
    first, second = (line for line in shown(tmp_path, "add").splitlines() if line.startswith("  row "))
    assert first == "  row 1  float32 1024  same"
    assert second == "  row 2  float32 4096  same, outputs differ (largest absolute 1, relative 0.5)"
    for path in (after / "outputs").iterdir():  # no longer what the run recorded
        path.write_bytes(b"")
    assert "outputs differ" not in shown(tmp_path, "add")


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            "same",
            "outputs not comparable (floating-point atomics, whose order is free, in the same code: largest absolute 1, ",
        ),
        ("other", "outputs differ (largest absolute 1, relative 0.5)"),
    ],
)
def test_the_order_of_atomics_is_no_difference_between_the_sides(tmp_path: Path, code: str, told: str) -> None:
    atomic = TTGIR.replace("tt.return", "%sum = tt.atomic_rmw fadd, relaxed, gpu, %p, %v : f32\n    tt.return")
    make_run(tmp_path, "before", {"ttgir": atomic, "mubin": "same"}, outputs={"1024": [1, 2]})
    make_run(tmp_path, "after", {"ttgir": atomic, "mubin": code}, outputs={"1024": [1, 3]})
    assert told in shown(tmp_path, "add")


def test_rows_with_outputs_of_another_kind_say_of_which(tmp_path: Path) -> None:
    make_run(tmp_path, "before", {"ttgir": TTGIR}, outputs={"1024": [1, 2]})
    make_run(tmp_path, "after", {"ttgir": TTGIR}, outputs={"1024": [1, 2, 3], "4096": [1]})
    text = shown(tmp_path, "add")
    assert "outputs differ (shape of output 1: (2,) before, (3,) after)" in text
    assert text.count("outputs differ") == 1


def test_what_is_missing_is_named_with_what_there_is(root: Path) -> None:
    make_run(root, "before", {"ttgir": TTGIR}, operator="fft", dtype="complex64")
    for arguments, message in [
        ((root, "mul"), r"no run of mul\. It has add, fft:complex64\."),
        ((root, "fft:float16"), r"no run of fft:float16\."),
        ((root, "add", "--row", 9), "rows 1 to 2"),
        ((root, "fft:complex64", "--row", 1), "no row of it was measured on both sides"),
        ((root, "add", "--stage", "ptx"), "has a stage ptx: there are ttgir"),
        ((root / "no", "add"), "is no folder"),
        ((root / "no",), "has no run of any operator"),
        ((root, "--row", 1), "name it behind the root"),
        ((root / "add_before", "add"), "is it the root of a screen"),
    ]:
        with pytest.raises(UsageError, match=message):
            shown(*arguments)


def test_a_root_alone_lists_its_operators(root: Path) -> None:
    make_run(root, "before", {"ttgir": TTGIR}, operator="fft", dtype="complex64")
    assert shown(root).splitlines() == [
        "add  not finished",
        "fft:complex64  not finished",
        f"`zl-bench show {root} add` shows the kernels of one.",
    ]
    recorded = Path(__file__).parents[1] / "reports" / "data" / "recorded_screen"
    assert shown(recorded).splitlines()[:3] == [
        "aten_addcmul  NO_KERNEL",
        "matmul:float16  BROKEN",
        "matmul:float32  IR_CHANGED",
    ]


def test_the_only_entry_of_an_operator_needs_no_dtype(root: Path) -> None:
    make_run(root, "before", {"ttgir": TTGIR}, operator="fft", dtype="complex64")
    assert shown(root, "fft") == shown(root, "fft:complex64")
    make_run(root, "before", {"ttgir": TTGIR}, operator="fft", dtype="float16")
    with pytest.raises(UsageError, match=r"no run of fft\."):
        shown(root, "fft")


def test_an_operator_that_was_asked_for_with_its_first_dtype_is_called_by_its_name(tmp_path: Path) -> None:
    for side in ("before", "after"):
        directory = make_run(tmp_path, side, {"ttgir": TTGIR})
        record = json.loads((directory / "input.json").read_text())
        (directory / "input.json").write_text(json.dumps({**record, "dtype": "first"}))  # as --dtypes first does
    assert screened_entries(tmp_path) == ["add"]
    assert shown(tmp_path, "add:first") == shown(tmp_path, "add")


def test_a_side_that_never_ran_is_told(tmp_path: Path) -> None:
    make_run(tmp_path, "before", {"ttgir": TTGIR})
    text = shown(tmp_path, "add")
    assert text.startswith("add  NO_ROWS  after: the after run was never started")
    assert "on before only  float32 1024" in text


def test_an_operator_of_several_nodes(tmp_path: Path) -> None:
    for node in ("a.py::t", "b.py::t"):
        make_run(tmp_path, "before", {"ttgir": TTGIR}, node=node, several=True)
        make_run(tmp_path, "after", {"ttgir": CHANGED if node.startswith("b") else TTGIR}, node=node, several=True)
    text = shown(tmp_path, "add")
    assert "row 4" in text
    assert "row 1  float32 1024  same" in text
    assert "node a.py::t" not in shown(tmp_path, "add", "--row", 3)


def test_entries() -> None:
    for entry in ("fft", "fft:complex64", "a:b:c"):
        assert join_entry(*split_entry(entry)) == entry
    assert split_entry("fft:complex64") == ("fft", "complex64")


def test_what_a_root_has(root: Path) -> None:
    make_run(root, "after", {"ttgir": TTGIR}, operator="Add", dtype="float16")
    assert screened_entries(root) == ["Add:float16", "add"]
    loaded = load_operator(root, "add", None)
    assert [run.side for run in loaded.nodes[0]] == ["before", "after"]


def judged(tmp_path: Path) -> tuple[Verdict, Status, str]:
    pair = tuple(
        read_run(tmp_path / f"add_{side}", NODE, side, ProcessOutcome("exited"))  # type: ignore[arg-type]
        for side in ("before", "after")
    )
    verdict = judge_operator("add", None, [pair]).verdict  # type: ignore[list-item]
    return verdict.verdict, verdict.status, verdict.reason


@pytest.mark.parametrize("content", ["", "module {"])
def test_a_stage_that_can_not_be_read_is_never_equal(tmp_path: Path, content: str) -> None:
    for side in ("before", "after"):
        make_run(tmp_path, side, {"ttgir": content})
    verdict, status, reason = judged(tmp_path)
    assert (verdict, status) == (Verdict.NO_ROWS, Status.FAILED)
    assert "ttgir" in reason


def test_a_file_that_changed_after_the_run_is_not_compared(tmp_path: Path) -> None:
    for side in ("before", "after"):
        make_run(tmp_path, side, {"ttgir": TTGIR})
    (tmp_path / "add_after" / "ir" / "k.ttgir").write_text(CHANGED)
    verdict, _, reason = judged(tmp_path)
    assert verdict is Verdict.NO_ROWS
    assert "SHA-256 differs" in reason
    (tmp_path / "add_after" / "ir" / "k.ttgir").unlink()
    assert "can not be read" in judged(tmp_path)[2]


def test_locations_do_not_change_a_verdict(tmp_path: Path) -> None:
    make_run(tmp_path, "before", {"ttgir": TTGIR})
    make_run(tmp_path, "after", {"ttgir": TTGIR + '\n#loc99 = loc("/elsewhere.py":1:1)\n'})
    assert judged(tmp_path)[0] is Verdict.NO_IR_DIFF
