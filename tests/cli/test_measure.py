"""`zl-bench measure`: what it asks of a root, how it runs a screen again, how it ends. Cards and sides are simulated."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.test_cards import nothing, simulated  # noqa: F401 - the fixture
from tests.fleet.simulated import SimulatedCards
from tests.workflow.simulated_measure import SimulatedRow, World
from tests.workflow.test_measure import Machine
from zl_bench.analysis.judgement import SpeedVerdict
from zl_bench.cli import main as edge
from zl_bench.cli import measure as command_module
from zl_bench.fleet import pool
from zl_bench.suites.base import Entry
from zl_bench.suites.named import load_suite
from zl_bench.workflow import measure as workflow
from zl_bench.workflow import screen as screen_workflow

ROWS = (SimulatedRow("slow", factor=1.05), *(SimulatedRow(f"same{number}", changed=False) for number in range(5)))


@dataclass
class Command:
    """Runs the command as a console would."""

    machine: Machine
    out: str = ""
    err: str = ""

    def __call__(self, *arguments: object) -> int:
        with pytest.MonkeyPatch.context() as patch, CliRunner().isolation() as streams:
            patch.setattr(sys, "argv", ["zl-bench", "measure", *map(str, arguments)])
            with pytest.raises(SystemExit) as end:
                edge.main()
            self.out, self.err = streams[0].getvalue().decode(), streams[1].getvalue().decode()
        assert "Traceback" not in self.err
        return int(end.value.code or 0)

    @property
    def root(self) -> Path:
        return self.machine.root


@pytest.fixture
def measure(simulated: SimulatedCards, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Command]:  # noqa: F811
    """A root of two operators, one changed and one not, of a suite that is really there."""
    monkeypatch.setattr(pool, "POLL", 0.01)
    monkeypatch.setattr(command_module, "no_stray_processes", nothing)
    for folder in ("triton", "benchmarks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "triton" / "knobs.py").write_text("SWITCH")
    (tmp_path / "benchmarks" / "test_all.py").write_text("def test_one(): pass\ndef test_two(): pass\n")
    world = World(tmp_path / "triton", {"one": ROWS, "two": ROWS[1:]})
    for module in (workflow, screen_workflow):
        monkeypatch.setattr(module, "SideServers", world.open)
    machine = Machine(tmp_path, world, simulated)
    entries = tuple(Entry(name, None, (f"test_all.py::test_{name}",)) for name in world.rows)
    suite = load_suite(str(tmp_path / "benchmarks"), None)
    interpreter = Path(sys.executable)
    machine.screen_plan = replace(
        machine.screen_plan,
        suite=suite,
        entries=entries,
        inherited=dict(simulated.environment),
        interpreter=interpreter,
    )
    machine.screen()
    yield Command(machine)


def test_a_measurement_ends_with_its_table_and_the_code_that_was_asked_for(measure: Command) -> None:
    assert measure(measure.root, "--rounds", "3", "--python", sys.executable) == 0
    assert "SLOWER" in measure.out
    assert "placebos: geometric mean" in measure.out
    assert measure.machine.table()["slow"]["verdict"] == "SLOWER"
    assert measure(measure.root, "--rounds", "3", "--python", sys.executable) == 2
    assert "--resume" in measure.err
    arguments = (measure.root, "--rounds", "3", "--resume", "--python", sys.executable)
    assert measure(*arguments, "--fail-on", "SLOWER") == 10
    assert measure(*arguments, "--fail-on", "FASTER") == 0


def test_the_screen_is_run_again_as_it_was_asked(measure: Command) -> None:
    measure.machine.world.given.clear()
    assert measure(measure.root, "--rounds", "1", "--timing", "queued", "--l2", "warm", "--python", sys.executable) == 0
    given = measure.machine.world.given[0]
    assert (given["suite"], given["rootdir"]) == ("benchmarks", str(measure.machine.screen_plan.suite.root))
    assert (given["target"], given["stages"], given["pins"]["mode"]) == (None, "all", "replay")
    assert given["timing"] == {"method": "queued", "l2": "warm", "baseline": False}
    assert "numerics" not in given
    plans = measure.machine.world.servers[-1].plans
    assert [plans[side].environment["SWITCH"] for side in ("before", "after")] == ["a", "b"]


def test_nothing_to_measure_is_said_and_needs_no_card(
    measure: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure.machine.screen_plan = replace(
        measure.machine.screen_plan, root=tmp_path / "alike", entries=measure.machine.screen_plan.entries[1:]
    )
    measure.machine.root = tmp_path / "alike"
    measure.machine.screen()
    monkeypatch.setenv("PATH", "/nowhere")
    assert measure(measure.root) == 0
    assert "Nothing to measure" in measure.out
    assert measure(measure.root, "two") == 3
    assert measure(measure.root, "nosuch") == 2
    assert "It has two" in measure.err


def test_a_screen_without_machine_code_does_not_say_that_it_is_the_same(measure: Command) -> None:
    record = measure.root / "screen.jsonl"
    record.write_text(record.read_text().replace('"machine_code":"differs"', '"machine_code":"-"'))
    assert measure(measure.root) == 0
    assert "1 IR_CHANGED operator may be: no machine code was recorded" in measure.out


def test_a_mirrored_measurement_needs_the_seed_of_the_other(measure: Command) -> None:
    assert measure(measure.root, "--mirrored") == 2
    assert "Give its seed: --seed N" in measure.err
    assert measure(measure.root, "--rounds", "3", "--seed", "4", "--mirrored", "--python", sys.executable) == 0
    assert {line["mirrored"] for line in measure.machine.lines("round")} == {True}


@pytest.mark.parametrize(
    ("there", "told"),
    [
        ((), "Nothing had been started"),
        (("on_card/screen.jsonl",), "Every operator that was repeated on the card is kept in {root}/on_card; the same"),
        (("on_card/screen.jsonl", "measure.jsonl"), "Every finished round is kept in {root}/measure.jsonl; go on with"),
    ],
)
def test_an_interrupt_says_what_is_kept(
    measure: Command, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], told: str
) -> None:
    async def interrupted(*_: object) -> None:
        for name in there:
            (measure.root / name).parent.mkdir(exist_ok=True)
            (measure.root / name).touch()
        raise KeyboardInterrupt

    monkeypatch.setattr(workflow, "measure", interrupted)
    assert measure(measure.root, "--python", sys.executable) == 130
    assert told.format(root=measure.root) in measure.err


def test_what_is_no_root_of_a_screen_is_refused(measure: Command, tmp_path: Path) -> None:
    assert measure(tmp_path / "nowhere") == 2
    assert "is no root of a screen" in measure.err
    assert measure(measure.root, "--resume") == 2
    assert "no measured rounds to go on with" in measure.err
    assert measure(measure.root, "--budget", "nan") == 2
    assert measure(measure.root, "--rounds", "0") == 2


def test_a_card_of_another_model_exits_3(measure: Command, simulated: SimulatedCards) -> None:  # noqa: F811
    listed = simulated.folder / "list.csv"
    listed.write_text(listed.read_text().replace("Simulated H1", "Simulated H9"))
    assert measure(measure.root, "--python", sys.executable) == 3
    assert "screened on Simulated H1, and the card here is Simulated H9" in measure.err


def test_a_target_that_the_card_does_not_compile_for_exits_3(measure: Command, tmp_path: Path) -> None:
    machine = measure.machine
    machine.screen_plan = replace(
        machine.screen_plan, root=tmp_path / "offline", target="cuda:80", cards=(), configs="first", jobs=1
    )
    machine.root = tmp_path / "offline"
    machine.screen()
    assert measure(measure.root, "--python", sys.executable) == 3
    assert "was screened for cuda:80, and the card here compiles for cuda:90" in measure.err


def test_a_secret_of_the_screen_must_be_given_again(measure: Command, tmp_path: Path) -> None:
    machine = measure.machine
    machine.screen_plan = replace(machine.screen_plan, root=tmp_path / "secret", env={"MY_TOKEN": "hush"})
    machine.root = tmp_path / "secret"
    machine.screen()
    assert measure(measure.root, "--python", sys.executable) == 2
    assert "--env MY_TOKEN=VALUE" in measure.err
    assert measure(measure.root, "--rounds", "1", "--env", "MY_TOKEN=hush", "--python", sys.executable) == 0
    assert "hush" not in (measure.root / "measure.jsonl").read_text()


def test_what_fail_on_may_name_are_the_verdicts_of_changed_rows() -> None:
    assert set(command_module.WORDS) == {verdict.value for verdict in SpeedVerdict} - {"IDENTICAL"}
