"""The side server: how runs end, and that nothing outlives it."""

import json
import mmap
import os
import signal
import time
from pathlib import Path

import pytest
from probe_side import PATIENCE, Cases, Side, without_torch
from zl_probe import memory, processes

pytestmark = pytest.mark.integration
NODE = "bench_processes.py::test_"
MIB = 1 << 20


def is_gone(pid):
    """Whether a process has ended (a zombie that nobody reaps has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


def wait_until(condition):
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def start(cases, test):
    """Start a run, and wait until it has noted its processes; return its number, its folder and those."""
    path = cases.prepare(NODE + test)
    number, pid = cases.side.start("run", input=str(path))
    noted = path.parent / "notes" / "pids.json"
    wait_until(lambda: noted.exists() and noted.read_text().endswith("]"))
    return number, path.parent, [pid, *json.loads(noted.read_text())]


@pytest.fixture
def light(tmp_path):
    """A server of its own for one test, without torch; what is left of it is ended."""
    pytest.importorskip("triton", reason="needs triton")
    with Side(tmp_path, first_paths=[without_torch(tmp_path)]) as side:
        yield Cases(side, tmp_path / "cases")


def test_the_server_says_what_it_has(side):
    ready = side.greeting["ready"]
    assert ready["python"].split(".")[0] == "3"
    assert ready["triton"]["version"]
    assert Path(ready["triton"]["library"]).exists()


def test_an_exit_status_is_reported(cases):
    ran = cases.run(NODE + "exit")
    assert ran.end["code"] == 3
    assert len(ran.of("row")) == 1
    assert not ran.of("end")


def test_a_signal_is_reported(cases):
    ran = cases.run(NODE + "abort")
    assert ran.end["signal"] == signal.SIGABRT
    assert len(ran.of("row")) == 1


def test_a_run_is_killed_with_its_processes_and_others_go_on(cases):
    number, folder, pids = start(cases, "hang")
    other = cases.run_again(NODE + "forked_child")
    assert other.end["code"] == 0
    assert not any(map(is_gone, pids))
    cases.side.send(op="kill", id=number)
    assert cases.side.hear_about(number)["signal"] == signal.SIGKILL
    assert all(map(is_gone, pids))
    assert "row" in (folder / "events.jsonl").read_text()


def test_a_run_can_be_killed_at_once(cases):
    for _ in range(5):
        number, pid = cases.side.start("run", input=str(cases.prepare(NODE + "hang")))
        cases.side.send(op="kill", id=number)
        assert cases.side.hear_about(number)["signal"] == signal.SIGKILL
        assert is_gone(pid)


def test_what_a_run_leaves_behind_is_ended(cases):
    ran = cases.run(NODE + "daemon")
    assert ran.end["code"] == 0
    assert ran.end["left"] == 1
    assert is_gone(ran.notes()["pids"][0])


def test_a_daemon_is_ended_with_its_own_run_and_no_other(cases):
    number, _, pids = start(cases, "daemon_and_hang")
    assert cases.run_again(NODE + "forked_child").end["left"] == 0
    assert not any(map(is_gone, pids))
    cases.side.send(op="kill", id=number)
    assert cases.side.hear_about(number)["left"] == 1
    assert all(map(is_gone, pids))


def test_a_forked_child_of_a_test_records_nothing(cases):
    ran = cases.run(NODE + "forked_child")
    assert [row["ordinal"] for row in ran.of("row")] == [0, 1]


def test_noise_goes_to_the_log(cases):
    ran = cases.run(NODE + "noise")
    assert ran.end["code"] == 0
    log = (ran.out / "run.log").read_bytes()
    assert b"1 passed" in log
    assert len(ran.of("row")) == 1


def test_a_run_has_its_folders_and_nothing_to_read(cases):
    ran = cases.run(NODE + "environment")
    notes = ran.notes()
    assert notes["environment"]["TRITON_CACHE_DIR"] == str(ran.out / "cache")
    assert notes["folder"] == str(cases.suite)
    assert notes["input"] == ""
    assert any((ran.out / "cache").iterdir())


def test_an_unreadable_input_is_a_failure_of_that_run_only(cases, tmp_path):
    old = tmp_path / "input.json"
    old.write_text('{"wire": 0}')
    for path in (old, tmp_path / "absent.json"):
        assert cases.side.ask("run", input=str(path))["code"] == 70
    assert "wire version 0 is not 1" in cases.side.log()
    assert cases.run_again(NODE + "forked_child").end["code"] == 0


def test_a_switch_that_is_read_at_import_is_read_right(tmp_path):
    pytest.importorskip("triton", reason="needs triton")
    (tmp_path / "reads_switch.py").write_text("import os\nVALUE = os.environ.get('ZL_SWITCH')\n")
    with Side(tmp_path, None, ["reads_switch"], [without_torch(tmp_path), tmp_path], ZL_SWITCH="on") as side:
        cases = Cases(side, tmp_path / "cases")
        cases.write(
            "bench_switch.py",
            "import reads_switch, kernels\ndef test_it(): kernels.note('value', reads_switch.VALUE)\n",
        )
        assert cases.run("bench_switch.py").notes()["value"] == "on"


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """A server whose runs may take 400 MiB each, without torch."""
    pytest.importorskip("triton", reason="needs triton")
    folder = tmp_path_factory.mktemp("narrow")
    with Side(folder, first_paths=[without_torch(folder)], memory=400 * MIB) as side:
        yield Cases(side, folder / "cases")


@pytest.mark.parametrize(
    "test",
    [
        "takes_much",
        "child_takes_much",
        "session_takes_much",
        "daemon_takes_much",
        "children_take_much_together",
        "shared_memory",
    ],
)
def test_a_run_that_takes_too_much_memory_is_ended_alone(narrow, test):
    number, folder, pids = start(narrow, "hang")
    ran = narrow.run_again(NODE + test)
    assert (ran.end["signal"], ran.end["memory"]) == (signal.SIGKILL, True)
    assert len(ran.of("row")) == 1
    assert not any(map(is_gone, pids))
    narrow.side.send(op="kill", id=number)
    end = narrow.side.hear_about(number)
    assert "memory" not in end
    # Of both runs nothing is left: the server has no child.
    assert processes.children_of(narrow.side.process.pid) == []
    assert len((folder / "events.jsonl").read_text().splitlines()) > 1


def test_memory_that_is_only_reserved_counts_for_nothing(narrow):
    assert narrow.run_again(NODE + "takes_little").end["code"] == 0


def test_runs_are_the_first_that_the_kernel_kills(cases):
    assert cases.run_again(NODE + "is_first_to_go").notes()["score"] == 1000


def test_own_memory_is_what_a_process_has_written():
    before, at_most = memory.own(os.getpid()), memory.at_most(os.getpid())
    assert 0 < before <= at_most + MIB
    with mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE) as area:
        assert abs(memory.own(os.getpid()) - before) < 8 * MIB
        area.write(b"x" * (64 * MIB))
        assert memory.own(os.getpid()) - before > 56 * MIB
        assert memory.at_most(os.getpid()) - at_most > 56 * MIB


def test_a_process_that_has_ended_takes_nothing():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert (memory.own(pid), memory.at_most(pid)) == (0, 0)
    os.waitpid(pid, 0)
    assert (memory.own(pid), memory.at_most(pid)) == (0, 0)


def test_older_kernels_say_less(tmp_path, monkeypatch):
    files = {"status": "VmRSS:\t 100 kB\nThreads:\t1\n", "smaps_rollup": "Rss:  90 kB\nPss:  80 kB\n"}
    kilobytes = memory._kilobytes
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "_kilobytes", lambda path: kilobytes(str(tmp_path / Path(path).name)))
    assert (memory.at_most(1), memory.own(1)) == (100 << 10, 80 << 10)
    (tmp_path / "smaps_rollup").unlink()
    assert memory.own(1) == 100 << 10


def test_kernel_kills_are_a_count():
    assert memory.kernel_kills() >= 0


def test_nothing_outlives_a_server_that_is_left(light):
    _, _, pids = start(light, "hang")
    _, _, others = start(light, "daemon_and_hang")
    assert light.side.close() == 0
    assert all(map(is_gone, [*pids, *others]))


def test_nothing_outlives_a_server_that_is_left_while_it_reports(light):
    _, _, pids = start(light, "hang")
    _, _, others = start(light, "daemon_and_hang")
    server = light.side.process
    server.send_signal(signal.SIGSTOP)
    try:
        os.kill(pids[0], signal.SIGKILL)
        light.side.hang_up()
    finally:
        server.send_signal(signal.SIGCONT)
    assert server.wait(PATIENCE) == 0
    assert all(map(is_gone, [*pids, *others]))


def test_a_run_dies_with_a_killed_server(light):
    _, _, pids = start(light, "hang")
    light.side.process.kill()
    light.side.process.wait(PATIENCE)
    wait_until(lambda: is_gone(pids[0]))
    os.kill(pids[2], signal.SIGKILL)  # the run's own child: nobody is left to end it


@pytest.mark.parametrize(
    ("module", "target", "reason"),
    [
        ("surely_not_installed", None, "No module named 'surely_not_installed'"),
        ("raises_at_import", None, "ZeroDivisionError"),
        ("json", "cuda:1", "TargetError"),
        ("json", "invented:1", "TargetError"),
    ],
)
def test_a_server_that_can_not_start_says_why(tmp_path, module, target, reason):
    pytest.importorskip("triton", reason="needs triton")
    (tmp_path / "raises_at_import.py").write_text("1 / 0\n")
    side = Side(tmp_path, target, [module], [without_torch(tmp_path), tmp_path])
    assert reason in side.greeting["failed"]
    assert side.hear() == {}
    assert side.close() == 1
