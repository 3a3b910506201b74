"""`zl-bench export`: where the files go, and what is said of what it can not do."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.analysis.made_rounds import row
from tests.cli.test_judge import write
from zl_bench.cli import export as command
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.workflow.export import FORMATS

BEFORE = "BenchmarkRow/operator=mm/dtype=float16/detail=64 1 2000000 ns/op\n"
AFTER = "BenchmarkRow/operator=mm/dtype=float16/detail=64 1 1000000 ns/op\n"


def invoke(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command.export, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def rounds(tmp_path: Path) -> Path:
    return write(tmp_path / "rounds.jsonl", row([2.0], [1.0]))


def test_one_side_goes_to_standard_output(rounds: Path) -> None:
    assert invoke(rounds, "--format", "benchfmt", "--side", "before").stdout == BEFORE
    assert invoke(rounds, "--format", "benchfmt", "--side", "after").stdout == AFTER


def test_one_side_goes_to_a_file(rounds: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "old.txt"
    assert invoke(rounds, "--format", "benchfmt", "--side", "before", "-o", path).stdout == f"{path} is written\n"
    assert path.read_text() == BEFORE


def test_both_sides_go_to_a_folder_and_the_comparison_is_named(rounds: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    printed = invoke(rounds, "--format", "benchfmt", "--output", folder).stdout
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"before.txt": BEFORE, "after.txt": AFTER}
    assert printed.endswith(f": benchstat {folder}/before.txt {folder}/after.txt\n")
    for form in ("pyperf", "google-benchmark"):
        invoke(rounds, "--format", form, "--output", folder)
        assert (folder / f"before.{form}.json").exists() and (folder / f"after.{form}.json").exists()


def test_a_measured_root_is_read_by_its_rounds(tmp_path: Path) -> None:
    write(tmp_path / "measure.jsonl", row([2.0], [1.0]))
    assert invoke(tmp_path, "--format", "benchfmt", "--side", "before").stdout == BEFORE


def test_a_root_that_was_only_screened_says_what_makes_rounds() -> None:
    root = Path(__file__).parents[1] / "reports" / "data" / "recorded_screen"
    with pytest.raises(UsageError) as refused:
        invoke(root, "--format", "benchfmt", "--side", "before")
    assert str(refused.value) == (
        f"{root} was screened and not measured, so it has no rounds. On a card, `zl-bench measure {root}` makes them."
    )


def test_bad_lines_are_named_beside_the_text(tmp_path: Path) -> None:
    path = write(tmp_path / "rounds.jsonl", row([2.0], [1.0]), "half a li")
    result = invoke(path, "--format", "benchfmt", "--side", "before")
    assert (result.stdout, result.exit_code) == (BEFORE, 0)
    assert "line 3: no JSON" in result.stderr


def test_what_can_not_be_done_says_what_to_do(rounds: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="name their folder with --output, or one side with --side"):
        invoke(rounds, "--format", "benchfmt")
    with pytest.raises(UsageError, match="no median of the after side"):
        invoke(write(tmp_path / "one.jsonl", row([2.0], [])), "--format", "benchfmt", "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UsageError, match=r"no measured root \(measure\.jsonl is not there\)"):
        invoke(tmp_path, "--format", "benchfmt", "--side", "before")
    with pytest.raises(EnvironmentUnfit, match="name another place with --output"):
        invoke(rounds, "--format", "benchfmt", "-o", rounds)


def test_the_formats_of_the_command_are_those_that_are_written() -> None:
    assert set(command.FORMATS) == FORMATS.keys()
