"""`zl-bench irdiff`: words, counts, diff and exit status."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from zl_bench.cli.irdiff import irdiff

MODULE = """\
#loc = loc("{path}":1:2)
module attributes {{"ttg.num-warps" = {warps} : i32}} {{
  tt.func public @k(%{name}: i32 loc(#loc)) {{
    %0 = ttg.convert_layout %{name} : i32 -> i32 loc(#loc)
    x.use {value} loc(#loc)
    tt.return
  }}
}}
"""


def write(path: Path, *, source: str = "/a.py", name: str = "x", value: str = "%0", warps: int = 4) -> Path:
    path.write_text(MODULE.format(path=source, name=name, value=value, warps=warps))
    return path


def run(*arguments: object) -> Result:
    return CliRunner().invoke(irdiff, [str(argument) for argument in arguments])


def test_the_same_code_from_another_place_is_same(tmp_path: Path) -> None:
    a = write(tmp_path / "a.ttgir")
    b = write(tmp_path / "b.ttgir", source="/elsewhere.py", name="renamed")
    result = run(a, b)
    assert result.exit_code == 0
    assert result.output.splitlines() == ["SAME", f"convert_layout: 1 in {a}, 1 in {b}"]


def test_different_code_shows_a_diff(tmp_path: Path) -> None:
    a = write(tmp_path / "a.ttgir")
    b = write(tmp_path / "b.ttgir", value="%x")
    result = run(a, b)
    assert result.exit_code == 1
    assert result.output.startswith("DIFFERENT\n")
    assert "-    x.use %convert_layout.0\n+    x.use %arg.0\n" in result.output
    assert "attributes only" not in result.output


def test_attributes_only_is_said(tmp_path: Path) -> None:
    result = run(write(tmp_path / "a.ttgir"), write(tmp_path / "b.ttgir", warps=8))
    assert result.exit_code == 1
    assert "attributes only" in result.output


@pytest.mark.parametrize("content", ["", "module {", "\x7fELF\x00"])
def test_an_unreadable_file_is_2_and_named(tmp_path: Path, content: str) -> None:
    good, bad = write(tmp_path / "a.ttgir"), tmp_path / "bad.ttgir"
    bad.write_text(content)
    for arguments in ((good, bad), (bad, good), (bad, bad)):
        result = run(*arguments)
        assert result.exit_code == 2
        assert str(bad) in result.output
        assert "SAME" not in result.output
        assert "Traceback" not in result.output


def test_a_missing_file_is_2(tmp_path: Path) -> None:
    result = run(write(tmp_path / "a.ttgir"), tmp_path / "absent.ttgir")
    assert result.exit_code == 2
    assert "No such file" in result.output
    assert run(tmp_path, tmp_path).exit_code == 2


def test_files_of_two_stages_are_2_unless_told(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.ttgir"), write(tmp_path / "b.ttir")
    result = run(a, b)
    assert result.exit_code == 2
    assert "only files of one stage" in result.output
    assert run("--stage", "ttgir", a, b).exit_code == 0


def test_a_file_without_a_suffix_needs_stage(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a"), write(tmp_path / "b")
    assert run(a, b).exit_code == 2
    assert run(a, b, "--stage", "ttgir").exit_code == 0


def test_an_unknown_stage_is_compared_byte_for_byte(tmp_path: Path) -> None:
    a, b = write(tmp_path / "a.novel"), write(tmp_path / "b.novel", source="/b.py")
    result = run(a, b)
    assert result.exit_code == 1
    assert "byte for byte" in result.output
