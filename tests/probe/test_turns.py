"""Two processes take turns at each row, as the tool tells them to. The device is simulated; the processes are real."""

import json
import os
import signal
import socket
import time

import pytest
from simulated_device import SimulatedClocks, SimulatedDevice
from zl_probe import wire
from zl_probe.recorder import Recorder
from zl_probe.timing import graphs
from zl_probe.timing.summary import summarise_turns
from zl_probe.timing.timer import Timer, TimingPlan
from zl_probe.timing.turns import Channel, Turns

KEY = {"node": "test_a.py::test_a", "operator": "a", "dtype": "float16", "ordinal": 0, "detail": "(64, 64)"}
PATIENCE = 20.0


class Left(BaseException):
    """The process would have ended here."""


class Events(list):
    def event(self, event, **fields):
        self.append({"event": event, **fields})

    def of(self, kind):
        return [event for event in self if event["event"] == kind]


class Tool:
    """The tool's end of one channel: it has said `orders` before the probe has said anything."""

    def __init__(self, *orders):
        self.theirs, self._ours = socket.socketpair()
        self._ours.settimeout(PATIENCE)
        for order in orders:
            self._ours.sendall(json.dumps(order).encode() + b"\n")

    def heard(self):
        self._ours.settimeout(0.2)
        data = b""
        while True:
            try:
                more = self._ours.recv(1 << 16)
            except TimeoutError:
                break
            if not more:
                break
            data += more
        return [json.loads(line) for line in data.splitlines()]

    def hang_up(self):
        self._ours.close()


PREPARE = {"do": "prepare"}
TURN = {"do": "turn", "loaded": None}
NEXT = {"do": "next", "why": ""}


def leave():
    raise Left


def timed(tool, device=None, milliseconds=0.02, patience=PATIENCE, method="graph", role="operator"):
    """Time one row by what the tool has said; gives (samples, events)."""
    device, events = device or SimulatedDevice(), Events()
    gate = Turns(Channel(tool.theirs, patience), 0.5, events, leave)
    plan = TimingPlan.of({"timing": {"method": method, "l2": "warm", "baseline": True}})
    timer = Timer(plan, device, SimulatedClocks(1980), events, None, leave, gate=gate)
    try:
        samples = timer.time(device.call(milliseconds), (), KEY, 3, role)
    except Left:
        samples = None
    return samples, events


def test_a_row_waits_prepares_takes_its_turns_and_is_told_once():
    tool = Tool(PREPARE, TURN, TURN, NEXT)
    samples, events = timed(tool)
    (latency,) = events.of("latency")
    assert latency["median_ms"] == pytest.approx(0.02, rel=0.01)
    assert [set(turn) for turn in latency["turns"]] == [
        {"median_ms", "samples", "warmup_ms", "steady", "before", "after"}
    ] * 2
    assert latency["samples"] == sum(turn["samples"] for turn in latency["turns"]) == len(samples)
    assert latency["warmup_ms"] == pytest.approx(sum(turn["warmup_ms"] for turn in latency["turns"]), abs=0.01)
    assert latency["others"] == []
    row, prepared, *turns = tool.heard()
    assert row == {"row": {"call": 3, **KEY, "role": "operator"}}
    assert prepared == {"prepared": "graph"}
    assert turns == [{"timed": True}] * 2


def test_two_turns_take_the_time_of_one_that_is_alone():
    device = SimulatedDevice()
    _, events = timed(Tool(PREPARE, TURN, TURN, NEXT), device)
    alone = Events()
    plan = TimingPlan.of({"timing": {"method": "graph", "l2": "warm"}})
    device = SimulatedDevice()
    Timer(plan, device, SimulatedClocks(1980), alone, None, leave).time(device.call(0.02), (), KEY, 3, "operator")
    assert events.of("latency")[0]["samples"] == pytest.approx(alone.of("latency")[0]["samples"], rel=0.1)
    assert "turns" not in alone.of("latency")[0]


def test_the_value_of_a_row_is_the_median_of_its_turns():
    found = summarise_turns([[1.0, 1.0, 1.0], [3.0], [2.0]])
    assert (found.median_ms, found.min_ms, found.samples) == (2.0, 1.0, 5)
    assert summarise_turns([[1.0, 2.0, 4.0]]).median_ms == 2.0
    assert summarise_turns([[1.0], []]).samples == 1
    assert summarise_turns([]).invalid == "nothing was measured"


def test_a_turn_that_follows_the_other_sides_warms_up_shortly():
    loaded = {"do": "turn", "loaded": time.perf_counter() + 0.5}
    _, events = timed(Tool(PREPARE, TURN, loaded, NEXT))
    first, second = events.of("latency")[0]["turns"]
    assert first["warmup_ms"] >= 300
    assert 50 <= second["warmup_ms"] < 200


def test_a_row_that_is_not_wanted_is_not_prepared():
    device = SimulatedDevice()
    tool = Tool({"do": "next", "why": "it was not to be timed"})
    samples, events = timed(tool, device)
    assert samples == []
    assert events.of("latency")[0]["invalid"] == "it was not to be timed"
    assert (device.replays, device.released) == (0, 0)


def test_a_baseline_waits_for_nobody():
    tool = Tool()
    samples, events = timed(tool, role="baseline")
    assert samples
    assert tool.heard() == []
    assert "turns" not in events.of("latency")[0]


def test_a_row_that_the_other_side_can_not_time_is_given_up_with_its_reason_and_its_graph_released():
    device = SimulatedDevice()
    samples, events = timed(Tool(PREPARE, {"do": "next", "why": "after: no method bears it"}), device)
    assert samples == []
    assert events.of("latency")[0]["invalid"] == "after: no method bears it"
    assert device.released == 1


def test_falling_back_is_told_before_the_turns():
    tool = Tool(PREPARE, TURN, TURN, NEXT)
    _, events = timed(tool, SimulatedDevice(waiting=True))
    assert tool.heard()[1] == {"prepared": "queued"}
    assert events.of("latency")[0]["method"] == "queued"


def test_no_method_at_all_is_refused():
    device = SimulatedDevice()
    tool = Tool(PREPARE, NEXT)

    def fails():
        raise ValueError("not again")

    events = Events()
    gate = Turns(Channel(tool.theirs, PATIENCE), 0.5, events, leave)
    plan = TimingPlan.of({"timing": {"method": "queued", "l2": "warm"}})
    samples = Timer(plan, device, SimulatedClocks(1980), events, None, leave, gate=gate).time(
        fails, (), KEY, 0, "operator"
    )
    assert samples == []
    assert "not again" in tool.heard()[1]["refused"]


def test_a_turn_that_fails_costs_the_row_and_no_other_method_is_tried(monkeypatch):
    def fails(self, wanted_ms):
        raise RuntimeError("no sample")

    monkeypatch.setattr(graphs.WarmGraph, "samples", fails)
    tool = Tool(PREPARE, TURN, {"do": "next", "why": "before: RuntimeError: no sample"})
    samples, events = timed(tool)
    assert samples == []
    assert tool.heard()[2] == {"failed": "RuntimeError: no sample"}
    (latency,) = events.of("latency")
    assert latency["invalid"] == "before: RuntimeError: no sample"
    assert events.of("abandoned") == []


def test_a_poisoned_process_says_so_and_ends():
    samples, events = timed(Tool(PREPARE), SimulatedDevice(poisons=True))
    assert samples is None
    assert events.of("abandoned")[0]["why"] == "poisoned"


@pytest.mark.parametrize("orders", [(), (PREPARE,), (PREPARE, TURN)])
def test_a_tool_that_is_gone_ends_the_process_wherever_it_waits(orders):
    tool = Tool(*orders)
    tool.hang_up()
    samples, events = timed(tool)
    assert samples is None
    assert events.of("left")[0]["why"].startswith("the tool")
    assert events.of("latency") == []


def test_a_tool_that_says_nothing_for_too_long_ends_the_process():
    start = time.monotonic()
    samples, events = timed(Tool(), patience=0.2)
    assert samples is None
    assert events.of("left") == [{"event": "left", "why": "it was nobody's turn for 0 s"}]
    assert time.monotonic() - start < 10


def test_being_told_to_leave_ends_the_process_with_the_reason():
    samples, events = timed(Tool({"do": "leave", "why": "the before side's process ended"}))
    assert samples is None
    assert events.of("left")[0]["why"] == "the before side's process ended"


def test_without_a_gate_in_the_input_nobody_is_waited_for():
    gate = Turns.of({"side": "before"}, Events(), leave)
    gate.arrive({})
    assert gate.take("graph", lambda share, loaded: (share, loaded)) == [(1.0, None)]


def test_a_gate_that_nobody_keeps_is_an_error_at_once():
    given = {"side": "before", "turns": {"socket": "zl-nobody-here", "each": 2, "patience_s": 1.0}}
    with pytest.raises(OSError):
        Turns.of(given, Events(), leave)


# Two forked processes and one keeper.


def child(name, side, out, milliseconds, rows, dies_at=None):
    """A run of the side in a process of its own; gives its pid."""
    pid = os.fork()
    if pid:
        return pid
    try:
        recorder = Recorder(str(out))
        given = {"side": side, "turns": {"socket": name, "each": 2, "patience_s": PATIENCE}}
        device = SimulatedDevice()
        gate = Turns.of(given, recorder, lambda: os._exit(0))
        plan = TimingPlan.of({"timing": {"method": "graph", "l2": "warm"}})
        timer = Timer(plan, device, SimulatedClocks(1980), recorder, None, lambda: os._exit(0), gate=gate)
        for number in range(rows):
            if number == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            timer.time(device.call(milliseconds), (), {**KEY, "detail": str(number)}, number, "operator")
        recorder.event("end")
    finally:
        os._exit(0)


class Keeper:
    """Says whose turn it is, one side after the other, and hangs up on both when one is gone."""

    def __init__(self, name):
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(b"\0" + name.encode())
        self.listener.listen()
        self.listener.settimeout(PATIENCE)

    def keep(self):
        """Every message heard, as (side, message)."""
        ends, heard = {}, []
        for _ in range(2):
            stream, _ = self.listener.accept()
            stream.settimeout(PATIENCE)
            lines = stream.makefile("rw")
            ends[json.loads(lines.readline())["side"]] = lines

        def hear(side):
            line = ends[side].readline()
            if not line:
                raise EOFError
            heard.append((side, json.loads(line)))

        def ask(side, order):
            ends[side].write(json.dumps(order) + "\n")
            ends[side].flush()

        try:
            while True:
                for side in ("before", "after"):
                    hear(side)
                for side in ("before", "after"):
                    ask(side, PREPARE)
                    hear(side)
                loaded = None
                for side in ("before", "after", "after", "before"):
                    ask(side, {"do": "turn", "loaded": loaded})
                    hear(side)
                    loaded = time.monotonic()
                for side in ("before", "after"):
                    ask(side, NEXT)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            for lines in ends.values():
                lines.close()
        return heard


def pair(tmp_path, rows=2, **dies):
    name = f"zl-test-{os.getpid()}-{time.monotonic_ns()}"
    keeper = Keeper(name)
    pids = [
        child(name, side, tmp_path / side, milliseconds, rows, dies.get(side))
        for side, milliseconds in (("before", 0.02), ("after", 0.03))
    ]
    heard = keeper.keep()
    keeper.listener.close()
    end = time.monotonic() + PATIENCE
    left = set(pids)
    while left and time.monotonic() < end:
        left -= {pid for pid in left if os.waitpid(pid, os.WNOHANG)[0]}
        time.sleep(0.01)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    assert not left, "a side waits for one that is gone"
    events = {side: list(wire.read_events(str(tmp_path / side / wire.EVENTS_FILE))) for side in ("before", "after")}
    return heard, events


def test_two_processes_time_the_same_rows_each_in_its_turn(tmp_path):
    heard, events = pair(tmp_path)
    for side, milliseconds in (("before", 0.02), ("after", 0.03)):
        latencies = [event for event in events[side] if event["event"] == "latency"]
        assert [latency["detail"] for latency in latencies] == ["0", "1"]
        assert [latency["median_ms"] for latency in latencies] == pytest.approx([milliseconds] * 2, rel=0.01)
        assert [len(latency["turns"]) for latency in latencies] == [2, 2]
        assert events[side][-1]["event"] == "end"
    turns = [side for side, message in heard if "timed" in message]
    assert turns == ["before", "after", "after", "before"] * 2


def test_a_killed_peer_does_not_hang_the_other(tmp_path):
    _, events = pair(tmp_path, before=1)
    assert [event["detail"] for event in events["after"] if event["event"] == "latency"] == ["0"]
    assert events["after"][-1]["event"] == "left"
