"""Which cards a machine has, by what simulated commands say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fleet.simulated import says, simulated_cards
from zl_bench.backends.base import DeviceBackend
from zl_bench.backends.status import queried_csv
from zl_bench.backends.vendors import backend_named
from zl_bench.fleet import cards as module
from zl_bench.fleet.cards import Card, ask, find_vendor, list_cards, processes_on

LISTED = "0, GPU-aa, Simulated H1, 00000000:0A:00.0\n1, GPU-bb, Simulated, dual, 00000000:0B:00.0\n"


def test_cards_are_listed_by_the_vendor_s_command(tmp_path: Path) -> None:
    simulated = simulated_cards(tmp_path)
    assert list_cards(simulated.backend, ask(simulated.environment)) == simulated.cards


def test_what_a_card_is_called() -> None:
    card = Card("nvidia", 1, "GPU-aa", "Simulated H1", "00000000:0B:00.0")
    assert (card.selector, card.identity, card.label) == ("GPU-aa", "nvidia-GPU-aa", "card1")
    assert str(card) == "card 1 (Simulated H1, GPU-aa)"


def test_a_card_without_a_uuid_is_known_by_its_place() -> None:
    assert Card("amd", 2).selector == "2"
    assert Card("amd", 2).identity == "amd-2"
    assert Card("amd", 2, pci="0000:0B:00.0").identity == "amd-0000-0B-00.0"
    assert str(Card("amd", 2)) == "card 2 (amd)"


def test_the_list_of_nvidia_s_command() -> None:
    first, second = list_cards(backend_named("nvidia"), says({"nvidia-smi": LISTED})) or ()
    assert first == Card("nvidia", 0, "GPU-aa", "Simulated H1", "00000000:0A:00.0")
    assert (second.uuid, second.name) == ("GPU-bb", "Simulated, dual")


def test_where_no_uuid_is_told_the_status_has_the_numbers() -> None:
    backend = backend_named("iluvatar")
    assert backend.read_status is queried_csv
    cards = list_cards(backend, says({"ixsmi": "0, Simulated BI, 257, 32768, 0\n"}))
    assert cards == (Card("iluvatar", 0, name="Simulated BI"),)


def test_cards_that_nobody_can_list_are_not_none() -> None:
    backend = backend_named("tsingmicro")
    assert list_cards(backend, says({"tsm_smi": "a table of its own"})) is None
    assert list_cards(backend, says({})) == ()
    assert list_cards(backend_named("arm"), says({})) == ()


@pytest.mark.parametrize("text", ["", "No devices were found\n", "NVIDIA-SMI has failed because …"])
def test_a_command_without_a_card(text: str) -> None:
    assert list_cards(backend_named("nvidia"), says({"nvidia-smi": text})) == ()


def test_the_first_vendor_with_a_card(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    simulated = simulated_cards(tmp_path)
    none = DeviceBackend(name="none", segment=None)
    monkeypatch.setattr(module, "all_backends", lambda: (none, backend_named("nvidia"), simulated.backend))
    assert find_vendor(ask(simulated.environment)) == (simulated.backend, simulated.cards)
    assert find_vendor(ask({"PATH": "/nowhere"})) is None


def test_a_command_that_fails_or_talks_nonsense_says_nothing(tmp_path: Path) -> None:
    for name, body in [("fails", "echo 0, A, B, C; exit 9"), ("binary", r"printf '\377\376'"), ("dies", "kill -9 $$")]:
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
        assert ask({"PATH": f"{tmp_path}:/bin"})([name]) is None
    (tmp_path / "no-program").write_text("\x00")
    (tmp_path / "no-program").chmod(0o755)
    assert ask({"PATH": str(tmp_path)})(["no-program"]) is None


def test_a_command_that_hangs_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE", 0.1)
    (tmp_path / "hangs").write_text("#!/bin/sh\nexec sleep 30\n")
    (tmp_path / "hangs").chmod(0o755)
    assert ask({"PATH": f"{tmp_path}:/bin:/usr/bin"})(["hangs"]) is None


def test_the_processes_of_one_card(tmp_path: Path) -> None:
    simulated = simulated_cards(tmp_path)
    simulated.used_by((0, 11, "a"), (1, 12, "b"), (0, 13, "c"))
    run = ask(simulated.environment)
    found = processes_on(simulated.cards[0], simulated.backend, run)
    assert [(process.pid, process.name, process.used_mib) for process in found or ()] == [
        (11, "a", 512),
        (13, "c", 512),
    ]
    simulated.used_by()
    assert processes_on(simulated.cards[0], simulated.backend, run) == ()


def test_who_uses_a_card_may_be_unknown(tmp_path: Path) -> None:
    simulated = simulated_cards(tmp_path)
    assert processes_on(simulated.cards[0], simulated.backend, says({})) is None
    assert processes_on(simulated.cards[0], backend_named("amd"), says({})) is None
    assert processes_on(Card("simulated", 0), simulated.backend, ask(simulated.environment)) is None
