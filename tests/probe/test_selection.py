"""Which tests of a node run, and why the others do not."""

import pytest

pytestmark = pytest.mark.integration


def outcomes(ran):
    return [(event["node"].rsplit("::", 1)[-1], event["outcome"], event["message"]) for event in ran.of("test")]


def test_without_a_dtype_all_of_them_run(cases):
    ran = cases.run("bench_selection.py::test_typed")
    assert [row["dtype"] for row in ran.of("row")] == ["float16", "float32"]
    assert len(ran.one("collected")["nodes"]) == 2


def test_a_dtype_selects_its_tests(cases):
    ran = cases.run("bench_selection.py", dtype="float32")
    assert [(row["operator"], row["dtype"]) for row in ran.of("row")] == [("typed", "float32")]
    assert len(ran.one("collected")["nodes"]) == 1
    assert not ran.of("deselected")


def test_a_dtype_that_the_node_does_not_have_is_named_with_those_that_it_has(cases):
    ran = cases.run("bench_selection.py::test_typed", dtype="int8")
    event = ran.one("deselected")
    assert (event["dtype"], event["available"]) == ("int8", ["float16", "float32"])
    assert ran.one("collected")["nodes"] == []
    assert ran.end["code"] == 5
    assert not ran.of("row")


def test_a_node_without_dtypes_has_none_to_offer(cases):
    ran = cases.run("bench_selection.py::test_untyped", dtype="float16")
    assert ran.one("deselected")["available"] == []


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        ("test_marked", "not on this card"),
        ("test_skips_itself", "the size does not fit"),
        ("test_skips_late", "only one size fits"),
    ],
)
def test_the_reason_of_a_skip_is_recorded_as_it_was_written(cases, node, reason):
    ran = cases.run("bench_selection.py::" + node)
    assert outcomes(ran) == [(node, "skipped", reason)]
    assert not ran.of("row_failed")
    assert len(ran.of("row")) == (node == "test_skips_late")


def test_an_expected_failure_is_a_skip_with_its_reason(cases):
    ran = cases.run("bench_selection.py::test_expected_failure")
    assert outcomes(ran) == [("test_expected_failure", "skipped", "known to fail")]


def test_an_unexpected_success_is_a_failure_where_the_suite_says_so(cases):
    ran = cases.run("bench_selection.py::test_unexpected_success")
    assert outcomes(ran) == [("test_unexpected_success", "failed", "[XPASS(strict)] known to fail")]
    assert ran.end["code"] == 1
    assert len(ran.of("row")) == 1


def test_a_skip_of_the_whole_file_is_recorded(cases):
    cases.write("bench_skipped.py", "import pytest\npytest.skip('not here at all', allow_module_level=True)\n")
    ran = cases.run("bench_skipped.py")
    assert outcomes(ran) == [("bench_skipped.py", "skipped", "not here at all")]
    assert ran.one("collected")["nodes"] == []


def test_a_file_that_can_not_be_imported_is_a_failure_with_its_reason(cases):
    cases.write("bench_unimportable.py", "import surely_not_installed\n\ndef test_it():\n    pass\n")
    ran = cases.run("bench_unimportable.py::test_it")
    ((_, outcome, message),) = outcomes(ran)
    assert outcome == "failed"
    assert message == "ModuleNotFoundError: No module named 'surely_not_installed' (bench_unimportable.py:1)"
    assert ran.end["code"] != 0


def test_a_file_that_is_not_python_is_a_failure_that_names_its_line(cases):
    cases.write("bench_broken.py", "import pytest\n\ndef test_(:\n")
    ran = cases.run("bench_broken.py")
    ((_, outcome, message),) = outcomes(ran)
    assert (outcome, message) == ("failed", "SyntaxError: invalid syntax (bench_broken.py:3)")


def test_a_node_that_does_not_exist_ends_as_pytest_s_usage_error(cases):
    ran = cases.run("bench_selection.py::test_gone")
    assert ran.end["code"] == ran.one("end")["exit"] == 4
    assert "test_gone" in ran.one("end")["message"]
