"""`screen --axis`, `--ops` and `--all`: what they make of the command line, up to the point where processes would start."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from zl_bench.cli import screen as command
from zl_bench.errors import UsageError
from zl_bench.workflow.screen import ScreenPlan


class Planned(Exception):
    """Carries the plan out of the command instead of running it."""

    def __init__(self, plan: ScreenPlan):
        self.plan = plan


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """The plan of `screen --target cuda:90 …` in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def stop(plan, console):
        raise Planned(plan)

    monkeypatch.setattr(command, "_run", stop)

    def run(*arguments: str) -> ScreenPlan:
        result = CliRunner().invoke(command.screen, ["--target", "cuda:90", *arguments])
        if isinstance(result.exception, Planned):
            return result.exception.plan
        assert result.exception is not None
        raise result.exception

    return run


def test_the_axis_that_ships_with_the_tool(plan) -> None:
    made = plan("--axis", "rlc", "vector_add")
    assert made.switch.text == "FLAGTREE_RLC_ENHANCE"
    assert made.root.name.startswith("ab_rlc_")


def test_the_axis_takes_the_vendor_s_segment(plan) -> None:
    assert plan("--axis", "rlc", "--vendor", "metax").switch.text == "FLAGTREE_METAX_RLC_ENHANCE"
    assert plan("--axis", "rlc", "--vendor-segment", "ACME").switch.text == "FLAGTREE_ACME_RLC_ENHANCE"
    with pytest.raises(UsageError, match="--vendor-segment"):
        plan("--axis", "rlc", "--vendor", "amd")


def test_an_axis_of_the_user_s_own_is_three_lines_in_the_file(plan, tmp_path: Path) -> None:
    (tmp_path / "zl-bench.toml").write_text('[axis.dots]\nswitch = "TRITON_F32_DEFAULT=ieee..tf32"\nnote = "x"\n')
    made = plan("--axis", "dots")
    assert (made.switch.name, made.switch.before, made.switch.after) == ("TRITON_F32_DEFAULT", "ieee", "tf32")
    assert made.root.name.startswith("ab_dots_")


def test_the_file_s_vendor_and_python_count_unless_a_flag_says_otherwise(plan, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    (tmp_path / "zl-bench.toml").write_text('python = "./python"\nvendor = "hygon"\n')
    made = plan("--axis", "rlc")
    assert (made.backend.name, made.interpreter) == ("hygon", python)
    assert plan("--axis", "rlc", "--vendor", "thead").backend.name == "thead"


@pytest.mark.parametrize("arguments", [[], ["--axis", "rlc", "--switch", "A"]])
def test_exactly_one_of_switch_and_axis(plan, arguments: list[str]) -> None:
    with pytest.raises(UsageError, match="either --switch SWITCH or --axis NAME"):
        plan(*arguments)


def test_an_unknown_axis(plan, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no axis 'rcl'"):
        plan("--axis", "rcl")
    assert not (tmp_path / "runs").exists(), "a mistake leaves no folder"


def test_operators_from_a_file_join_those_of_the_command_line(plan, tmp_path: Path) -> None:
    (tmp_path / "ops").write_text("matmul  # the autotuned one\nvector_add:float16\n")
    made = plan("--switch", "A", "--ops", "ops", "transpose", "matmul")
    assert [entry.text for entry in made.entries] == ["transpose", "matmul", "vector_add:float16"]


def test_all_is_the_whole_suite_and_nothing_beside_it(plan, tmp_path: Path) -> None:
    assert plan("--switch", "A", "--all").entries == plan("--switch", "A").entries
    (tmp_path / "ops").write_text("matmul\n")
    for arguments in (["matmul"], ["--ops", "ops"]):
        with pytest.raises(UsageError, match="--all is the whole suite"):
            plan("--switch", "A", "--all", *arguments)


def test_the_axis_and_several_matches_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / "suite" / folder).mkdir(parents=True)
        (tmp_path / "suite" / folder / f"test_{folder}.py").write_text("def test_add():\n    pass\n")

    def stop(plan, console):
        raise Planned(plan)

    monkeypatch.setattr(command, "_run", stop)
    base = ["--target", "cuda:90", "--suite", "suite"]
    said = CliRunner().invoke(command.screen, [*base, "--axis", "rlc", "add"]).output
    assert "axis rlc: FLAGTREE_{VENDOR}_RLC_ENHANCE (FlagTree's enhanced" in said
    assert "add matches 2 tests, which all run: a/test_a.py::test_add, b/test_b.py::test_add" in said
    assert CliRunner().invoke(command.screen, [*base, "--switch", "A"]).output == ""
