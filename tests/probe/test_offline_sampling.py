"""Few numbers out of very many are drawn without a shuffle of all. Skipped where this interpreter has no NumPy."""

import types

import pytest

numpy = pytest.importorskip("numpy")

from zl_probe.offline import sampling  # noqa: E402

LARGE = sampling.POPULATION_LIMIT


@pytest.fixture
def choice(monkeypatch):
    monkeypatch.setattr(numpy.random, "choice", numpy.random.choice)
    original = numpy.random.choice
    sampling.install(numpy)
    numpy.random.seed(3)
    return types.SimpleNamespace(new=numpy.random.choice, original=original)


def test_a_small_draw_out_of_a_large_population_is_distinct_and_covers_it(choice):
    drawn = choice.new(numpy.arange(LARGE, dtype=numpy.int32), size=(64, 64), replace=False)
    assert drawn.shape == (64, 64)
    assert drawn.dtype == numpy.int32
    assert len(numpy.unique(drawn)) == drawn.size
    assert drawn.min() >= 0
    assert drawn.max() < LARGE
    assert abs(drawn.mean() / LARGE - 0.5) < 0.05
    assert not (numpy.diff(drawn.ravel()) > 0).all()


def test_the_same_seed_draws_the_same(choice):
    numpy.random.seed(7)
    one = choice.new(LARGE, size=1000, replace=False)
    numpy.random.seed(7)
    assert (choice.new(LARGE, size=1000, replace=False) == one).all()


def test_as_many_as_are_there_but_for_the_share_are_found(choice):
    wanted = LARGE // sampling.SMALL_SHARE
    assert len(numpy.unique(choice.new(LARGE, size=wanted, replace=False))) == wanted


@pytest.mark.parametrize(
    "arguments",
    [
        {"a": 100, "size": 10, "replace": False},
        {"a": LARGE, "size": 10},
        {"a": 8, "size": 3, "replace": False, "p": [0.125] * 8},
        {"a": ["one", "two"], "size": 2},
        {"a": LARGE},
    ],
)
def test_any_other_draw_is_numpys_own(choice, arguments):
    numpy.random.seed(11)
    ours = choice.new(**arguments)
    numpy.random.seed(11)
    assert (numpy.asarray(ours) == choice.original(**arguments)).all()
