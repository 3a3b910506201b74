"""Writing events and stages, so that they survive what happens next."""

import errno
import hashlib
import json
import os
import resource
import signal

import pytest
from zl_probe import wire
from zl_probe.recorder import Recorder


def events(folder):
    return list(wire.read_events(str(folder / wire.EVENTS_FILE)))


def in_a_child(work):
    """Run `work` in a forked process and return its exit status."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = work() or 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_an_event_is_a_line_with_its_time(tmp_path):
    recorder = Recorder(str(tmp_path))
    recorder.event("begin", text="two\nlines, \u00fcml\u00e4uts and \ud800", number=1, nothing=None)
    (event,) = events(tmp_path)
    assert event["event"] == "begin"
    assert event["t"] > 1.6e9
    assert (event["text"], event["number"], event["nothing"]) == ("two\nlines, \u00fcml\u00e4uts and \ud800", 1, None)
    assert (tmp_path / wire.EVENTS_FILE).read_bytes().count(b"\n") == 1


def test_an_event_is_in_the_file_as_soon_as_it_is_recorded(tmp_path):
    recorder = Recorder(str(tmp_path))
    for count in range(1, 4):
        recorder.event("row", ordinal=count)
        assert len(events(tmp_path)) == count


def test_a_forked_process_has_no_voice(tmp_path):
    recorder = Recorder(str(tmp_path))
    recorder.event("begin")
    assert in_a_child(lambda: recorder.event("row", ordinal=7)) == 0
    recorder.event("end")
    assert [event["event"] for event in events(tmp_path)] == ["begin", "end"]


def test_writers_of_one_file_do_not_tear_each_other_s_lines(tmp_path):
    count, long_text = 200, "x" * 10_000

    def write():
        recorder = Recorder(str(tmp_path))
        for number in range(count):
            recorder.event("row", writer=os.getpid(), number=number, text=long_text)

    children = []
    for _ in range(3):
        pid = os.fork()
        if pid == 0:
            write()
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    found = events(tmp_path)
    assert len(found) == 3 * count
    for pid in children:
        assert [event["number"] for event in found if event["writer"] == pid] == list(range(count))


def test_a_killed_writer_leaves_complete_lines(tmp_path):
    recorder = Recorder(str(tmp_path))
    recorder.event("begin")

    def killed():
        own = Recorder(str(tmp_path))
        own.event("row", ordinal=0)
        os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_child(killed) == -signal.SIGKILL
    assert [event["event"] for event in events(tmp_path)] == ["begin", "row"]


def test_a_full_disk_is_an_error_and_the_prefix_stays_readable(tmp_path):
    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        recorder = Recorder(str(tmp_path))
        try:
            for number in range(1000):
                recorder.event("row", number=number, text="x" * 100)
        except OSError as error:
            return 0 if error.errno == errno.EFBIG else 2
        return 3

    assert in_a_child(fill) == 0
    numbers = [event["number"] for event in events(tmp_path)]
    assert numbers == list(range(len(numbers)))
    assert len(numbers) > 10


@pytest.mark.parametrize("content", ["module {}\n", b"\x7fELF\x00\xff"])
def test_a_stage_is_stored_under_its_hash(tmp_path, content):
    data = content.encode() if isinstance(content, str) else content
    recorder = Recorder(str(tmp_path))
    reference = recorder.put_ir("ttgir", content)
    assert reference["sha256"] == hashlib.sha256(data).hexdigest()
    assert (tmp_path / reference["file"]).read_bytes() == data
    assert reference["file"].startswith("ir/")
    assert reference["file"].endswith(".ttgir")
    assert recorder.put_ir("ttgir", content) == reference
    assert len(list((tmp_path / wire.IR_FOLDER).iterdir())) == 1


def test_stages_with_equal_text_keep_their_names(tmp_path):
    recorder = Recorder(str(tmp_path))
    assert recorder.put_ir("ttir", "same")["file"] != recorder.put_ir("ttgir", "same")["file"]


def test_what_json_does_not_know_becomes_text(tmp_path):
    Recorder(str(tmp_path)).event("row", path=tmp_path)
    assert events(tmp_path)[0]["path"] == str(tmp_path)
    assert json.loads((tmp_path / wire.EVENTS_FILE).read_text())["event"] == "row"
