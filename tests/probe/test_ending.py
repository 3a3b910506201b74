"""A session that ends before its tests do says which tests it did not run, and why."""

import pytest

pytestmark = pytest.mark.integration


@pytest.mark.parametrize(
    ("how", "status", "stopped"),
    [("exit", 3, "Exit: enough"), ("quiet_exit", 0, "Exit: enough"), ("interrupt", 2, "KeyboardInterrupt: ")],
)
def test_tests_that_did_not_run_are_named(cases, how, status, stopped):
    node = f"bench_ending.py::test_ends[{how}]"
    ran = cases.run(node, pytest_args=["bench_ending.py::test_first", node, "bench_ending.py::test_last"])
    assert ran.end["code"] == status
    end = ran.one("end")
    assert (end["exit"], end["stopped"]) == (status, stopped)
    assert end["unrun"] == [node, "bench_ending.py::test_last"]
    assert [row["operator"] for row in ran.of("row")] == ["first", "ends"]


def test_a_limit_on_failures_leaves_tests_unrun(cases):
    ran = cases.run("bench_failing.py", pytest_args=["--maxfail=1"])
    assert "bench_failing.py::test_bystander" in ran.one("end")["unrun"]


def test_an_orderly_end_leaves_nothing(cases):
    for node in ("bench_selection.py", "bench_failing.py", "bench_swallowing.py"):
        end = cases.run(node).one("end")
        assert (end["unrun"], end["stopped"]) == ([], "")


def test_a_dtype_that_was_not_asked_for_is_not_unrun(cases):
    assert cases.run("bench_selection.py", dtype="float32").one("end")["unrun"] == []


BREAKING = """
def pytest_runtest_logfinish(nodeid):
    raise LookupError("no such report")
"""


def test_an_error_in_a_plugin_of_the_suite_is_named(cases):
    (cases.suite / "breaking").mkdir()
    cases.write("breaking/conftest.py", BREAKING)
    cases.write("breaking/bench_two.py", "def test_one(): pass\ndef test_two(): pass\n")
    end = cases.run("breaking/bench_two.py").one("end")
    assert (end["exit"], end["stopped"]) == (3, "LookupError: no such report")
    assert end["unrun"] == ["breaking/bench_two.py::test_two"]
