"""A run's kernels are compiled by that run, whatever cache its suite prefers."""

import shutil

import pytest

pytestmark = pytest.mark.integration
DROPPED = {"name": "remove_layout_conversions", "occurrence": None}


def converts(ran):
    ((kernel,),) = ran.rows()
    return (ran.out / kernel["stages"]["ttgir"]["file"]).read_text().count("convert_layout")


@pytest.fixture(autouse=True)
def cold(cases):
    """What the suite shares between its runs is gone before each test."""
    shutil.rmtree(cases.suite / "shared", ignore_errors=True)


def test_a_folder_that_the_suite_sets_is_not_shared_by_the_sides(cases):
    before = cases.run_again("bench_cache.py::test_own_folder")
    after = cases.run_again("bench_cache.py::test_own_folder", drop_pass=DROPPED)
    for ran in (before, after):
        event = ran.one("compile")
        assert (event["cached"], event["foreign"]) == (False, False)
        assert ran.one("end")["cached_kernels"] == 1
    assert converts(after) > converts(before)
    assert not [path for path in (cases.suite / "shared").rglob("*") if path.is_file()]


def test_a_kernel_from_a_cache_that_can_not_be_pinned_is_foreign(cases):
    first = cases.run_again("bench_cache.py::test_own_manager")
    event = first.one("compile")
    assert (event["cached"], event["foreign"]) == (False, False)
    again = cases.run_again("bench_cache.py::test_own_manager")
    event = again.one("compile")
    assert (event["cached"], event["foreign"]) == (True, True)


def test_a_kernel_of_a_forked_child_is_counted_though_no_launch_was_seen(cases):
    ran = cases.run_again("bench_cache.py::test_forked_child")
    assert ran.names() == [[]]
    assert not ran.of("compile")
    assert ran.one("end")["cached_kernels"] == 1


def test_a_run_without_kernels_has_none_in_its_cache(cases):
    assert cases.run("bench_selection.py::test_marked").one("end")["cached_kernels"] == 0


def test_tuning_and_repetition_add_no_kernels(cases):
    ran = cases.run("bench_capture.py::test_order")
    assert ran.one("end")["cached_kernels"] == len(ran.of("compile")) == 3
