"""Rows of a card and of the stand-in agree when they launch the same kernels, in order, with the same TTGIR."""

import pytest
from card_compare import RunRows, compare

from .made_up import key, run_record

TWO = (("first", "aa"), ("second", "bb"))
FAILED = {"key": list(key("[64]").values()), "phase": "compile", "message": "no room", "kernel": ""}


def rows(*arguments, **more):
    return RunRows.of(run_record(*arguments, **more))


def only_why(card, offline):
    (found,) = compare(card, offline).disagreements
    return found.why


def test_the_same_launches_agree():
    found = compare(rows({"[64]": [0, 1], "[128]": [1]}, TWO), rows({"[128]": [1], "[64]": [0, 1]}, TWO))
    assert (found.rows, found.agree, found.without_kernel, found.disagreements) == (2, 2, 0, ())


def test_kernels_are_compared_by_what_they_are_and_not_by_their_place():
    assert compare(rows({"[64]": [0, 1]}, TWO), rows({"[64]": [1, 0]}, TWO[::-1])).agree == 1


def test_rows_that_both_launch_nothing_agree_and_are_counted():
    found = compare(rows({"[64]": [], "[128]": [0]}), rows({"[64]": [], "[128]": [0]}))
    assert (found.agree, found.without_kernel) == (2, 1)


@pytest.mark.parametrize(
    ("places", "expected"),
    [
        ([1, 0], "launches first, second on the card, the same in another order offline"),
        ([0], "launches first, second on the card, first offline"),
        ([], "launches first, second on the card, nothing offline"),
        ([0, 1, 1], "launches first, second on the card, first, second (2 times) offline"),
    ],
)
def test_other_launches_do_not_agree(places, expected):
    assert only_why(rows({"[64]": [0, 1]}, TWO), rows({"[64]": places}, TWO)) == expected


def test_another_fingerprint_does_not_agree_and_names_how_the_kernel_was_compiled():
    card, offline = run_record({"[64]": [0]}), run_record({"[64]": [0]}, (("kernel", "bb"),))
    assert only_why(RunRows.of(card), RunRows.of(offline)) == "kernel: TTGIR differs, compiled alike"
    offline["kernels"][0] |= {"num_warps": 8, "configuration": "BLOCK: 64"}
    expected = "kernel: TTGIR differs, compiled with other num_warps, configuration"
    assert only_why(RunRows.of(card), RunRows.of(offline)) == expected


def test_another_identity_alone_is_no_difference():
    card, offline = run_record({"[64]": [0]}), run_record({"[64]": [0]})
    offline["kernels"][0]["constants"] = "{1: 2}"
    assert compare(RunRows.of(card), RunRows.of(offline)).agree == 1


def test_code_that_can_not_be_read_equals_nothing():
    unreadable = (("kernel", ""),)
    card, offline = rows({"[64]": [0]}, unreadable), rows({"[64]": [0]}, unreadable)
    assert only_why(card, offline) == "kernel: its TTGIR can not be read on the card"
    assert only_why(rows({"[64]": [0]}), offline) == "kernel: its TTGIR can not be read offline"


def test_a_row_of_one_side_alone_does_not_agree_and_says_why():
    both, lacking = rows({"[64]": [0], "[128]": [0]}), {"[128]": [0]}
    assert only_why(both, rows(lacking, failed=[FAILED])) == "no row offline: no room"
    assert only_why(both, rows(lacking, absence="needs a device: aten::x")) == "no row offline: needs a device: aten::x"
    assert only_why(rows(lacking), both) == "no row on the card: no reason was recorded"


def test_guesses_and_missing_pins_are_named_beside_the_difference():
    offline = run_record({"[64]": []}, missing_pins=[{"tuner": "t"}])
    offline["rows"][0]["guesses"] = 2
    expected = (
        "launches kernel on the card, nothing offline (offline: 2 guessed values, 1 pins of the test were missing)"
    )
    assert only_why(rows({"[64]": [0]}), RunRows.of(offline)) == expected
