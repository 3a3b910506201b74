"""A size detail as long as a list of a million numbers is abridged, for the row's key and for the suite itself."""

import types

from zl_probe import flaggems


def _recorded(detail):
    rows = types.SimpleNamespace(label=None, baseline=False)
    watch = flaggems.BenchmarkWatch(types.SimpleNamespace(event=lambda *_, **__: None), rows, None)
    benchmark = types.SimpleNamespace(op_name="stack", to_bench_metrics=["latency"], shapes=None)
    handed_back = watch._record_shapes(benchmark, lambda *_: detail)
    return handed_back, rows.label["detail"]


def test_a_detail_is_the_suites_own():
    assert _recorded([(2, 3)]) == ([(2, 3)], "[(2, 3)]")


def test_a_very_long_detail_is_abridged_and_still_tells_itself_apart():
    one, label = _recorded([7] * flaggems.DETAIL_LIMIT)
    other, _ = _recorded([7] * (flaggems.DETAIL_LIMIT - 1) + [8])
    assert one == label
    assert len(one) < 200
    assert one.startswith("[7, 7")
    assert one != other
