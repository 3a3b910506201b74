"""`zl-bench screen`: its options, what they become, and its exit codes; the screen itself is a stand-in here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.workflow.simulated import verdict_of
from zl_bench.analysis.axis import AxisState
from zl_bench.cli import main as edge
from zl_bench.cli import screen as command
from zl_bench.errors import DeadAxis, EnvironmentUnfit, UsageError
from zl_bench.model import OperatorVerdict, Verdict
from zl_bench.store.request import ScreenRequest, write_request
from zl_bench.workflow.liveness import Liveness
from zl_bench.workflow.screen import ScreenPlan, ScreenResult

AVAILABLE = 1000 << 40
"""Bytes: enough for every core of any machine."""
MINIMAL = ("--switch", "X", "--target", "cuda:90")


@dataclass
class Screened:
    """Runs the command as a console would; `plans` are what the screen was asked."""

    verdicts: tuple[OperatorVerdict, ...] = ()
    raises: BaseException | None = None
    plans: list[ScreenPlan] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)
    err: str = ""
    out: str = ""

    def __call__(self, *arguments: object) -> int:
        runner = CliRunner()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["zl-bench", "screen", *map(str, arguments)])
            with runner.isolation() as streams, pytest.raises(SystemExit) as end:
                edge.main()
            self.out, self.err = streams[0].getvalue().decode(), streams[1].getvalue().decode()
        assert "Traceback" not in self.err
        return int(end.value.code or 0)

    async def screen(self, plan: ScreenPlan, _: object) -> ScreenResult:
        self.plans.append(plan)
        if self.raises is not None:
            raise self.raises
        order = tuple((verdict.operator, verdict.dtype) for verdict in self.verdicts)
        return ScreenResult(self.verdicts, order, AxisState.LIVE, Liveness(True, "known"))


@pytest.fixture
def screened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Screened:
    """The command in an empty folder, with a stand-in for the screen, and no hand on this process's children."""
    stand_in = Screened()

    @contextlib.contextmanager
    def nothing() -> Iterator[None]:
        yield

    monkeypatch.setattr(command, "run_screen", stand_in.screen)
    monkeypatch.setattr(command, "no_stray_processes", nothing)
    monkeypatch.setattr(command, "available_memory", lambda: AVAILABLE)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return stand_in


def started_root(root: Path) -> Path:
    """A root in which a screen was started: something to resume."""
    root.mkdir(parents=True)
    request = ScreenRequest(
        switch="X", target="cuda:90", suite="builtin", stages="all", configs="first", env={}, env_before={}, env_after={},
        operators=(), tool_version="0", started="",
    )  # fmt: skip
    write_request(root, request)
    return root


def folders() -> list[str]:
    return [path.name for path in Path().iterdir()]


def test_the_defaults(screened: Screened) -> None:
    assert screened(*MINIMAL) == 0
    (plan,) = screened.plans
    assert (plan.stages, plan.configs, plan.suite.name, plan.timeout) == ("all", "first", "builtin", 300.0)
    assert (plan.resume, plan.force, plan.self_check, plan.pins) == (False, False, False, None)
    assert (plan.env, plan.env_before, plan.env_after) == ({}, {}, {})
    assert plan.interpreter == Path(sys.executable)
    assert plan.jobs == len(os.sched_getaffinity(0))
    assert plan.memory == AVAILABLE * 8 // 10 // plan.jobs
    assert plan.backend.name == "nvidia"
    assert {entry.operator for entry in plan.entries} == set(plan.suite.operators)
    assert plan.inherited["PATH"] == os.environ["PATH"]


def test_runs_share_the_memory(screened: Screened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "available_memory", lambda: 10 << 30)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(16))
    for arguments, jobs, gib in [((), 8, 1), (("--memory", "3"), 2, 3), (("--jobs", "4"), 4, 2)]:
        assert screened(*MINIMAL, *arguments) == 0
        assert (screened.plans[-1].jobs, screened.plans[-1].memory) == (jobs, gib << 30)
        assert "available" not in screened.err
    assert screened(*MINIMAL, "--jobs", "4", "--memory", "3") == 0
    assert (screened.plans[-1].jobs, screened.plans[-1].memory) == (4, 3 << 30)
    assert "4 runs of up to 3 GiB may take more than the 10 GiB of memory available" in screened.err


def test_the_default_root_is_named_after_the_axis_and_never_shared(screened: Screened) -> None:
    for _ in range(3):
        assert screened("--switch", "pass:pipeline@2", "--target", "cuda:90") == 0
    roots = [plan.root for plan in screened.plans]
    assert len(set(roots)) == 3
    assert all(root.parent == Path("runs").absolute() for root in roots)
    assert all(root.name.startswith("ab_pass-pipeline-2_") for root in roots)


def test_every_option_arrives(screened: Screened, tmp_path: Path) -> None:
    pins = tmp_path / "pins" / "run"
    pins.mkdir(parents=True)
    (pins / "events.jsonl").write_text("")
    started_root(Path("some/root"))
    code = screened(
        "--switch", "X=a..b", "--target", "hip:gfx942", "--env", "A=1", "--env", "B=2", "--env-before", "C=3",
        "--env-after", "D=4", "--root", "some/root", "--resume", "--jobs", "3", "--timeout", "1.5", "--stages", "ttgir",
        "--configs", "all", "--pins", tmp_path / "pins", "--self-check", "--force", "matmul:float16", "vector_add", "matmul",
    )  # fmt: skip
    assert code == 0
    (plan,) = screened.plans
    assert (plan.switch.before, plan.switch.after, plan.target, plan.backend.name) == ("a", "b", "hip:gfx942", "amd")
    assert (plan.env, plan.env_before, plan.env_after) == ({"A": "1", "B": "2"}, {"C": "3"}, {"D": "4"})
    assert plan.root == Path("some/root").absolute()
    assert plan.root.is_dir()
    assert (plan.resume, plan.jobs, plan.timeout, plan.stages, plan.configs) == (True, 3, 1.5, "ttgir", "all")
    assert (plan.pins, plan.self_check, plan.force) == (tmp_path / "pins", True, True)
    assert [entry.text for entry in plan.entries] == ["matmul:float16", "vector_add", "matmul"]


@pytest.mark.parametrize(
    ("vendor", "name"),
    [([], "FLAGTREE_RLC_ENHANCE"), (["--vendor", "mthreads"], "FLAGTREE_MUSA_RLC_ENHANCE"),
     (["--vendor-segment", "NEW"], "FLAGTREE_NEW_RLC_ENHANCE")],
)  # fmt: skip
def test_the_vendor_s_segment(screened: Screened, vendor: list[str], name: str) -> None:
    assert screened("--switch", "FLAGTREE_{VENDOR}_RLC_ENHANCE", "--target", "cuda:90", *vendor) == 0
    assert screened.plans[0].switch.name == name


BAD = {
    "no switch": (["--target", "cuda:90"], "--switch"),
    "a switch of no form": (["--switch", "1X", "--target", "cuda:90"], "Write NAME"),
    "one value": (["--switch", "X=1", "--target", "cuda:90"], "has one value"),
    "the tool's own": (["--switch", "PYTHONPATH", "--target", "cuda:90"], "can not be the switch"),
    "no builds": (["--switch", "build:a..b", "--target", "cuda:90"], "two Python interpreters"),
    "a name too long for a file": (["--switch", f"build:{'a' * 5000}..b", "--target", "cuda:90"], "two Python"),
    "no segment": (["--switch", "X_{VENDOR}", "--target", "hip:gfx942"], "--vendor-segment"),
    "unknown target": (["--switch", "X", "--target", "cuba:90"], "Known target kinds"),
    "empty target": (["--switch", "X", "--target", ""], "Known target kinds"),
    "unknown vendor": ([*MINIMAL, "--vendor", "nobody"], "Known vendors"),
    "unknown suite": ([*MINIMAL, "--suite", "nowhere"], "There is no suite"),
    "unknown operator": ([*MINIMAL, "matmull"], "Did you mean matmul"),
    "an operator with a slash": ([*MINIMAL, "../matmul"], "has no operator '../matmul'"),
    "an operator like a node": ([*MINIMAL, "test_matmul.py::test_matmul"], "has no operator"),
    "no dtype": ([*MINIMAL, "matmul:"], "names no dtype"),
    "only a colon": ([*MINIMAL, ":"], "has no operator ''"),
    "no jobs": ([*MINIMAL, "--jobs", "0"], "--jobs"),
    "fewer than no jobs": ([*MINIMAL, "--jobs", "-1"], "--jobs"),
    "half a job": ([*MINIMAL, "--jobs", "0.5"], "--jobs"),
    "no time": ([*MINIMAL, "--timeout", "0"], "--timeout"),
    "unknown stage": ([*MINIMAL, "--stages", "ptx"], "--stages"),
    "unknown configs": ([*MINIMAL, "--configs", "best"], "--configs"),
    "unknown verdict": ([*MINIMAL, "--fail-on", "CHANGED"], "IR_CHANGED"),
    "env without a value": ([*MINIMAL, "--env", "A"], "NAME=VALUE"),
    "env of the tool": ([*MINIMAL, "--env-after", "TRITON_CACHE_DIR=/x"], "set by zl-bench"),
    "no interpreter": ([*MINIMAL, "--python", "absent"], "--python absent"),
    "no pins": ([*MINIMAL, "--pins", "absent"], "--pins absent"),
}


@pytest.mark.parametrize("mistake", BAD)
def test_bad_usage_is_2_says_what_and_leaves_no_folder(screened: Screened, mistake: str) -> None:
    arguments, words = BAD[mistake]
    assert screened(*arguments) == 2
    assert words in " ".join(screened.err.split())
    assert screened(*arguments, "--root", "root") == 2
    assert folders() == []
    assert screened.plans == []


def test_resume_without_a_root_leaves_no_folder(screened: Screened) -> None:
    assert screened(*MINIMAL, "--resume") == 2
    assert "name it with --root" in screened.err
    assert folders() == []


def test_without_a_target_the_flag_is_named(screened: Screened, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # a card that this machine may have is not found
    assert screened("--switch", "X") == 3
    assert "--target cuda:90" in screened.err
    assert folders() == []


@pytest.mark.parametrize("root", ["file", "file/below"])
def test_a_root_that_can_not_be_a_folder(screened: Screened, root: str) -> None:
    Path("file").write_text("")
    assert screened(*MINIMAL, "--root", root) == 3
    assert f"--root {root} can not be created" in screened.err
    assert screened.plans == []


def test_a_root_that_is_a_link_to_nothing(screened: Screened) -> None:
    Path("link").symlink_to("nowhere")
    assert screened(*MINIMAL, "--root", "link") == 3
    assert "--root link can not be created: it is a link to nothing." in screened.err


@pytest.mark.parametrize("root", ["one_before", "one_before/below/it"])
def test_a_root_is_not_made_in_the_folder_of_a_run(screened: Screened, root: str) -> None:
    Path("one_before").mkdir()
    Path("one_before/input.json").write_text("{}")
    assert screened(*MINIMAL, "--root", root) == 2
    assert "which its next run clears" in screened.err
    assert folders() == ["one_before"]
    assert screened.plans == []


def test_runs_that_can_not_be_a_folder(screened: Screened) -> None:
    Path("runs").write_text("")
    assert screened(*MINIMAL) == 3
    assert "can not create" in screened.err
    assert "--root" in screened.err


def test_a_root_that_another_screen_holds(screened: Screened, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    holder = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-S", "-c", holder, root / "screen.lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"\n"
        assert screened(*MINIMAL, "--root", root) == 2
        assert "another screen is running in" in screened.err
        assert screened.plans == []
        assert other.stdin is not None
        other.stdin.close()
    assert screened(*MINIMAL, "--root", root) == 0


def test_the_root_is_let_go_of_afterwards(screened: Screened) -> None:
    screened.raises = EnvironmentUnfit("disk full")
    assert screened(*MINIMAL, "--root", "root") == 3
    screened.raises = None
    assert screened(*MINIMAL, "--root", "root") == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [(UsageError("why"), 2), (EnvironmentUnfit("why"), 3), (DeadAxis("why"), 4), (OSError(28, "why"), 3)],
)
def test_what_ends_a_screen(screened: Screened, error: BaseException, code: int) -> None:
    screened.raises = error
    screened.verdicts = (verdict_of("a", verdict=Verdict.IR_CHANGED),)
    assert screened(*MINIMAL, "--fail-on", "IR_CHANGED") == code
    assert "why" in screened.err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError()])
def test_an_interruption_keeps_what_is_finished_and_says_how_to_go_on(screened: Screened, error: BaseException) -> None:
    screened.raises = error
    assert screened(*MINIMAL, "--root", "root") == 130
    assert "Nothing had been started" in screened.err
    Path("root", "screen.json").write_text("{}")
    assert screened(*MINIMAL, "--root", "root") == 130
    assert f"kept in {Path('root').absolute()}/screen.tsv" in screened.err
    assert f"--resume --root {Path('root').absolute()}" in screened.err


def test_a_polite_kill_is_an_interruption(screened: Screened, monkeypatch: pytest.MonkeyPatch) -> None:
    async def wait(*_: object) -> ScreenResult:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(20)
        raise AssertionError("it was not interrupted")

    monkeypatch.setattr(command, "run_screen", wait)
    assert screened(*MINIMAL) == 130


BROKEN, CHANGED = verdict_of("b", verdict=Verdict.BROKEN), verdict_of("c", verdict=Verdict.IR_CHANGED)


@pytest.mark.parametrize(
    ("verdicts", "fail_on", "code"),
    [
        ((verdict_of("a"),), [], 0),
        ((verdict_of("a"), CHANGED), [], 0),
        ((verdict_of("a"), BROKEN), [], 1),
        ((verdict_of("a", failed_runs=2),), [], 1),
        ((BROKEN, CHANGED), ["IR_CHANGED"], 10),
        ((BROKEN, CHANGED), ["NO_ROWS", "BROKEN"], 10),
        ((BROKEN, CHANGED), ["NO_ROWS", "NO_KERNEL"], 1),
    ],
)
def test_exit_codes_of_a_whole_screen(
    screened: Screened, verdicts: tuple[OperatorVerdict, ...], fail_on: list[str], code: int
) -> None:
    screened.verdicts = verdicts
    assert screened(*MINIMAL, *(word for verdict in fail_on for word in ("--fail-on", verdict))) == code


def test_the_table_comes_last_with_its_path_and_broken_first(screened: Screened) -> None:
    screened.verdicts = (CHANGED, BROKEN)
    screened(*MINIMAL, "--root", "root")
    assert screened.out.index("BROKEN") < screened.out.index("IR_CHANGED")
    assert str(Path("root").absolute() / "screen.tsv") in "".join(screened.out.split("\n"))


def test_a_screen_goes_on_when_its_reader_has_gone(capfd: pytest.CaptureFixture[str]) -> None:
    """The answer is in its files, and the exit code must stay the screen's."""
    program = (
        "from zl_bench.cli.screen import PatientConsole\n"
        "console = PatientConsole(highlight=False)\n"
        "for _ in range(3): console.print('x' * 10); console.file.flush()\n"
        "raise SystemExit(10)\n"
    )
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-c", program], stdout=write, check=False)
    os.close(write)
    assert done.returncode == 10
    assert capfd.readouterr().err == ""


def test_there_must_be_something_to_resume(screened: Screened, tmp_path: Path) -> None:
    assert screened(*MINIMAL, "--resume", "--root", "typo") == 2
    assert "nothing to go on with" in screened.err
    assert not Path("typo").exists()
    assert screened(*MINIMAL, "--resume", "--root", started_root(tmp_path / "root")) == 0


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--switch", "X", "--target", "cuda:banana"), "known are cuda:"),
        (("--switch", "X", "--target", "cuda"), "cuda:90"),
        (("--switch", "X=a..b", "--target", "cuda:90", "--env", "X=c"), "X is the switch under test"),
        (("--switch", "X", "--target", "cuda:90", "--timeout", "nan"), "nan"),
        (("--switch", "X", "--target", "cuda:90", "--memory", "nan"), "nan"),
        (("--switch", "X", "--target", "cuda:90", "--memory", "inf"), "inf is no number of GiB"),
        (("--switch", "X", "--target", "cuda:90", "--memory", "0"), "--memory"),
        (("--switch", "X", "--target", "cuda:90", "--root", ""), "working directory"),
        (("--switch", "X=1..1", "--target", "cuda:90", "--env-after", "Y=1"), "null control"),
        (("--switch", "X", "--target", "cuda:90", "--dtypes", "first"), "flaggems"),
        (("--switch", "X", "--target", "cuda:90", "--suite", "flaggems"), "checkout"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_folder(
    screened: Screened, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], hint: str
) -> None:
    monkeypatch.delenv("ZL_FLAGGEMS", raising=False)
    assert screened(*arguments) == 2
    assert hint in screened.err
    assert folders() == []
