"""What a kill leaves of a results file can be read and gone on with."""

import json_lines


def test_lines_come_back_as_they_were_appended(tmp_path):
    path = tmp_path / "new" / "results.jsonl"
    for number in range(3):
        json_lines.append(path, {"number": number, "text": "a\u2028b\n"})
    assert list(json_lines.read(path)) == [{"number": number, "text": "a\u2028b\n"} for number in range(3)]


def test_a_line_that_was_cut_short_is_none_and_makes_way_for_the_next(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"number":0}\n{"numb')
    assert list(json_lines.read(path)) == [{"number": 0}]
    json_lines.append(path, {"number": 1})
    assert path.read_bytes() == b'{"number":0}\n{"number":1}\n'


def test_a_first_line_that_was_cut_short_makes_way_too(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"numb')
    assert list(json_lines.read(path)) == []
    json_lines.append(path, {"number": 1})
    assert path.read_bytes() == b'{"number":1}\n'


def test_files_are_read_in_order_and_one_that_is_not_there_has_nothing(tmp_path):
    for name in ("a", "b"):
        json_lines.append(tmp_path / name, {"name": name})
    found = json_lines.read_all([tmp_path / "b", tmp_path / "none", tmp_path / "a"])
    assert [line["name"] for line in found] == ["b", "a"]
