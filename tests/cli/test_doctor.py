"""`zl-bench doctor`: what it looks at, its lines and its exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tests.fleet.simulated import MASK, SimulatedCards, simulated_cards
from zl_bench.backends import vendors
from zl_bench.backends.vendors import BACKENDS, backend_named
from zl_bench.cli import cards as card_options
from zl_bench.cli import doctor as command
from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.fleet import cards as fleet_cards
from zl_bench.workflow.doctor import Finding
from zl_bench.workflow.doctor_cards import CardQuestion

GOOD = Finding("triton", True, "3.6.0")
BAD = Finding("torch", False, "can not be imported", "pip install torch")
DEAD = Finding("switch", False, "nobody knows it", "check the name")
TARGET = ("--target", "cuda:90")


@pytest.fixture(autouse=True)
def no_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No vendor's command is found, and nothing names a vendor."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", *vendors.FLAGGEMS_VENDOR):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def two_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimulatedCards:
    """Two cards of a vendor of their own."""
    simulated = simulated_cards(tmp_path / "machine")
    table = (*BACKENDS, simulated.backend)
    for module in (vendors, card_options, fleet_cards):
        monkeypatch.setattr(module, "all_backends", lambda: table)
    only = tmp_path / "bin"
    only.mkdir()
    (only / "cat").symlink_to("/bin/cat")
    monkeypatch.setenv("PATH", f"{simulated.folder}:{only}")
    return simulated


class Doctor:
    """Runs the command on given findings, and keeps what was asked for."""

    def __init__(self) -> None:
        self.findings: tuple[Finding, ...] = ()
        self.targets: list[Any] = []
        self.questions: list[CardQuestion] = []

    async def diagnose(self, *what: object) -> tuple[Finding, ...]:
        self.targets.append(what)
        return self.findings

    async def diagnose_cards(self, question: CardQuestion) -> tuple[Finding, ...]:
        self.questions.append(question)
        return self.findings

    def __call__(self, findings: tuple[Finding, ...], *arguments: str) -> Result:
        self.findings = findings
        result = CliRunner().invoke(command.doctor, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result


@pytest.fixture
def doctor(monkeypatch: pytest.MonkeyPatch) -> Doctor:
    doctor = Doctor()
    monkeypatch.setattr(command, "diagnose", doctor.diagnose)
    monkeypatch.setattr(command, "diagnose_cards", doctor.diagnose_cards)
    return doctor


def test_every_finding_is_a_line_with_its_remedy(doctor: Doctor) -> None:
    lines = doctor((GOOD, BAD), *TARGET).output.splitlines()
    assert lines == ["ok   triton: 3.6.0.", "BAD  torch: can not be imported. Remedy: pip install torch"]


@pytest.mark.parametrize(
    ("findings", "code"), [((), 0), ((GOOD,), 0), ((GOOD, BAD), 3), ((GOOD, DEAD), 4), ((BAD, DEAD), 3)]
)
def test_exit_codes(doctor: Doctor, findings: tuple[Finding, ...], code: int) -> None:
    """3 comes before 4."""
    assert doctor(findings, *TARGET).exit_code == code


def test_what_is_asked_about_a_target(doctor: Doctor) -> None:
    doctor((), "--target", "hip:gfx942", "--switch", "X_{VENDOR}", "--vendor-segment", "AMD")
    (interpreter, target, backend, switch) = doctor.targets[0]
    assert interpreter.is_file()
    assert (target, backend.name, switch.name) == ("hip:gfx942", "amd", "X_AMD")


def test_without_a_card_a_target_is_looked_at_and_that_is_said(doctor: Doctor) -> None:
    result = doctor((GOOD,))
    assert result.exit_code == 0
    assert doctor.targets[0][1:] == ("cuda:90", backend_named("nvidia"), None)
    said = result.output.splitlines()[0]
    assert said.startswith("ok   cards: No card was found (looked with nvidia-smi, ")
    assert "--target cuda:90" in said
    assert said.endswith("Here cuda:90 is looked at.")
    doctor((), "--vendor", "mthreads")
    assert doctor.targets[1][1:] == ("cuda:90", backend_named("mthreads"), None)


def test_the_first_card_is_looked_at(doctor: Doctor, two_cards: SimulatedCards) -> None:
    assert doctor((GOOD,), "--switch", "X_{VENDOR}").exit_code == 0
    (question,) = doctor.questions
    assert (question.backend, question.cards) == (two_cards.backend, two_cards.cards[:1])
    assert question.switch is not None
    assert question.switch.name == "X_SIM"
    assert "PATH" in question.inherited
    assert doctor.targets == []


def test_cards_may_be_chosen_and_a_mask_is_respected(
    doctor: Doctor, two_cards: SimulatedCards, monkeypatch: pytest.MonkeyPatch
) -> None:
    doctor((), "--cards", "all")
    doctor((), "--cards", "1")
    monkeypatch.setenv(MASK, "1")
    doctor(())
    assert [question.cards for question in doctor.questions] == [
        two_cards.cards,
        two_cards.cards[1:],
        two_cards.cards[1:],
    ]


def test_a_target_leaves_the_cards_alone(doctor: Doctor, two_cards: SimulatedCards) -> None:
    doctor((), *TARGET)
    assert (len(doctor.targets), doctor.questions) == (1, [])


@pytest.mark.parametrize("arguments", [(), ("--vendor", "simulated")])
def test_cards_that_a_mask_hides_are_a_finding(
    doctor: Doctor, two_cards: SimulatedCards, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv(MASK, "")
    result = doctor((GOOD,), *arguments)
    assert result.exit_code == 3
    assert result.output.startswith(f"BAD  cards: No card can be used: {MASK}= hides every card.")
    assert len(doctor.targets) == 1


def test_cards_that_are_asked_for_must_be_there(doctor: Doctor) -> None:
    with pytest.raises(EnvironmentUnfit, match="No card was found"):
        doctor((), "--cards", "0")
    assert (doctor.targets, doctor.questions) == ([], [])


@pytest.mark.parametrize(
    "arguments",
    [["--target", "nothing:1"], ["--target", "cuda:abc"], ["--switch", "1X"], ["--vendor", "nobody"], ["--python", "absent"],
     ["--target", "hip:gfx942", "--switch", "X_{VENDOR}"], ["--target", "cuda:90", "--cards", "0"]],
)  # fmt: skip
def test_bad_usage_is_found_before_anything_is_started(doctor: Doctor, arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        doctor((), *arguments)
    assert (doctor.targets, doctor.questions) == ([], [])


def test_a_card_that_there_is_not_is_bad_usage(doctor: Doctor, two_cards: SimulatedCards) -> None:
    with pytest.raises(UsageError, match="there is no card 2"):
        doctor((), "--cards", "2")
    assert doctor.questions == []
