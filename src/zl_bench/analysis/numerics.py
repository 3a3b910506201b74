"""How the sampled outputs of a row compare between the sides: told beside the verdict, never part of it.

Equal bytes are the same and are not even read. Otherwise the elements are decoded and compared as numbers, so that a zero of
the other sign or a NaN of another payload is no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import hypot, inf, isinf, isnan

from zl_bench.analysis.elements import Number, decode
from zl_bench.analysis.nodes import distinct_rows
from zl_bench.model import Numerics, OutputSample, RowKey, Run

NOT_COMPARED = "n/a"
ORDER_IS_FREE = "floating-point atomics, whose order is free, in the same code"

ReadSample = Callable[[OutputSample], bytes | None]
"""Gives the content of a sample's file, or None where it is gone or no longer what the run recorded."""

Difference = tuple[float, float]
"""Absolute, and relative to the before side."""

NO_DIFFERENCE: Difference = (0.0, 0.0)


def compare_runs(nodes: Iterable[tuple[Run, Run]], read: ReadSample) -> dict[str, dict[RowKey, Numerics]]:
    """By node and row, how the outputs compare, of the rows for which both sides have some that can be compared."""
    compared: dict[str, dict[RowKey, Numerics]] = {}
    for before, after in nodes:
        others = {row.key: row.outputs for row in distinct_rows(after.rows)}
        found = {row.key: compare_outputs(row.outputs, others.get(row.key), read) for row in distinct_rows(before.rows)}
        compared[before.node] = {key: numerics for key, numerics in found.items() if numerics is not None}
    return compared


def compare_outputs(
    before: Sequence[OutputSample] | None, after: Sequence[OutputSample] | None, read: ReadSample
) -> Numerics | None:
    """How two sides' outputs of one row compare; None where a side has none, or no longer has what is to be compared."""
    if not before or not after:
        return None
    pairs = list(zip(before, after, strict=False))
    otherwise = _made_otherwise(before, after)
    if otherwise:
        return Numerics(False, inf, inf, otherwise)
    if any((old.elements, old.strides) != (new.elements, new.strides) for old, new in pairs):
        return None  # other elements were taken, so that equal ones would differ and unequal ones be missed
    differences, note = [NO_DIFFERENCE], ""
    for old, new in pairs:
        if old.sha256 == new.sha256:
            continue
        contents = read(old), read(new)
        if contents[0] is None or contents[1] is None:
            return None
        values = decode(old.dtype, contents[0]), decode(new.dtype, contents[1])
        if values[0] is None or values[1] is None:
            note = f"the bytes differ, and {old.dtype} can not be decoded"
            differences.append((inf, inf))
        else:
            differences.append(largest_difference(values[0], values[1]))
    absolute, relative = _largest(differences)
    return Numerics(absolute == 0, absolute, relative, note)


def largest_difference(before: Sequence[Number], after: Sequence[Number]) -> Difference:
    """The largest absolute and the largest relative difference of any two elements; both 0 only if all are equal."""
    if len(before) != len(after):
        return inf, inf
    apart = {(old, new) for old, new in zip(before, after, strict=True) if old != new}  # short types repeat themselves
    return _largest((NO_DIFFERENCE, *(_difference(old, new) for old, new in apart)))


def summarise_numerics(rows: Iterable[Numerics | None]) -> str:
    """The `numerics` of an operator, from those of its paired rows."""
    found = [row for row in rows if row is not None]
    compared = [row for row in found if not row.unordered]
    if not compared:
        return f"{NOT_COMPARED} ({ORDER_IS_FREE})" if found else NOT_COMPARED
    if all(row.same for row in compared):
        return "same"
    absolute, relative = _largest((row.largest_absolute, row.largest_relative) for row in compared)
    return f"differs ({describe_size(absolute, relative)})"


def describe_size(absolute: float, relative: float) -> str:
    """A difference in words, as every table and listing has it."""
    return f"largest absolute {absolute:.3g}, relative {relative:.3g}"


def _made_otherwise(before: Sequence[OutputSample], after: Sequence[OutputSample]) -> str:
    """In what the outputs differ before any element is looked at, empty if in nothing."""
    if len(before) != len(after):
        return f"{len(before)} outputs before, {len(after)} after"
    for place, (old, new) in enumerate(zip(before, after, strict=True), start=1):
        for what, was, became in (("dtype", old.dtype, new.dtype), ("shape", old.shape, new.shape)):
            if was != became:
                return f"{what} of output {place}: {was} before, {became} after"
    return ""


def _largest(differences: Iterable[Difference]) -> Difference:
    absolutes, relatives = zip(*differences, strict=True)
    return max(absolutes), max(relatives)


def _difference(before: Number, after: Number) -> Difference:
    """Of two elements. Equal infinities do not differ, and neither do two NaN; other infinities and NaN differ infinitely."""
    if isinstance(before, complex) or isinstance(after, complex):
        old, new = complex(before), complex(after)
        absolute = hypot(_apart(old.real, new.real), _apart(old.imag, new.imag))
        size = hypot(*(0.0 if isnan(part) else part for part in (old.real, old.imag)))
    else:
        absolute, size = float(_apart(before, after)), abs(float(before))
    if absolute == 0:
        return NO_DIFFERENCE
    return absolute, absolute / size if size and not isinf(absolute) else inf


def _apart(before: float | int, after: float | int) -> float | int:
    if before == after or (isnan(before) and isnan(after)):
        return 0
    apart = abs(before - after)
    return inf if isnan(apart) else apart
