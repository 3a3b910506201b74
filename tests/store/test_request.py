from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from zl_bench.errors import UsageError
from zl_bench.store.request import ScreenRequest, differences, read_request, require_same, write_request

REQUEST = ScreenRequest(
    switch="pass:pipeline", target="cuda:90", suite="builtin", stages="all", configs="first", env={"A": "1"},
    env_before={}, env_after={}, operators=("add", "mm:float16"), tool_version="0.1.0",
    started="2026-01-02T03:04:05+00:00", extra={"before Triton": "ab"},
)  # fmt: skip


def test_a_request_is_read_back(tmp_path: Path) -> None:
    assert read_request(tmp_path) is None
    write_request(tmp_path, REQUEST)
    assert read_request(tmp_path) == REQUEST


def test_when_it_was_asked_does_not_matter(tmp_path: Path) -> None:
    later = replace(REQUEST, started="later")
    assert differences(REQUEST, later) == []
    require_same(tmp_path, REQUEST, later)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"switch": "pass:coalesce"}, "switch was pass:pipeline, now pass:coalesce"),
        ({"target": None}, "target was cuda:90, now not given"),
        ({"env": {"A": "2"}}, "env A was 1, now 2"),
        ({"env": {}}, "env A was 1, now not given"),
        ({"env_after": {"B": "3"}}, "env after B was not given, now 3"),
        ({"operators": ()}, "operators was add mm:float16, now not given"),
        ({"extra": {"before Triton": "cd"}}, "before Triton was ab, now cd"),
        ({"self_check": True}, "self check was False, now True"),
        ({"tool_version": "9"}, "tool version was 0.1.0, now 9"),
        ({"timing": "graph"}, "timing was not given, now graph"),
        ({"l2": "warm"}, "l2 was not given, now warm"),
        ({"side": "after"}, "side was not given, now after"),
    ],
)
def test_what_differs_is_named(tmp_path: Path, change: dict[str, object], sentence: str) -> None:
    asked = replace(REQUEST, **change)  # type: ignore[arg-type]
    assert differences(REQUEST, asked) == [sentence]
    with pytest.raises(UsageError, match="--root") as caught:
        require_same(tmp_path, REQUEST, asked)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"operators": 3}', '{"operators": []}'])
def test_a_file_that_is_no_request(tmp_path: Path, text: str) -> None:
    (tmp_path / "screen.json").write_text(text)
    with pytest.raises(UsageError, match="no request"):
        read_request(tmp_path)


CARD = {"index": "0", "name": "Simulated H1", "uuid": "SIM-a", "pci": ""}


def test_cards_are_kept_and_others_make_no_difference(tmp_path: Path) -> None:
    on_a_card = replace(REQUEST, target=None, cards=(CARD,), timing="graph", l2="cold")
    write_request(tmp_path, on_a_card)
    assert read_request(tmp_path) == on_a_card
    assert differences(on_a_card, replace(on_a_card, cards=({**CARD, "index": "1", "uuid": "SIM-b"},))) == []


def test_a_request_of_another_name_is_another(tmp_path: Path) -> None:
    write_request(tmp_path, replace(REQUEST, side="after"), "run_after.json")
    assert read_request(tmp_path) is None
    found = read_request(tmp_path, "run_after.json")
    assert found is not None
    assert found.side == "after"


def test_a_request_from_before_there_were_cards(tmp_path: Path) -> None:
    write_request(tmp_path, REQUEST)
    record = json.loads((tmp_path / "screen.json").read_text())
    for name in ("cards", "timing", "l2", "side"):
        del record[name]
    (tmp_path / "screen.json").write_text(json.dumps(record))
    assert read_request(tmp_path) == REQUEST
