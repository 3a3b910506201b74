"""Lets a suite draw a few numbers out of very many without shuffling them all."""

from __future__ import annotations

from typing import Any

POPULATION_LIMIT = 1 << 22
"""Elements above which a draw without replacement does not shuffle; NumPy would, for seconds and gigabytes."""
SMALL_SHARE = 64
"""A draw is small when the population has this many times as many elements."""


def install(numpy: Any) -> None:
    """Replace `numpy.random.choice` for small draws out of large populations, whose numbers are anybody's guess."""
    random = numpy.random
    original = random.choice

    def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """NumPy's own, but for the numbers that are drawn in that one case."""
        wanted = 1 if size is None else int(numpy.prod(size))
        population = a if isinstance(a, int) else a.size if isinstance(a, numpy.ndarray) and a.ndim == 1 else 0
        if replace or p is not None or size is None or population < max(POPULATION_LIMIT, wanted * SMALL_SHARE):
            return original(a, size, replace, p)
        positions = _distinct(numpy, population, wanted).reshape(size)
        return positions if isinstance(a, int) else a[positions]

    random.choice = choice


def _distinct(numpy: Any, population: int, wanted: int) -> Any:
    """Different positions in random order, each set of them as likely as any other."""
    drawn = numpy.empty(0, dtype=numpy.int64)
    while drawn.size < wanted:
        more = numpy.random.randint(0, population, wanted - drawn.size + wanted // SMALL_SHARE + 8)
        drawn = numpy.concatenate([drawn, more])
        drawn = drawn[numpy.sort(numpy.unique(drawn, return_index=True)[1])]
    return drawn[:wanted]
