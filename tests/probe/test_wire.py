"""Reading events back, whatever became of the process that wrote them."""

import pytest
from zl_probe import wire


@pytest.fixture
def file(tmp_path):
    path = tmp_path / wire.EVENTS_FILE

    def write(data):
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return [event["event"] for event in wire.read_events(str(path))]

    return write


def test_whole_lines_are_events(file):
    assert file('{"event": "begin"}\n{"event": "row", "ordinal": 0}\n') == ["begin", "row"]


def test_a_file_that_was_never_written_has_no_events(tmp_path):
    assert list(wire.read_events(str(tmp_path / "absent.jsonl"))) == []


def test_an_empty_file_has_no_events(file):
    assert file("") == []


@pytest.mark.parametrize("rest", ['{"event": "row", "ordi', "{", '{"event": "ro\\', '{"event": "row"'])
def test_a_last_line_that_was_cut_short_is_passed_over(file, rest):
    assert file('{"event": "begin"}\n' + rest) == ["begin"]


def test_a_last_line_without_its_line_feed_is_complete(file):
    assert file('{"event": "begin"}\n{"event": "end"}') == ["begin", "end"]


def test_a_broken_line_in_the_middle_is_no_accident_of_a_kill(file):
    with pytest.raises(ValueError, match=r"events\.jsonl:2: not a JSON object"):
        file('{"event": "begin"}\n{"event": "ro\n{"event": "end"}\n')


def test_a_broken_last_line_with_its_line_feed_is_no_accident_either(file):
    with pytest.raises(ValueError, match=":2: not a JSON object"):
        file('{"event": "begin"}\n{"event": "ro\n')


def test_events_of_a_later_version_pass(file):
    assert file('{"event": "begin"}\n{"event": "novelty", "x": [1, {"y": null}]}\n') == ["begin", "novelty"]


def test_a_cut_inside_a_character_is_a_cut_line(file):
    assert file('{"event": "begin"}\n{"event": "r\u00f6w"}'.encode()[:-4]) == ["begin"]


def test_the_events_before_a_broken_line_are_read_first(tmp_path):
    path = tmp_path / wire.EVENTS_FILE
    path.write_text('{"event": "begin"}\nbroken\n{"event": "end"}\n')
    events = wire.read_events(str(path))
    assert next(events) == {"event": "begin"}
    with pytest.raises(ValueError, match=":2:"):
        next(events)
