"""A visit to a card does what earlier ones lack, keeps what was finished, and packs it for the next."""

import json
import math
import os
import sys
import tarfile
import time
from pathlib import Path

import card_results
import card_sittings
import flaggems_card
import json_lines
import pytest
from card_operators import OPERATORS, Chosen, choose
from card_sittings import Visit

from .made_up import NODE, operator_line, row, run_record, sitting_line, write_record, write_run

SOFTMAX = Chosen("softmax", NODE, ("float16",))
MM = Chosen("mm", "benchmark/test_mm.py::test_mm", ())


def visit_of(tmp_path, *have, ends=math.inf, **more):
    options = {"checkout": tmp_path, "operators": (SOFTMAX, MM), "commit": "named", **more}
    return Visit(work=tmp_path / "work", have=have, ends=ends, **options)


def write_lines(path, *lines):
    for line in lines:
        json_lines.append(path, line)
    return path


def write_checkout(folder, *names):
    """A FlagGems checkout with these of the listed tests."""
    (folder / "benchmark").mkdir(parents=True)
    for needed in ("conftest.py", "base.py", "consts.py"):
        (folder / "benchmark" / needed).write_text("")
    for name in names:
        file, _, test = OPERATORS[name].partition("::")
        source = f"import pytest\n\n@pytest.mark.{name}\ndef {test}():\n    pass\n"
        (folder / "benchmark" / file).write_text(source)
    return folder


class Tool:
    """Stands for the command: leaves a root with the operators that it finished."""

    def __init__(self, finishes=True):
        self.finishes = finishes
        self.commands = []
        self.environments = []
        self.seconds = []

    def __call__(self, seconds, command, environment):
        self.commands.append(list(command))
        self.environments.append(dict(environment))
        self.seconds.append(seconds)
        root = Path(command[command.index("--root") + 1])
        if self.finishes:
            leave_root(root)
        return 0


def leave_root(root):
    for side in ("before", "after"):
        write_run(card_sittings.card_roots.operator_folder(root, NODE, None, side), [row("[64]", "k0")])
    write_record(root)


@pytest.fixture
def tool(monkeypatch):
    standing = Tool()
    monkeypatch.setattr(card_sittings, "until", standing)
    return standing


def test_the_list_has_the_kinds_that_are_asked_for():
    asked = (
        "softmax topk layer_norm cumsum mm dropout sort index_select nonzero masked_select gather gather_backward fft"
    )
    assert {*asked.split(), "silu_and_mul"} <= OPERATORS.keys()
    assert len(OPERATORS) == len(set(OPERATORS.values())) >= 24


def test_what_a_checkout_does_not_have_is_named(tmp_path):
    there, missing = choose(write_checkout(tmp_path, "softmax", "fft"), ["fft", "mm", "softmax"])
    assert [one.node for one in there] == ["benchmark/test_fft.py::test_perf_fft", NODE]
    assert missing == ["mm"]
    assert len(choose(tmp_path, [])[1]) == len(OPERATORS) - 2


def test_a_name_that_is_not_listed_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="not in the list: sofmax"):
        choose(write_checkout(tmp_path), ["sofmax"])


def test_a_sitting_keeps_each_operator_and_then_itself(tmp_path, tool):
    visit = visit_of(tmp_path)
    assert card_sittings.screen(visit, "null") == 0
    operator, sitting = json_lines.read(visit.work / "results.jsonl")
    assert (operator["kind"], operator["part"], operator["name"]) == ("operator", "null", "softmax")
    assert operator["sitting"] == sitting["sitting"]
    assert (sitting["kind"], sitting["commit"], sitting["exit"]) == ("sitting", "named", 0)
    assert sitting["versions"]["torch"] == "2.11.0"
    (command,) = tool.commands
    assert command[-2:] == [NODE, MM.node]
    assert "DISABLE_LLVM_OPT=0..0" in command
    assert command[command.index("--dtypes") + 1] == "first"
    assert "--checkout … --switch DISABLE_LLVM_OPT=0..0 --dtypes first --timeout 200" in sitting["command"]
    assert str(tmp_path) not in sitting["command"]


def test_only_what_earlier_visits_lack_is_done(tmp_path, tool):
    earlier = write_lines(tmp_path / "earlier.jsonl", operator_line("rlc"))
    tool.finishes = False
    card_sittings.screen(visit_of(tmp_path, earlier), "rlc")
    card_sittings.screen(visit_of(tmp_path, earlier, operators=(SOFTMAX,)), "rlc")
    card_sittings.screen(visit_of(tmp_path, earlier, operators=(SOFTMAX,), again=True), "rlc")
    assert [command[-1] for command in tool.commands] == [MM.node, NODE]
    assert NODE not in tool.commands[0]


def test_a_sitting_is_not_begun_when_there_is_no_time_and_else_ends_before_it_is_up(tmp_path, tool):
    now = time.monotonic()
    card_sittings.screen(visit_of(tmp_path, ends=now + 30), "null")
    assert tool.commands == []
    card_sittings.screen(visit_of(tmp_path, ends=now + 100), "null")
    assert 75 < tool.seconds[0] < 80


def test_what_could_not_begin_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(card_sittings, "until", lambda *_: 3)
    visit = visit_of(tmp_path)
    assert card_sittings.screen(visit, "null") == 3
    card_sittings.harvest_what_was_left(visit)
    assert visit.results().lines == []


def test_timing_is_of_identical_code(tmp_path, tool):
    card_sittings.timing(visit_of(tmp_path), "graph", "cold")
    (command,) = tool.commands
    assert "DISABLE_LLVM_OPT=0..0" in command
    assert command[command.index("--timing") :][:4] == ["--timing", "graph", "--l2", "cold"]


def test_offline_hides_the_card_and_replays_what_the_card_chose(tmp_path, monkeypatch):
    pins = [
        {"tuner": "t", "key": "k", "configuration": "c", "position": 0, "candidates": 2, "how": "tuned", "origin": ""}
    ]
    earlier = write_lines(tmp_path / "earlier.jsonl", operator_line("rlc", before=run_record({"[64]": [0]}, pins=pins)))
    seen = {}

    def until(seconds, command, environment):
        seen.update(environment)
        root = Path(command[command.index("--pins") + 1])
        seen["pins"] = [event for path in root.glob("*_before/events.jsonl") for event in json_lines.read(path)]
        seen["command"] = command
        leave_root(Path(command[command.index("--root") + 1]))
        return 0

    monkeypatch.setattr(card_sittings, "until", until)
    visit = visit_of(tmp_path, earlier)
    card_sittings.offline(visit, "rlc", "cuda:90", "all", None)
    assert seen["CUDA_VISIBLE_DEVICES"] == "-1"
    assert [event["configuration"] for event in seen["pins"] if event["event"] == "pin"] == ["c"]
    assert seen["command"][-2:] != [NODE, MM.node], "mm was never on the card"
    assert seen["command"][-1] == NODE
    assert visit.results().of("offline rlc", "softmax") is not None


def test_a_sitting_that_was_killed_is_read_by_the_next(tmp_path, monkeypatch):
    def killed(seconds, command, environment):
        leave_root(Path(command[command.index("--root") + 1]))
        raise KeyboardInterrupt

    monkeypatch.setattr(card_sittings, "until", killed)
    visit = visit_of(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        card_sittings.screen(visit, "null")
    assert visit.results().lines == []
    for _ in range(2):
        card_sittings.harvest_what_was_left(visit)
    assert [line["kind"] for line in visit.results().lines] == ["operator", "sitting"]
    assert visit.results().lines[1]["wall"] is None


def test_the_tool_is_ended_politely_when_the_time_is_up(tmp_path):
    program = tmp_path / "tool.py"
    program.write_text(
        "import pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))\n"
        "pathlib.Path(sys.argv[1]).touch()\n"
        "time.sleep(60)\n"
    )
    started = tmp_path / "started"
    begin = time.monotonic()
    assert card_sittings.until(3, [sys.executable, str(program), str(started)], {"A": "b"}) == 130
    assert started.exists()
    assert time.monotonic() - begin < 30


PLAIN = """
import os, sys
for name in ("TRITON_CACHE_DIR", "FLAGGEMS_CACHE_DIR"):
    print(name, os.path.exists(os.environ[name]), os.environ[name])
print("SUCCESS   0.006")
print("  SUCCESS   0.007")
sys.exit(int(sys.argv[1]))
"""


def test_a_plain_run_is_timed_with_caches_of_its_own_and_its_rows_are_counted(tmp_path):
    visit = visit_of(tmp_path)
    well, badly = (
        card_sittings._plain_once([sys.executable, "-c", PLAIN, code], os.environ, visit) for code in ("0", "3")
    )
    assert (well["exit"], well["rows"], well["end"]) == (0, 2, "")
    assert well["seconds"] > 0
    assert (badly["exit"], badly["rows"]) == (3, 2)
    assert "TRITON_CACHE_DIR False" in badly["end"]


def test_a_plain_run_that_takes_too_long_has_no_exit_status(tmp_path):
    command = [sys.executable, "-c", "import time; print('SUCCESS', flush=True); time.sleep(60)"]
    found = card_sittings._plain_once(command, os.environ, visit_of(tmp_path, timeout=2.0))
    assert (found["exit"], found["rows"]) == (None, 1)


def test_the_plain_runs_are_of_the_dtype_that_the_rows_on_the_card_had(tmp_path, monkeypatch):
    before = run_record({"[64]": [0]})
    before["rows"][0]["key"][2] = "int16"
    earlier = write_lines(tmp_path / "earlier.jsonl", operator_line("null", before=before))
    commands = []

    def plain_once(command, environment, visit):
        commands.append((command, environment))
        return {"seconds": 1.0, "exit": 0, "rows": 1, "end": ""}

    monkeypatch.setattr(card_sittings, "_plain_once", plain_once)
    monkeypatch.setattr(card_sittings, "VERSIONS", "print('{}')")
    monkeypatch.setenv("DISABLE_LLVM_OPT", "1")
    visit = visit_of(tmp_path, earlier)
    card_sittings.plain(visit, 1000, 100)
    assert [len(commands), commands[0][0], commands[2][0]] == [4, commands[1][0], commands[3][0]]
    command, environment = commands[0]
    assert command[command.index(NODE) :][:3] == [NODE, "--level", "core"]
    assert command[-6:] == ["--warmup", "1000", "--iter", "100", "--dtypes", "int16"]
    assert commands[2][0][-1] == "100", "nothing is known of mm's dtypes"
    assert "DISABLE_LLVM_OPT" not in environment
    assert environment["USE_FLAGTUNE"] == "0"
    assert environment["PYTHONPATH"].startswith(str(tmp_path / "src"))
    assert [line["name"] for line in visit.results().done("plain")] == ["softmax", "mm"]
    card_sittings.plain(visit, 1000, 100)
    assert len(commands) == 4


def test_packing_keeps_earlier_visits_and_the_logs_that_tell_something(tmp_path):
    earlier = write_lines(tmp_path / "earlier.jsonl", operator_line("null"), sitting_line("null"))
    work = tmp_path / "work"
    write_lines(work / "results.jsonl", operator_line("null", seconds=9.0), operator_line("rlc"))
    for name, code in (("good_before", 0), ("bad_before", 1)):
        (folder := work / "roots" / "null-1" / name).mkdir(parents=True)
        (folder / "run.log").write_text(name)
        (folder / "outcome.json").write_text(json.dumps({"kind": "exited", "code": code}))
    packed, logs = card_results.pack(work, [earlier], tmp_path / "out")
    results = card_results.load([packed, packed])
    assert len(results.lines) == 4
    assert (line := results.of("null", "softmax")) is not None
    assert line["verdict"]["seconds"] == 9.0
    with tarfile.open(logs) as archive:
        assert archive.getnames() == ["roots/null-1/bad_before/run.log"]


def test_a_visit_does_every_step_and_packs_also_when_one_can_not_be_done(tmp_path, monkeypatch):
    steps = []

    def run_step(step, visit, given):
        steps.append(step)
        return 3 if step == "timing" else 1

    monkeypatch.setattr(flaggems_card, "run_step", run_step)
    checkout = write_checkout(tmp_path / "checkout", "softmax")
    options = ["--checkout", str(checkout), "--work", str(tmp_path / "work"), "--out", str(tmp_path / "out")]
    given = flaggems_card.arguments().parse_args(["visit", *options, "--operators", "softmax"])
    assert flaggems_card.run_steps(flaggems_card.visit_of(given), given) == 3
    assert steps == ["screen", "timing"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["flaggems_card.jsonl.xz", "logs.tar.xz"]
