from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest

from tests.analysis.hand_made import run
from zl_bench.analysis.pins import covers_everything, summarise_pins
from zl_bench.model import MissingPin, Pin


def pin(
    how: Literal["tuned", "first", "all", "replayed"],
    configuration: str = "c0",
    key: str = "512",
    tuner: str = "mm",
    candidates: int = 36,
) -> Pin:
    return Pin(tuner, key, configuration, 0, candidates, how)


def label(before: list[Pin], after: list[Pin]) -> str:
    return summarise_pins([(run("before", pins=tuple(before)), run("after", pins=tuple(after)))]).label


def test_no_tuner() -> None:
    assert label([], []) == "none"


def test_first_counts_configurations_not_keys() -> None:
    assert label([pin("first"), pin("first", key="1024")], [pin("replayed")]) == "first 1/36"


def test_first_sums_over_distinct_tuners() -> None:
    assert label([pin("first"), pin("first", tuner="other", candidates=4)], []) == "first 2/40"


def test_all() -> None:
    configurations = [pin("all", f"c{number}") for number in range(36)]
    assert label(configurations, configurations) == "all 36/36"


def test_tuned_on_a_card_is_replayed() -> None:
    assert (
        label([pin("tuned"), pin("tuned", key="1024")], [pin("replayed"), pin("replayed", key="1024")])
        == "replayed 2/2"
    )


def test_a_decision_that_was_not_replayed_shows() -> None:
    assert label([pin("tuned"), pin("tuned", key="1024")], [pin("replayed")]) == "replayed 1/2"
    assert label([], [pin("tuned")]) == "replayed 0/1"


def test_the_replay_of_a_choice_that_no_card_timed_promises_no_more_than_the_choice() -> None:
    assert label([replace(pin("replayed"), origin="first")], [pin("replayed")]) == "first 1/36"
    assert label([replace(pin("replayed", candidates=1), origin="all")], [pin("replayed")]) == "all 1/1"


def test_any_first_makes_the_label_first() -> None:
    assert label([pin("replayed"), pin("first", tuner="other", candidates=2)], []).startswith("first")


def test_missing_outranks_everything() -> None:
    missing = (MissingPin("mm", "512", "gone"),)
    pair = (run("before", pins=(pin("first"),)), run("after", missing=missing))
    found = summarise_pins([pair])
    assert found.label == "missing 1"
    assert found.missing == ("after: mm 512: gone",)
    assert not found.complete


def test_another_configuration_than_the_pinned_one_is_missing() -> None:
    assert label([pin("tuned", "c0")], [pin("replayed", "c1")]) == "missing 1"


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        ("none", True),
        ("replayed 2/2", True),
        ("replayed 1/2", False),
        ("first 1/36", False),
        ("first 1/1", False),
        ("all 36/36", True),
        ("all 35/36", False),
        ("missing 1", False),
        ("", False),
        ("all", False),
    ],
)
def test_what_a_label_promises(text: str, complete: bool) -> None:
    assert covers_everything(text) is complete
