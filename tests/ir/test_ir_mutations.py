"""Single changes to real TTGIR: what matters is DIFFERENT, what does not is SAME."""

from __future__ import annotations

import pytest

from tests.ir.corpus import fixtures, read_fixture
from tests.ir.mutations import INSIGNIFICANT, SIGNIFICANT, Mutation
from zl_bench.ir.diff import unified_diff
from zl_bench.ir.fingerprint import attributes_only, fingerprint


def apply(mutation: Mutation) -> tuple[bytes, bytes]:
    original = read_fixture(mutation.fixture)
    mutated = mutation.change(original)
    assert mutated != original, "the mutation was not applied"
    return original.encode(), mutated.encode()


def test_the_corpus_is_as_large_as_promised() -> None:
    assert len({mutation.name for mutation in SIGNIFICANT}) == len(SIGNIFICANT) >= 30
    assert len({mutation.name for mutation in INSIGNIFICANT}) == len(INSIGNIFICANT) >= 8


@pytest.mark.parametrize("mutation", SIGNIFICANT, ids=lambda mutation: mutation.name)
def test_a_change_that_matters_is_different(mutation: Mutation) -> None:
    original, mutated = apply(mutation)
    before, after = fingerprint("ttgir", original), fingerprint("ttgir", mutated)
    assert before.digest != after.digest
    assert attributes_only(before, after) == mutation.name.startswith("module attribute")
    diff = unified_diff("ttgir", original, mutated, "before", "after")
    assert any(line[0] in "+-" for line in diff[2:])


@pytest.mark.parametrize("mutation", INSIGNIFICANT, ids=lambda mutation: mutation.name)
def test_a_change_that_does_not_matter_is_the_same(mutation: Mutation) -> None:
    original, mutated = apply(mutation)
    assert fingerprint("ttgir", original) == fingerprint("ttgir", mutated)
    assert unified_diff("ttgir", original, mutated, "before", "after") == []


def test_all_significant_mutations_of_a_fixture_differ_from_each_other() -> None:
    digests = [fingerprint("ttgir", apply(mutation)[1]).digest for mutation in SIGNIFICANT]
    digests += [fingerprint("ttgir", path.read_bytes()).digest for path in fixtures()]
    assert len(set(digests)) == len(digests)


def test_converts_are_counted() -> None:
    by_name = {mutation.name: mutation for mutation in SIGNIFICANT}
    for name, count in (("extra convert_layout", 2), ("missing convert_layout", 0), ("moved convert_layout", 1)):
        assert fingerprint("ttgir", apply(by_name[name])[1]).converts == count
