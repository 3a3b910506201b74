"""Each call of a timing function is one row, labelled by its test."""

import pytest

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def ran(cases):
    return cases.run("bench_rows.py")


def test_the_timing_functions_answer_in_the_shape_that_was_asked_for(ran):
    ran.rows()
    three = [1.0, 1.0, 1.0]
    assert ran.notes()["answers"] == {
        "plain": 1.0,
        "quantiles": three,
        "one_quantile": 1.0,
        "positional_quantiles": three,
        "min": 1.0,
        "all": [1.0],
        "graph": 1.0,
        "by_module": 1.0,
    }


def test_every_timing_call_is_a_row(ran):
    assert [[kernel["name"] for kernel in row] for row in ran.rows("shapes")] == [["add"]] * len(ran.rows("shapes"))
    assert len(ran.rows("shapes")) in (8, 10)
    ordinals = [row["ordinal"] for row in ran.of("row") if row["operator"] == "shapes"]
    assert ordinals == list(range(len(ordinals)))


def test_gradients_are_dropped_before_the_timed_call_only(ran):
    assert ran.notes()["gradients"] == ["old", None]


def test_rows_are_labelled_by_test_and_parameters_and_counted_by_label(ran):
    fields = ("node", "operator", "dtype", "detail", "ordinal", "guesses")
    labels = [tuple(row[field] for field in fields) for row in ran.of("row") if row["operator"] == "labels"]
    assert sorted(labels) == [
        ("bench_rows.py::test_labels", "labels", dtype, "size=" + size, ordinal, 0)
        for dtype in ("fp16", "fp32")
        for size in ("(64, 2)", "128")
        for ordinal in (0, 1)
    ]


def test_a_test_without_parameters_has_no_dtype_and_no_detail(ran):
    (row,) = [row for row in ran.of("row") if row["operator"] == "other"]
    assert (row["dtype"], row["detail"], row["ordinal"]) == ("-", "", 0)
