"""`bisect`: names the part of a switch that makes the change, by real compiles."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.integration.running import Finished, zl_bench
from zl_bench.workflow.bisect_speed import parts_to_measure
from zl_bench.workflow.subject import choose_subject

LAYOUTS = "remove_layout_conversions"
MASK = "ZL_TEST_PHASE_MASK"
MARKS = Path(__file__).parent / "masked_triton.py"
Screen = Callable[..., Path]


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Triton is one whose cuda back end reads the mask: all but that one file is a link."""
    spec = importlib.util.find_spec("triton")
    assert spec is not None and spec.origin is not None
    installed, folder = Path(spec.origin).parent, tmp_path_factory.mktemp("masked")
    one = Path("backends", "nvidia", "compiler.py")
    for parent in (Path(), Path("backends"), Path("backends", "nvidia")):
        (folder / "triton" / parent).mkdir()
        for found in (installed / parent).iterdir():
            if found.relative_to(installed) not in {*one.parents, one} and found.name != "__pycache__":
                (folder / "triton" / parent / found.name).symlink_to(found)
    package = folder / "triton" / "__init__.py"  # a file of its own, since Triton's place is that of this file
    package.unlink()
    package.write_bytes((installed / "__init__.py").read_bytes())
    text = (installed / one).read_text(encoding="utf-8") + "\n\n" + MARKS.read_text(encoding="utf-8")
    (folder / "triton" / one).write_text(text, encoding="utf-8")
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": ":".join([str(folder), *([inherited] if inherited else [])])}


@pytest.fixture(scope="module")
def screened(tmp_path_factory: pytest.TempPathFactory, masked: dict[str, str]) -> Screen:
    """Roots for cuda:90, each made once; a switch of the test's Triton is screened with that."""

    @cache
    def screen(*arguments: str) -> Path:
        root = tmp_path_factory.mktemp("bisect") / "root"
        environment = masked if "ZL_TEST_ENHANCE" in arguments else None
        done = zl_bench("screen", "--root", root, "--target", "cuda:90", "--switch", *arguments, env=environment)
        assert (root / "screen.tsv").exists(), done.err
        return root

    return screen


def answer(done: Finished) -> list[str]:
    """What was found: the lines that are no steps."""
    assert done.code == 0, done.out + done.err
    return [line for line in done.out.splitlines()[1:] if not line.startswith("  ")]


def steps(done: Finished) -> list[str]:
    return [
        line.strip() for line in done.out.splitlines() if line.startswith("  ") and "makes the recorded" not in line
    ]


def with_mask(root: Path, masked: dict[str, str], log: Path, value: str, *arguments: str) -> Finished:
    return zl_bench(
        "bisect", root, "transpose:float16", "--mask", f"{MASK}={value}", "--log", log, *arguments, env=masked
    )


def test_occurrences_that_stand_in_for_each_other_are_said_to_act_together(screened: Screen) -> None:
    root = screened(f"pass:{LAYOUTS}", "transpose:float16")
    done = zl_bench("bisect", root, "transpose:float16")
    three = ", ".join(f"{LAYOUTS}@{number}" for number in (1, 2, 3))
    assert answer(done)[0] == f"{three} change the ttgir only together, none of them alone"
    assert "before: it makes the recorded ttir, ttgir" in done.out
    assert "no code of the suite runs" in done.err


def test_the_goal_speed_measures_those_occurrences_and_needs_a_card(screened: Screen, tmp_path: Path) -> None:
    root = screened(f"pass:{LAYOUTS}", "transpose:float16")
    subject = choose_subject(root, "transpose:float16", inherited=os.environ)
    parts = parts_to_measure(subject, None, tmp_path / "pipeline", 300.0)
    assert parts.names == tuple(f"{LAYOUTS}@{number}" for number in (1, 2, 3))
    assert parts.side(parts.names[:2]).dropped_pass == {"name": LAYOUTS, "occurrence": [1, 2]}
    done = zl_bench("bisect", root, "transpose:float16", "--goal", "speed", env={"PATH": str(tmp_path)})
    assert done.code == 3
    assert "No card was found" in done.err
    assert "`zl-bench bisect` without --goal speed" in done.err
    assert not list((root / "bisect").glob("*speed*"))


def test_a_step_that_is_in_the_log_is_not_compiled_again(screened: Screen) -> None:
    root = screened(f"pass:{LAYOUTS}", "transpose:float16")
    log = root / "bisect" / "mine.jsonl"
    first = zl_bench("bisect", root, "transpose:float16", "--goal", "code", "--log", log)
    lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
    log.write_text("".join(lines[:3]) + lines[3][:20], encoding="utf-8")  # as a kill leaves it
    again = zl_bench("bisect", root, "transpose:float16", "--goal", "code", "--log", log)
    assert answer(again)[:-1] == answer(first)[:-1]
    assert sum("(from the log)" in line for line in steps(again)) == 2
    assert [json.loads(line)["on"] for line in lines[1:3]] == [
        json.loads(line)["on"] for line in log.read_text(encoding="utf-8").splitlines()[1:3]
    ]
    other = zl_bench("bisect", root, "transpose:float16", "--goal", "ir", "--log", log)
    assert other.code == 2
    assert "another question" in other.err


def test_a_bit_that_acts_alone_is_named_in_few_steps(screened: Screen, masked: dict[str, str], tmp_path: Path) -> None:
    root = screened("ZL_TEST_ENHANCE", "transpose:float16", "--stages", "ttgir", "--env", f"{MASK}=4")
    done = with_mask(root, masked, tmp_path / "log", "0xc4")
    assert answer(done)[0] == f"{MASK} bit 2 (0x4) alone changes the ttgir, into what all parts make of it"
    assert f"without it, {MASK} bit 6 (0x40), {MASK} bit 7 (0x80) do not" in answer(done)
    # No bit at all, all bits, then at most 2 + log2(3) steps.
    assert len(steps(done)) <= 2 + 4


def test_bits_that_act_only_together_and_only_apart_are_said_to(
    screened: Screen, masked: dict[str, str], tmp_path: Path
) -> None:
    root = screened("ZL_TEST_ENHANCE", "transpose:float16", "--stages", "ttgir", "--env", f"{MASK}=4")
    together = with_mask(root, masked, tmp_path / "together", "73")
    assert answer(together)[0].startswith(
        f"{MASK} bit 0 (1), {MASK} bit 3 (8) change the ttgir only together, none of them alone"
    )
    apart = with_mask(root, masked, tmp_path / "apart", "18")
    assert answer(apart)[0] == (
        f"all parts together do not; apart from the others {MASK} bit 1 (2), {MASK} bit 4 (16) each change the ttgir"
    )
    nothing = with_mask(root, masked, tmp_path / "nothing", "192")
    assert answer(nothing)[0] == "no part changes the ttgir: not all of them together, and none alone"


def test_the_bit_that_breaks_a_kernel_is_named(screened: Screen, masked: dict[str, str], tmp_path: Path) -> None:
    root = screened("ZL_TEST_ENHANCE", "transpose:float16", "--stages", "ttgir", "--env", f"{MASK}=63")
    done = with_mask(root, masked, tmp_path / "log", "63")
    assert "goal broken" in done.out
    assert answer(done)[0] == f"{MASK} bit 5 (32) alone breaks it"
    ir = with_mask(root, masked, tmp_path / "ir", "63", "--goal", "ir")
    assert ir.code == 2
    assert "The goal broken finds what breaks it" in ir.err


def test_variables_that_act_only_together_are_said_to(screened: Screen, masked: dict[str, str]) -> None:
    root = screened("ZL_TEST_ENHANCE", "transpose:float16", "--stages", "ttgir", "--env-after", f"{MASK}=4")
    done = zl_bench("bisect", root, "transpose:float16", env=masked)
    assert answer(done)[0] == f"ZL_TEST_ENHANCE=1, {MASK}=4 change the ttgir only together, none of them alone"


def test_a_switch_that_acts_in_the_frontend_is_not_told_by_its_parts(screened: Screen) -> None:
    root = screened("TRITON_F32_DEFAULT=ieee..tf32x3", "matmul:float32", "--env-after", "SOMETHING_ELSE=1")
    done = zl_bench("bisect", root, "matmul:float32")
    assert done.code == 2
    assert "acts before the first pass" in done.err
    assert "nothing to divide" not in done.err
    assert f"`zl-bench trace {root} matmul:float32 --row 1` shows" in done.err
    one = zl_bench("bisect", screened("TRITON_F32_DEFAULT=ieee..tf32x3", "matmul:float32"), "matmul:float32")
    assert one.code == 2
    assert "The sides differ in TRITON_F32_DEFAULT=tf32x3 alone, so there is nothing to divide." in one.err


def test_a_switch_of_one_part_is_that_part_if_it_acts(screened: Screen) -> None:
    root = screened("pass:coalesce", "transpose:float16")
    done = zl_bench("bisect", root, "transpose:float16")
    assert answer(done) == [
        "coalesce@1, the switch's only part, changes the ttgir",
        "1 set of 1 part tried; 2 compiles now",
    ]
    assert steps(done) == ["coalesce@1: changed"]
    idle = zl_bench("bisect", screened(f"pass:{LAYOUTS}@1", "transpose:float16"), "transpose:float16")
    assert answer(idle)[0] == f"{LAYOUTS}@1, the switch's only part, does not: nothing here changes the ttgir"


def test_a_switch_without_a_part_is_refused(screened: Screen) -> None:
    root = screened("TRITON_F32_DEFAULT=ieee..ieee", "transpose:float16", "--stages", "ttgir")
    done = zl_bench("bisect", root, "transpose:float16")
    assert done.code == 2
    assert "nothing to divide: the two sides of TRITON_F32_DEFAULT=ieee..ieee differ in no variable" in done.err


def test_what_is_no_mask_is_refused(screened: Screen) -> None:
    root = screened(f"pass:{LAYOUTS}", "transpose:float16")
    for text, words in (
        ("WORD", "is no mask"),
        ("A=b", "is no mask"),
        ("A=0", "no bits"),
        ("PYTHONPATH=1", "can not be"),
    ):
        refused = zl_bench("bisect", root, "transpose:float16", "--mask", text)
        assert refused.code == 2
        assert words in refused.err
