"""Tuners that override `run` are pinned too: the configuration, its pre_hook, and the key as the tuner rounds it."""

import json

import pytest

pytestmark = pytest.mark.integration


def test_a_tuner_with_its_own_run_takes_the_first_candidate(cases):
    ran = cases.run("bench_library_tuner.py::test_rounded")
    assert ran.pins() == [(0, 3, "first"), (0, 3, "first")]
    assert [json.loads(kernel["constants"])["BLOCK"] for row in ran.rows() for kernel in row] == [256] * 3


def test_keys_that_the_tuner_rounds_alike_share_a_pin(cases):
    ran = cases.run("bench_library_tuner.py::test_rounded")
    assert [json.loads(event["key"])[0] for event in ran.of("pin")] == [[["n", 1024]], [["n", 1056]]]


def test_the_configurations_pre_hook_is_kept(cases):
    """One call to settle and one to record, for each of three rows."""
    ran = cases.run("bench_library_tuner.py::test_rounded")
    assert ran.notes()["hooked"] == [256] * 6


def test_a_recorded_configuration_is_replayed(cases):
    pins = cases.run("bench_library_tuner.py::test_rounded").of("pin")
    last = '{"BLOCK":128,"num_ctas":1,"num_stages":2,"num_warps":4}'
    records = [{**pin, "configuration": last} for pin in pins]
    ran = cases.run("bench_library_tuner.py::test_rounded", pins={"mode": "replay", "records": records})
    assert [(position, candidates) for position, candidates, _ in ran.pins()] == [(2, 3), (2, 3)]
    assert not ran.of("pin_missing")


def test_a_policy_that_calls_its_bases_run_is_pinned_once(cases):
    assert cases.run("bench_library_tuner.py::test_policy").pins() == [(0, 3, "first")]
