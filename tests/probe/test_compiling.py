"""Compilations: their events, their failures, pipelines that end early, and passes that are left out."""

import pytest

pytestmark = pytest.mark.integration
ACCELERATE = {"name": "accelerate_matmul", "occurrence": None}
LAYOUTS = "remove_layout_conversions"


def ttgir(ran):
    ((kernel,),) = ran.rows()
    return (ran.out / kernel["stages"]["ttgir"]["file"]).read_text()


def test_stages_ttgir_ends_the_pipeline_there(cases):
    ran = cases.run("bench_failing.py::test_transpose", stages="ttgir")
    ((kernel,),) = ran.rows()
    assert list(kernel["stages"]) == ["ttir", "ttgir"]
    assert kernel["shared"] is None
    assert "ttg.convert_layout" in ttgir(ran) or "triton_gpu.convert_layout" in ttgir(ran)
    assert sorted({path.suffix for path in (ran.out / "ir").iterdir()} - {".source"}) == [".ttgir", ".ttir"]


def test_a_short_pipeline_makes_the_same_ttgir_as_the_whole_one(cases):
    short = cases.run("bench_failing.py::test_transpose", stages="ttgir")
    whole = cases.run("bench_failing.py::test_transpose", stages="all")
    ((kernel,),) = whole.rows()
    assert kernel["shared"] > 0
    assert ttgir(short) == ttgir(whole)


def test_every_compilation_is_an_event_and_a_warm_cache_shows(cases):
    first = cases.run("bench_failing.py::test_transpose")
    event = first.one("compile")
    assert (event["kernel"], event["cached"]) == ("transpose", False)
    assert event["seconds"] > 0
    caches = {"TRITON_CACHE_DIR": str(first.out / "cache"), "ZL_CASE_NOTES": str(first.out / "notes")}
    again = cases.run("bench_failing.py::test_transpose", caches=caches)
    assert again.one("compile")["cached"] is True
    assert ttgir(again) == ttgir(first)


def test_a_pass_can_be_left_out(cases):
    kept = ttgir(cases.run("bench_failing.py::test_transpose"))
    dropped = ttgir(cases.run("bench_failing.py::test_transpose", drop_pass={"name": LAYOUTS, "occurrence": None}))
    assert dropped.count("convert_layout") > kept.count("convert_layout")


def test_an_occurrence_beyond_the_last_leaves_nothing_out(cases):
    kept = ttgir(cases.run("bench_failing.py::test_transpose"))
    assert ttgir(cases.run("bench_failing.py::test_transpose", drop_pass={"name": LAYOUTS, "occurrence": 99})) == kept


def test_one_occurrence_is_not_all_of_them(cases):
    dropped = ttgir(cases.run("bench_failing.py::test_transpose", drop_pass={"name": LAYOUTS, "occurrence": None}))
    one = ttgir(cases.run("bench_failing.py::test_transpose", drop_pass={"name": LAYOUTS, "occurrence": 2}))
    assert one.count("convert_layout") < dropped.count("convert_layout")


def test_a_pass_that_this_triton_does_not_have_ends_the_run(cases):
    ran = cases.run("bench_failing.py::test_bystander", drop_pass={"name": "invented_pass", "occurrence": None})
    assert ran.end["code"] == 70
    assert "PassNotFound: invented_pass" in ran.log()
    assert not ran.of("row")


def test_a_failing_pass_manager_is_a_failed_row_with_the_compiler_s_own_words(cases):
    ran = cases.run("bench_failing.py::test_dot", drop_pass=ACCELERATE, stages="all")
    failed, compiler = ran.failed_row(), ran.one("compile_failed")
    assert (failed["operator"], failed["ordinal"], failed["phase"], failed["kernel"]) == ("dot", 0, "compile", "dot")
    assert failed["stage"].startswith("llir")
    assert failed["whole_test"] is True
    assert "PassManager::run failed" in failed["message"]
    assert compiler["cause"] in failed["message"]
    assert "kernels.py" in compiler["diagnostics"]
    assert compiler["cause"] and compiler["cause"] in compiler["diagnostics"]
    assert compiler["signature"].startswith('[["a","*fp16"]')
    assert ran.one("test")["outcome"] == "failed"
    assert ran.end["code"] == 1


def test_a_failing_kernel_leaves_the_other_tests_alone(cases):
    ran = cases.run("bench_failing.py", drop_pass=ACCELERATE, stages="all")
    outcomes = {event["node"].rsplit("::", 1)[1]: event["outcome"] for event in ran.of("test")}
    assert outcomes == {
        "test_frontend": "failed",
        "test_wrapped_compiler_error": "failed",
        "test_dot": "failed",
        "test_run": "failed",
        "test_needs_device": "failed",
        "test_fixture": "failed",
        "test_transpose": "passed",
        "test_bystander": "passed",
    }
    assert [row["operator"] for row in ran.of("row")] == ["frontend", "run", "transpose", "bystander"]


def test_an_error_in_the_kernel_s_source_fails_in_the_frontend(cases):
    ran = cases.run("bench_failing.py::test_frontend")
    failed = ran.failed_row()
    assert (failed["phase"], failed["kernel"], failed["stage"]) == ("compile", "misspelt", "frontend")
    assert failed["ordinal"] == 1  # the row before it was measured
    assert "offsett" in failed["message"]
    assert [row["ordinal"] for row in ran.of("row")] == [0]


def test_a_compiler_error_is_found_behind_the_suite_s_own(cases):
    failed = cases.run("bench_failing.py::test_wrapped_compiler_error").failed_row()
    assert failed["message"].startswith("ValueError: the operator failed")
    assert (failed["phase"], failed["kernel"], failed["stage"]) == ("compile", "misspelt", "frontend")


def test_an_error_of_the_suite_is_a_failure_of_the_run(cases):
    ran = cases.run("bench_failing.py::test_run")
    failed = ran.failed_row()
    assert (failed["phase"], failed["kernel"], failed["stage"], failed["ordinal"]) == ("run", "", "", 1)
    assert failed["message"].startswith("KeyError: 'missing' (bench_failing.py:")
    assert len(ran.of("row")) == 1


def test_an_error_in_a_fixture_is_a_failure_too(cases):
    ran = cases.run("bench_failing.py::test_fixture")
    failed = ran.failed_row()
    assert (failed["phase"], failed["operator"], failed["ordinal"]) == ("run", "fixture", 0)
    assert "LookupError: no such data" in failed["message"]


def test_what_needs_a_device_is_named(cases):
    ran = cases.run("bench_failing.py::test_needs_device")
    assert ran.one("needs_device")["operation"] == "aten.nonzero"
    assert ran.failed_row()["phase"] == "run"
