"""The choices of a run that is still going on are taken in as they come, and waited for until it has ended."""

import json

import pytest
from zl_probe.pins_followed import FollowedPins
from zl_probe.wire import EVENTS_FILE, OUTCOME_FILE


class GrowingRun:
    """A run's directory to which something is added each time that its reader waits."""

    def __init__(self, folder, *steps):
        self.folder = folder
        self.steps = list(steps)
        self.waits = 0
        self.pins = []

    def go_on(self, _seconds):
        self.waits += 1
        text = self.steps.pop(0)
        if text is None:
            (self.folder / OUTCOME_FILE).write_text("{}")
            return
        with (self.folder / EVENTS_FILE).open("a") as stream:
            stream.write(text)

    def until(self, followed, enough):
        followed.until(lambda: enough in self.pins, lambda event: self.pins.append(event["tuner"]))


def pin(tuner):
    return json.dumps({"event": "pin", "tuner": tuner}) + "\n"


@pytest.fixture
def following(tmp_path):
    def make(*steps):
        run = GrowingRun(tmp_path, *steps)
        return run, FollowedPins(str(tmp_path), run.go_on)

    return make


def test_a_choice_is_waited_for_and_later_ones_are_left(following):
    run, followed = following('{"event": "begin"}\n', pin("a"), pin("b") + pin("c"), pin("d"))
    run.until(followed, "b")
    assert (run.pins, run.waits, followed.over) == (["a", "b", "c"], 3, False)
    run.until(followed, "a")
    assert run.waits == 3


def test_half_a_line_is_no_choice_yet(following):
    run, followed = following(pin("a")[:20], pin("a")[20:])
    run.until(followed, "a")
    assert (run.pins, run.waits) == (["a"], 2)


def test_the_end_of_the_run_ends_the_waiting_and_nothing_before_it_is_missed(following):
    run, followed = following(pin("a"), None)
    run.until(followed, "never")
    assert (run.pins, followed.over) == (["a"], True)
    run.until(followed, "never")
    assert run.waits == 2


def test_a_damaged_line_is_left_to_its_reader(following):
    run, followed = following('{"event": "pin", \n["pin"]\n' + pin("a"))
    run.until(followed, "a")
    assert run.pins == ["a"]
