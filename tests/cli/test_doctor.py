"""`zl-bench doctor`: its lines and its exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from zl_bench.cli import doctor as command
from zl_bench.errors import UsageError
from zl_bench.workflow.doctor import Finding

GOOD = Finding("triton", True, "3.6.0")
BAD = Finding("torch", False, "can not be imported", "pip install torch")
DEAD = Finding("switch", False, "nobody knows it", "check the name")


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch):
    """Run the command on given findings; gives its result and what was asked."""
    asked: list[Any] = []

    def run(findings: tuple[Finding, ...], *arguments: str) -> Result:
        async def diagnose(*what: object) -> tuple[Finding, ...]:
            asked.append(what)
            return findings

        monkeypatch.setattr(command, "diagnose", diagnose)
        result = CliRunner().invoke(command.doctor, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return run, asked


def test_every_finding_is_a_line_with_its_remedy(doctor) -> None:
    run, _ = doctor
    lines = run((GOOD, BAD)).output.splitlines()
    assert lines == ["ok   triton: 3.6.0.", "BAD  torch: can not be imported. Remedy: pip install torch"]


@pytest.mark.parametrize(
    ("findings", "code"), [((), 0), ((GOOD,), 0), ((GOOD, BAD), 3), ((GOOD, DEAD), 4), ((BAD, DEAD), 3)]
)
def test_exit_codes(doctor, findings: tuple[Finding, ...], code: int) -> None:
    """3 comes before 4."""
    run, _ = doctor
    assert run(findings).exit_code == code


def test_what_is_asked(doctor) -> None:
    run, asked = doctor
    run((), "--target", "hip:gfx942", "--switch", "X_{VENDOR}", "--vendor-segment", "AMD")
    (interpreter, target, backend, switch) = asked[0]
    assert interpreter.is_file()
    assert (target, backend.name, switch.name) == ("hip:gfx942", "amd", "X_AMD")
    run(())
    assert asked[1][1:] == ("cuda:90", command.backend_named("nvidia"), None)


@pytest.mark.parametrize(
    "arguments",
    [["--target", "nothing:1"], ["--switch", "1X"], ["--vendor", "nobody"], ["--python", "absent"],
     ["--target", "hip:gfx942", "--switch", "X_{VENDOR}"]],
)  # fmt: skip
def test_bad_usage_is_found_before_anything_is_started(
    doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run, asked = doctor
    with pytest.raises(UsageError):
        run((), *arguments)
    assert asked == []
