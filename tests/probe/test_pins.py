"""Which configuration an autotuner gets, in each of the modes, and what is recorded of it."""

import json

import pytest
from zl_probe.pins import kernel_of

pytestmark = pytest.mark.integration
FIRST, MIDDLE, LAST = (f'{{"BLOCK":{block},"num_ctas":1,"num_stages":2,"num_warps":4}}' for block in (256, 64, 128))


def blocks(row):
    return [json.loads(kernel["constants"])["BLOCK"] for kernel in row]


def replay(*records):
    return {"mode": "replay", "records": list(records)}


@pytest.fixture(scope="module")
def recorded(cases):
    """The pin of the plain tuner, as if a card had made the choice."""
    ran = cases.run("bench_pins.py::test_plain")
    pin = ran.one("pin")
    return {field: pin[field] for field in ("tuner", "key", "configuration", "position", "candidates")} | {
        "how": "tuned"
    }


def test_first_takes_the_first_candidate_and_compiles_no_other(cases, recorded):
    ran = cases.run("bench_pins.py::test_plain")
    assert ran.pins() == [(0, 3, "first")]
    assert recorded["configuration"] == FIRST
    assert kernel_of(recorded["tuner"]) == "bench_pins.copy"
    assert blocks(ran.rows()[0]) == [256]
    assert ran.rows()[0][0]["configuration"] == FIRST
    assert len(ran.of("compile")) == 1


def test_a_pin_belongs_to_the_keys_and_the_dtypes(cases):
    ran = cases.run("bench_pins.py::test_keys")
    keys = [json.loads(event["key"]) for event in ran.of("pin")]
    assert keys == [
        [[["n", 1000]], ["fp32", "fp32"]],
        [[["n", 2000]], ["fp32", "fp32"]],
        [[["n", 1000]], ["fp16", "fp16"]],
    ]
    assert len(ran.rows()) == 4


def test_a_tuner_with_one_configuration_has_no_pin(cases):
    ran = cases.run("bench_pins.py::test_single_configuration")
    assert blocks(ran.rows()[0]) == [64]
    assert not ran.of("pin")


@pytest.mark.parametrize("node", ["test_static_assert", "test_shared_memory"])
def test_first_passes_over_a_candidate_that_does_not_compile_or_fit(cases, node):
    ran = cases.run("bench_pins.py::" + node, stages="all")
    ((kernel,),) = ran.rows()
    (pin,) = ran.of("pin")
    assert (pin["position"], pin["how"]) == (1, "first")
    assert kernel["configuration"] == pin["configuration"]
    assert kernel["num_stages"] == 2


def test_when_no_candidate_compiles_the_row_fails_with_the_compiler_s_message(cases):
    for mode in ("first", "all"):
        ran = cases.run("bench_pins.py::test_no_configuration_compiles", pins={"mode": mode, "records": []})
        failed = ran.failed_row()
        assert (failed["phase"], failed["kernel"], failed["stage"]) == ("compile", "impossible", "frontend")
        assert "no block is large enough" in failed["message"]
        assert len(ran.of("compile_failed")) == 3
        assert not ran.of("pin")


def test_all_launches_every_candidate_that_compiles(cases):
    ran = cases.run("bench_pins.py::test_plain", pins={"mode": "all", "records": []})
    assert ran.pins() == [(0, 3, "all"), (1, 3, "all"), (2, 3, "all")]
    assert blocks(ran.rows()[0]) == [256, 64, 128]
    assert [kernel["configuration"] for kernel in ran.rows()[0]] == [FIRST, MIDDLE, LAST]
    ran = cases.run("bench_pins.py::test_static_assert", pins={"mode": "all", "records": []})
    assert ran.pins() == [(1, 3, "all"), (2, 3, "all")]
    assert blocks(ran.rows()[0]) == [64, 128]


@pytest.mark.parametrize(("configuration", "block", "position"), [(MIDDLE, 64, 1), (LAST, 128, 2)])
def test_replay_forces_the_recorded_choice_and_nothing_else(cases, recorded, configuration, block, position):
    ran = cases.run("bench_pins.py::test_plain", pins=replay({**recorded, "configuration": configuration}))
    assert ran.pins() == [(position, 3, "replayed")]
    assert blocks(ran.rows()[0]) == [block]
    assert len(ran.of("compile")) == 1
    assert not ran.of("pin_missing")


def test_replay_of_several_choices_launches_them_in_their_order(cases, recorded):
    records = [{**recorded, "configuration": text} for text in (LAST, FIRST)]
    ran = cases.run("bench_pins.py::test_plain", pins=replay(*records))
    assert blocks(ran.rows()[0]) == [128, 256]
    assert ran.pins() == [(2, 3, "replayed"), (0, 3, "replayed")]


def test_what_one_run_records_another_replays(cases):
    for mode in ("first", "all"):
        before = cases.run("bench_pins.py::test_keys", pins={"mode": mode, "records": []})
        after = cases.run("bench_pins.py::test_keys", pins=replay(*before.of("pin")))
        assert not after.of("pin_missing")
        assert {event["how"] for event in after.of("pin")} == {"replayed"}
        assert [[kernel["id"] for kernel in row] for row in before.rows()] == [
            [kernel["id"] for kernel in row] for row in after.rows()
        ]


def test_a_choice_without_a_record_is_missing_and_falls_back_to_first(cases, recorded):
    ran = cases.run("bench_pins.py::test_keys", pins=replay({**recorded, "configuration": LAST}))
    assert [json.loads(event["key"]) for event in ran.of("pin_missing")] == [
        [[["n", 2000]], ["fp32", "fp32"]],
        [[["n", 1000]], ["fp16", "fp16"]],
    ]
    assert [event["how"] for event in ran.of("pin")] == ["replayed", "first", "first"]
    assert [blocks(row) for row in ran.rows()] == [[128], [256], [256], [128]]


def test_a_configuration_that_the_tuner_no_longer_has_is_missing(cases, recorded):
    gone = FIRST.replace("256", "4096")
    ran = cases.run("bench_pins.py::test_plain", pins=replay({**recorded, "configuration": gone}))
    assert gone in ran.one("pin_missing")["reason"]
    assert ran.pins() == [(0, 3, "first")]


def test_a_replayed_configuration_that_does_not_compile_is_a_failure_and_never_tuned_again(cases):
    pin = cases.run("bench_pins.py::test_static_assert").one("pin")
    ran = cases.run("bench_pins.py::test_static_assert", pins=replay({**pin, "configuration": FIRST}))
    failed = ran.failed_row()
    assert (failed["phase"], failed["kernel"], failed["stage"]) == ("compile", "choosy", "frontend")
    assert "too large a block" in failed["message"]
    assert len(ran.of("compile_failed")) == 1
    assert not ran.of("compile")
    assert not ran.of("pin")
    assert not ran.of("row")


def test_a_replayed_configuration_that_does_not_fit_is_a_failure(cases):
    pin = cases.run("bench_pins.py::test_shared_memory", stages="all").one("pin")
    wanted = pin["configuration"].replace('"num_stages":2', '"num_stages":6')
    ran = cases.run("bench_pins.py::test_shared_memory", stages="all", pins=replay({**pin, "configuration": wanted}))
    assert "out of resource" in ran.failed_row()["message"]
    assert not ran.of("pin")
    assert not ran.of("row")


def test_a_configuration_s_pre_hook_is_called_with_the_arguments(cases):
    ran = cases.run("bench_pins.py::test_hooks")
    assert ran.notes()["called"] == [[256, 1000], [256, 1000]]


def test_early_pruning_is_honoured(cases):
    ran = cases.run("bench_pins.py::test_pruning")
    assert ran.pins() == [(1, 3, "first")]
    assert blocks(ran.rows()[0]) == [64]
    assert ran.notes()["seen"][0] == [100, "none"]


def test_heuristics_see_the_configuration(cases):
    ran = cases.run("bench_pins.py::test_heuristics_inside")
    ((kernel,),) = ran.rows()
    assert json.loads(kernel["constants"]) == {"BLOCK": 256, "FULL": True}
    assert kernel_of(ran.one("pin")["tuner"]) == "bench_pins.with_mask"
    ran = cases.run("bench_pins.py::test_heuristics_outside")
    ((kernel,),) = ran.rows()
    assert json.loads(kernel["constants"]) == {"BLOCK": 256, "FULL": True}
    assert kernel_of(ran.one("pin")["tuner"]) == "bench_pins.with_mask"
    assert json.loads(ran.one("pin")["key"])[0] == [["n", 1024], ["FULL", True]]


def test_tuners_that_share_a_kernel_keep_their_own_choices(cases):
    before = cases.run("bench_pins.py::test_two_tuners_of_one_kernel")
    assert [blocks(row) for row in before.rows()] == [[256, 16]]
    assert [(event["candidates"], event["how"]) for event in before.of("pin")] == [(3, "first"), (2, "first")]
    after = cases.run("bench_pins.py::test_two_tuners_of_one_kernel", pins=replay(*before.of("pin")))
    assert [blocks(row) for row in after.rows()] == [[256, 16]]
    assert not after.of("pin_missing")


def test_tune_records_what_the_tuner_itself_chose(cases):
    ran = cases.run("bench_pins.py::test_timed", pins={"mode": "tune", "records": []})
    if ran.end["code"] and "unexpected keyword argument 'do_bench'" in ran.log():
        pytest.skip("this Triton's autotuner takes no timing function, and there is no card to time on")
    assert ran.notes()["timed"] == 3
    assert ran.pins() == [(2, 3, "tuned")]
    assert blocks(ran.rows()[0]) == [128]


@pytest.mark.parametrize(
    ("configuration", "others", "pins", "timed"),
    [
        (MIDDLE, "", (1, 3, "replayed"), 0),  # not what the tuner itself would choose
        (FIRST.replace("256", "4096"), "", (2, 3, "tuned"), 3),
        (MIDDLE, ".2", (2, 3, "tuned"), 3),
    ],
)
def test_a_process_that_goes_on_keeps_the_run_s_own_choices_and_makes_the_rest(
    cases, configuration, others, pins, timed
):
    tuned = cases.run("bench_pins.py::test_timed", pins={"mode": "tune", "records": []})
    if tuned.end["code"] and "unexpected keyword argument 'do_bench'" in tuned.log():
        pytest.skip("this Triton's autotuner takes no timing function, and there is no card to time on")
    record = tuned.one("pin")
    record = {**record, "configuration": configuration, "tuner": record["tuner"] + others}
    ran = cases.run("bench_pins.py::test_timed", pins={"mode": "tune", "records": [record]})
    assert ran.pins() == [pins]
    assert ran.notes()["timed"] == timed
    assert not ran.of("pin_missing")
