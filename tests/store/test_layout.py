from __future__ import annotations

import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.store.layout import (
    PART_LIMIT,
    axis_name,
    hold_root,
    new_default_root,
    operator_folder,
    run_directory,
    safe_name,
)

NOW = datetime(2026, 1, 2, 3, 4, 5)
ROOT = Path("/r")
# Text that is likely to collide: short, with the characters that the naming itself uses.
tricky = st.text(alphabet="aAbB%h.~_-/0 é\x00", max_size=6) | st.text(max_size=300)
dtypes = st.none() | tricky


@given(tricky, tricky)
@example("Add", "add")
@example("a.b", "a%2Eb")
@example("x" * 101, "x" * 102)
@example("\ud800", "?")
@example("", "%h")
def test_names_are_injective_even_where_case_is_folded(one: str, other: str) -> None:
    assert (safe_name(one).casefold() == safe_name(other).casefold()) == (one == other)


@given(tricky)
def test_names_are_safe_and_bounded(text: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_%-]+", safe_name(text))
    assert len(safe_name(text)) <= PART_LIMIT


@given(
    tricky, dtypes, tricky, dtypes, st.sampled_from(["before", "after", "again"]), st.sampled_from(["before", "after"])
)
def test_operator_folders_are_injective(one, one_dtype, other, other_dtype, side, other_side) -> None:  # type: ignore[no-untyped-def]
    left = operator_folder(ROOT, one, one_dtype, side)
    right = operator_folder(ROOT, other, other_dtype, other_side)
    same = (one, one_dtype, side) == (other, other_dtype, other_side)
    assert (left.name.casefold() == right.name.casefold()) == same
    assert left.parent == ROOT
    assert len(left.name) < 255


def test_ordinary_names_stay_readable() -> None:
    assert run_directory(ROOT, "matmul", None, "before") == ROOT / "matmul_before"
    assert run_directory(ROOT, "fft", "complex64", "after") == ROOT / "fft.complex64_after"
    below = run_directory(ROOT, "fft", None, "after", "t.py::t[8]", several=True)
    assert below == ROOT / "fft_after" / "t%2Epy%3A%3At%5B8%5D"
    with pytest.raises(ValueError, match="needs its name"):
        run_directory(ROOT, "fft", None, "after", several=True)


@pytest.mark.parametrize(
    ("axis", "name"),
    [
        ("pass:pipeline@2", "pass-pipeline-2"),
        ("TRITON_F32_DEFAULT=ieee..tf32", "TRITON_F32_DEFAULT-ieee-tf32"),
        ("build:/a/b..", "build-a-b"),
        ("/../..", "axis"),
        ("", "axis"),
    ],
)
def test_axis_names_are_readable(axis: str, name: str) -> None:
    assert axis_name(axis) == name


@given(st.text())
def test_axis_names_are_safe(axis: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,60}", axis_name(axis))


def test_runs_without_an_axis_have_a_root_of_their_own(tmp_path: Path) -> None:
    roots = [new_default_root(tmp_path / "runs", None, NOW) for _ in range(2)]
    assert [root.name for root in roots] == ["run_20260102-030405", "run_20260102-030405-2"]


def test_two_screens_of_one_second_get_different_roots(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    roots = [new_default_root(runs, "X", NOW) for _ in range(3)]
    assert [root.name for root in roots] == ["ab_X_20260102-030405", "ab_X_20260102-030405-2", "ab_X_20260102-030405-3"]
    assert all(root.is_dir() for root in roots)


def test_a_root_that_can_not_be_made_names_the_flag(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for runs in (tmp_path / "file", tmp_path / "file" / "runs"):
        with pytest.raises(EnvironmentUnfit, match="--root"):
            new_default_root(runs, "X", NOW)


def test_a_held_root_is_refused_and_free_again_afterwards(tmp_path: Path) -> None:
    with hold_root(tmp_path), pytest.raises(UsageError, match="another screen is running"), hold_root(tmp_path):
        pass
    with hold_root(tmp_path):
        pass


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys, time; from zl_bench.store.layout import hold_root\n"
        "with hold_root(pathlib.Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError), hold_root(tmp_path):
            pass
    finally:
        holder.kill()
        holder.communicate()
    with hold_root(tmp_path):
        pass


def test_a_root_that_can_not_be_locked_is_unfit(tmp_path: Path) -> None:
    (tmp_path / "screen.lock").mkdir()
    with pytest.raises(EnvironmentUnfit, match="can not lock"), hold_root(tmp_path):
        pass
