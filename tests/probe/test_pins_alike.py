"""Tuners that look alike, and tuners whose candidates are not the same on both sides."""

import json

import pytest

pytestmark = pytest.mark.integration


def blocks(ran):
    return [[json.loads(kernel["constants"])["BLOCK"] for kernel in row] for row in ran.rows()]


def first(cases, name):
    return cases.run("bench_pins_alike.py::test_" + name)


@pytest.fixture
def after(cases, tmp_path):
    """Replays on the after side what the before side recorded; the benchmark file knows its side by a folder's name."""

    def run(name, before):
        fields = ("tuner", "key", "configuration", "position", "candidates")
        records = [{field: pin[field] for field in fields} | {"how": "tuned"} for pin in before.of("pin")]
        caches = {"TRITON_CACHE_DIR": "cache", "ZL_CASE_NOTES": "notes", "ZL_CASE_SIDE": "after"}
        return cases.run(
            "bench_pins_alike.py::test_" + name,
            pins={"mode": "replay", "records": records},
            caches={variable: str(tmp_path / folder) for variable, folder in caches.items()},
        )

    return run


def choices(ran):
    """Block by tuner."""
    return {pin["tuner"]: json.loads(pin["configuration"])["BLOCK"] for pin in ran.of("pin")}


def test_tuners_of_a_factory_choose_each_for_itself(cases, after):
    before = first(cases, "factory")
    assert blocks(before) == [[256], [64], [256]]
    one, other = choices(before)
    assert other == one + ".2"
    replayed = after("factory", before)
    assert blocks(replayed) == [[256], [64], [256]]
    assert [pin["how"] for pin in replayed.of("pin")] == ["replayed", "replayed"]
    assert not replayed.of("pin_missing")


def test_tuners_keep_their_records_when_a_side_uses_them_in_another_order(cases, after):
    before = first(cases, "order")
    assert blocks(before) == [[16, 256]]
    replayed = after("order", before)
    assert blocks(replayed) == [[256, 16]]
    assert choices(replayed) == choices(before)
    assert [pin["how"] for pin in replayed.of("pin")] == ["replayed", "replayed"]
    assert not replayed.of("pin_missing")


def test_a_tuner_without_a_choice_does_not_escape_its_record(cases, after):
    before = first(cases, "shrinks")
    replayed = after("shrinks", before)
    assert (blocks(before), blocks(replayed)) == ([[64]], [[512]])
    missing = replayed.one("pin_missing")
    assert (missing["tuner"], missing["key"]) == (before.one("pin")["tuner"], before.one("pin")["key"])
    assert '"BLOCK":64' in missing["reason"]
    assert '"BLOCK":512' in missing["reason"]


def test_a_tuner_left_with_the_recorded_choice_misses_nothing(cases, after):
    replayed = after("same_choice_left", first(cases, "same_choice_left"))
    assert blocks(replayed) == [[64]]
    assert not replayed.of("pin_missing")


@pytest.mark.parametrize("name", ["grows", "reordered"])
def test_a_choice_is_replayed_though_the_candidates_are_others(cases, after, name):
    before = first(cases, name)
    replayed = after(name, before)
    assert blocks(replayed) == [[64]]
    assert choices(replayed) == choices(before)
    assert replayed.one("pin")["how"] == "replayed"
    assert not replayed.of("pin_missing")


def test_a_tuner_with_one_configuration_beside_a_tuned_one_misses_nothing(cases, after):
    before = first(cases, "fixed_beside_tuned")
    replayed = after("fixed_beside_tuned", before)
    assert blocks(before) == blocks(replayed) == [[32, 64]]
    assert not replayed.of("pin_missing")


def test_candidates_timed_within_the_timed_call_are_no_launches_of_the_row(cases):
    ran = cases.run("bench_pins_alike.py::test_tuned_within_the_timed_call", pins={"mode": "tune", "records": []})
    if ran.end["code"] and "unexpected keyword argument 'do_bench'" in ran.log():
        pytest.skip("this Triton's autotuner takes no timing function, and there is no card to time on")
    assert ran.notes()["timed"] == 4
    assert [len(row) for row in blocks(ran)] == [1]
