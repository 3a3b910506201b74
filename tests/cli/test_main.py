"""The command's edge: errors become messages and exit codes, never tracebacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

import zl_bench
from zl_bench.cli import main as edge
from zl_bench.errors import DeadAxis, EnvironmentUnfit, UsageError, ZlBenchError

PROMISED = {
    "screen": ["--switch", "--env", "--env-before", "--env-after", "--target", "--suite", "--root", "--resume", "--jobs",
               "--timeout", "--stages", "--configs", "--pins", "--self-check", "--force", "--fail-on", "OPERATOR[:DTYPE]"],
    "irdiff": ["A", "B"],
    "show": ["ROOT", "OPERATOR", "--row", "--stage"],
    "ops": ["--suite"],
    "doctor": ["--target", "--switch"],
}  # fmt: skip


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    """The exit status of the command, whose edge is in the same process."""
    monkeypatch.setattr(sys, "argv", ["zl-bench", *arguments])
    with pytest.raises(SystemExit) as end:
        edge.main()
    return int(end.value.code or 0)


@pytest.fixture
def raising(monkeypatch: pytest.MonkeyPatch):
    """Make `zl-bench ops` raise; gives its exit status."""

    def run(error: BaseException) -> int:
        def callback() -> None:
            raise error

        monkeypatch.setitem(edge.cli.commands, "ops", click.Command("ops", callback=callback))
        return ended(monkeypatch, "ops")

    return run


@pytest.mark.parametrize("command", PROMISED)
def test_help_names_what_was_promised(command: str) -> None:
    result = CliRunner().invoke(edge.cli, [command, "--help"])
    assert result.exit_code == 0
    words = result.output.replace(",", " ").replace("[[", "[").split()
    for option in PROMISED[command]:
        assert any(word.strip("[].") == option.strip("[].") for word in words), option


def test_help_of_the_whole() -> None:
    result = CliRunner().invoke(edge.cli, ["-h"])
    assert result.exit_code == 0
    assert all(f"  {command} " in result.output for command in PROMISED)


def test_screen_s_help_has_the_exit_codes() -> None:
    output = " ".join(CliRunner().invoke(edge.cli, ["screen", "--help"]).output.split())
    for words in (
        "0 done",
        "1 a run failed",
        "2 bad usage",
        "3 this",
        "4 the compiler",
        "10 a verdict",
        "130 interrupted",
    ):
        assert words in output


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("why"), 2), (EnvironmentUnfit("why"), 3), (DeadAxis("why"), 4), (ZlBenchError("why"), 1)],
)
def test_an_error_of_the_family(raising, capsys: pytest.CaptureFixture[str], error: ZlBenchError, code: int) -> None:
    assert raising(error) == code
    assert capsys.readouterr().err == "zl-bench: why\n"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort()])
def test_an_interruption(raising, capsys: pytest.CaptureFixture[str], error: BaseException) -> None:
    assert raising(error) == 130
    assert "interrupted" in capsys.readouterr().err


def test_a_full_disk_somewhere_is_the_environment_s_fault(raising, capsys: pytest.CaptureFixture[str]) -> None:
    assert raising(OSError(28, "No space left on device", "/root/x")) == 3
    told = capsys.readouterr().err
    assert "No space left on device" in told
    assert "--resume" in told
    assert "Traceback" not in told


def test_a_mistake_of_the_tool_itself_is_not_hidden(raising) -> None:
    with pytest.raises(ZeroDivisionError):
        raising(ZeroDivisionError())


@pytest.mark.parametrize("code", [0, 1, 10])
def test_a_command_s_own_exit_code(raising, code: int) -> None:
    assert raising(SystemExit(code)) == code


def test_irdiff_s_exit_code_comes_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert ended(monkeypatch, "irdiff", str(tmp_path / "a.ttgir"), str(tmp_path / "b.ttgir")) == 2


@pytest.mark.parametrize(
    "arguments",
    [["nonsense"], ["--nonsense"], ["screen", "--switch"], ["screen", "--nonsense"], ["ops", "extra"], ["show"],
     ["irdiff", "a"], ["doctor", "--target"]],
)  # fmt: skip
def test_bad_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert ended(monkeypatch, *arguments) == 2
    told = capsys.readouterr().err
    assert "Error: " in told
    assert "Traceback" not in told


def test_help_and_version_are_no_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(monkeypatch, "--help") == 0
    assert ended(monkeypatch, "--version") == 0
    assert zl_bench.__version__ in capsys.readouterr().out


def piped(*arguments: str) -> tuple[int, str]:
    """Run the command with a standard output that nobody reads."""
    read, write = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "zl_bench", *arguments], stdout=write, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(write)
    return done.returncode, done.stderr


def test_a_reader_that_has_gone_gets_no_traceback_and_no_code_of_another_meaning(tmp_path: Path) -> None:
    assert piped("ops") == (130, "")
    (tmp_path / "a.x").write_text("a")
    assert piped("irdiff", str(tmp_path / "a.x"), str(tmp_path / "a.x")) == (130, "")
