"""A row that fails is a failed row, whatever its test makes of that."""

import pytest

pytestmark = pytest.mark.integration
MESSAGE = "Fault: no such operator (bench_swallowing.py:"


def run(cases, name):
    return cases.run("bench_swallowing.py::test_" + name)


def failures(ran):
    """(ordinal, whole_test) of each event, in order."""
    assert all(event["phase"] == "run" and event["message"] for event in ran.of("row_failed"))
    return [(event["ordinal"], event["whole_test"]) for event in ran.of("row_failed")]


def ordinals(ran):
    return [row["ordinal"] for row in ran.of("row")]


def test_a_failure_that_the_test_catches_is_recorded_and_takes_up_an_ordinal(cases):
    ran = run(cases, "catches")
    assert failures(ran) == [(1, False)]
    assert ran.one("row_failed")["message"].startswith(MESSAGE)
    assert ordinals(ran) == [0, 2]
    assert ran.names() == [["add"], ["double"]]
    assert ran.one("test")["outcome"] == "passed"


@pytest.mark.parametrize(("name", "reason"), [("skips", "not here"), ("expects", "known to fail")])
def test_a_failure_for_which_the_suite_skips_or_that_it_expects_ended_the_test(cases, name, reason):
    ran = run(cases, name)
    assert failures(ran) == [(0, False), (0, True)]
    assert all(event["message"].startswith(MESSAGE) for event in ran.of("row_failed"))
    assert (ran.one("test")["outcome"], ran.one("test")["message"]) == ("skipped", reason)


def test_a_failure_that_ends_the_test_later_keeps_its_key(cases):
    ran = run(cases, "raises_it_late")
    assert failures(ran) == [(0, False), (0, True)]
    assert ordinals(ran) == [1]
    assert ran.one("test")["outcome"] == "failed"


def test_another_failure_of_the_test_is_one_of_its_own(cases):
    ran = run(cases, "fails_for_another_reason")
    assert failures(ran) == [(0, False), (1, True)]
    assert "LookupError" in ran.of("row_failed")[1]["message"]


def test_a_verdict_of_the_suite_within_a_row_is_a_failure_and_a_skip_is_none(cases):
    assert failures(run(cases, "fails_by_hand")) == [(0, False), (0, True)]
    skipped = run(cases, "skips_within")
    assert failures(skipped) == []
    assert skipped.one("test")["message"] == "not this size"


def test_a_refusal_of_the_stand_in_can_not_be_hidden(cases):
    ran = run(cases, "catches_a_refusal")
    assert ran.one("needs_device")["operation"] == "aten.nonzero"
    assert failures(ran) == [(0, False)]


def test_timing_within_a_timed_call_belongs_to_the_outer_row(cases):
    ran = run(cases, "nested")
    assert ran.names() == [["add", "double", "add"], ["add"]]
    assert ordinals(ran) == [0, 1]
    assert ran.notes()["nested"] == [[1.0, 1.0]] * 2


def test_a_failure_within_a_timed_call_is_one_failure(cases):
    ran = run(cases, "nested_failure")
    assert failures(ran) == [(0, False)]
    assert ordinals(ran) == [1]


def test_values_that_print_their_address_are_told_apart_and_alike_in_every_process(cases):
    here = run(cases, "addresses")
    there = cases.run_alone("bench_swallowing.py::test_addresses")
    details = [row["detail"] for row in here.of("row")]
    assert details == [row["detail"] for row in there.of("row")]
    assert len(set(details)) == len(details) == 8
    assert "count=1 size=1-size0" in details
    assert set(ordinals(here)) == {0}


def test_what_is_timed_while_no_test_runs_is_called_and_is_no_row(cases):
    ran = cases.run("bench_unlabelled.py")
    assert ran.one("unlabelled_row")["caller"] == "bench_unlabelled.py:6"
    assert [event["kernel"] for event in ran.of("compile")] == ["double", "add"]
    assert ran.names() == [["add"]]
    assert ran.notes()["answer"] == 1.0
