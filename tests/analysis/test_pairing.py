from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.hand_made import RULES, Workshop, row
from zl_bench.analysis.pairing import (
    criterion_print,
    match_launches,
    pair_rows,
    self_differences,
    summary_machine_code,
    unreadable_row,
)
from zl_bench.model import PairedRow, Row


@pytest.fixture
def shop() -> Workshop:
    return Workshop()


def paired(shop: Workshop, before: Row, after: Row) -> PairedRow:
    return pair_rows(before, after, shop.prints, RULES)


def test_identical_rows_are_unchanged(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel()), row(shop.kernel()))
    assert (found.changed, found.first_stage, found.machine_code, found.sequence) == (False, "-", "same", "same")


def test_a_difference_at_the_criterion_stage_is_a_change(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel(ttgir="a", cubin="m")), row(shop.kernel(ttgir="b", cubin="m")))
    assert found.changed
    assert found.first_stage == "ttgir"
    assert found.machine_code == "same"
    assert not found.launches[0].attributes_only


def test_a_difference_above_or_below_the_criterion_is_named_and_no_change(shop: Workshop) -> None:
    before, after = shop.kernel(ttir="a", ttgir="g", llir="l"), shop.kernel(ttir="b", ttgir="g", llir="x")
    found = paired(shop, row(before), row(after))
    assert not found.changed
    assert found.launches[0].changed_stages == ("ttir", "llir")
    assert found.first_stage == "ttir"


def test_the_criterion_stage_is_a_parameter(shop: Workshop) -> None:
    before, after = shop.kernel(ttir="a", ttgir="g"), shop.kernel(ttir="b", ttgir="g")
    rules = RULES.__class__(RULES.order, "ttir", RULES.machine_code)
    assert pair_rows(row(before), row(after), shop.prints, rules).changed


def test_attributes_only(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel(ttgir="a", body="z")), row(shop.kernel(ttgir="b", body="z")))
    assert found.changed
    assert found.launches[0].attributes_only


def test_equal_convert_counts_do_not_hide_a_difference(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel(ttgir="a", converts=3)), row(shop.kernel(ttgir="b", converts=3)))
    assert found.changed
    assert (found.launches[0].converts_before, found.launches[0].converts_after) == (3, 3)


def test_repeated_identities_match_kth_with_kth(shop: Workshop) -> None:
    before = [shop.kernel(ttgir=digest) for digest in "abc"]
    after = [shop.kernel(ttgir=digest) for digest in "abx"]
    found = paired(shop, row(*before), row(*after))
    assert [bool(launch.changed_stages) for launch in found.launches] == [False, False, True]


def test_an_inserted_launch_leaves_the_others_matched(shop: Workshop) -> None:
    before = [shop.kernel("a"), shop.kernel("b")]
    after = [shop.kernel("a"), shop.kernel("new"), shop.kernel("b")]
    found = paired(shop, row(*before), row(*after))
    assert [launch.unmatched for launch in found.launches] == [None, None, "after"]
    assert found.changed
    assert found.sequence == "differs"
    assert found.first_stage == "ttir"
    assert found.machine_code == "differs"


def test_the_same_kernels_in_another_order_are_a_change(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel("a"), shop.kernel("b")), row(shop.kernel("b"), shop.kernel("a")))
    assert found.changed
    assert found.sequence == "reordered"
    assert found.first_stage == "-"
    assert found.machine_code == "differs"


def test_another_name_has_no_partner(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel("a")), row(shop.kernel("b")))
    assert found.changed
    assert {launch.unmatched for launch in found.launches} == {"before", "after"}


def test_a_kernel_specialised_otherwise_is_matched_by_name_and_compared_stage_by_stage(shop: Workshop) -> None:
    before, after = shop.kernel(attributes='{"a":16}', ttir="i", ttgir="g"), shop.kernel(ttir="j", ttgir="h")
    found = paired(shop, row(before), row(after))
    (launch,) = found.launches
    assert found.changed
    assert found.first_stage == "ttir"
    assert (launch.unmatched, launch.specialised_otherwise) == (None, ("attributes",))


def test_an_identity_is_matched_before_a_name(shop: Workshop) -> None:
    wide, narrow = shop.kernel(warps=8, ttgir="w"), shop.kernel(warps=4, ttgir="n")
    found = paired(shop, row(wide, narrow), row(narrow, shop.kernel(warps=2, ttgir="w")))
    assert [launch.specialised_otherwise for launch in found.launches] == [("num_warps",), ()]
    assert found.sequence == "reordered"


def test_another_specialisation_with_the_same_code_is_no_change_of_code(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel(attributes='{"a":16}')), row(shop.kernel()))
    assert (found.changed, found.machine_code, found.sequence) == (False, "same", "same")


def test_machine_code_is_compared_at_the_last_stage_of_both_sides(shop: Workshop) -> None:
    before, after = shop.kernel(ttgir="g", cubin="m"), shop.kernel(ttgir="g", cubin="n")
    assert paired(shop, row(before), row(after)).machine_code == "differs"


def test_machine_code_of_one_side_only_never_reads_as_same(shop: Workshop) -> None:
    found = paired(shop, row(shop.kernel(ttgir="g", cubin="m")), row(shop.kernel(ttgir="g")))
    assert found.machine_code == "-"
    assert found.launches[0].changed_stages == ("cubin",)
    later = paired(shop, row(shop.kernel(ttgir="g", cubin="m", hsaco="h")), row(shop.kernel(ttgir="g", cubin="m")))
    assert later.machine_code == "-"


def test_not_compiled_is_a_dash(shop: Workshop) -> None:
    assert paired(shop, row(shop.kernel(ttgir="g")), row(shop.kernel(ttgir="g"))).machine_code == "-"
    assert paired(shop, row(shop.kernel(ttgir="g", ptx="p")), row(shop.kernel(ttgir="g", ptx="p"))).machine_code == "-"


def test_a_missing_or_unreadable_stage_rejects_the_row(shop: Workshop) -> None:
    missing = unreadable_row(row(shop.kernel("m", ttir="i")), shop.prints, RULES)
    assert missing is not None
    assert (missing.kernel, missing.stage, missing.phase) == ("m", "ttgir", "read")
    unreadable = unreadable_row(row(shop.kernel("u", ttgir=None)), shop.prints, RULES)
    assert unreadable is not None
    assert "empty" in unreadable.message
    late = unreadable_row(row(shop.kernel("l", ttgir="g", cubin=None)), shop.prints, RULES)
    assert late is not None
    assert late.stage == "cubin"
    assert unreadable_row(row(shop.kernel()), shop.prints, RULES) is None
    assert unreadable_row(row(), shop.prints, RULES) is None


def test_a_stage_that_nobody_fingerprinted_is_unreadable(shop: Workshop) -> None:
    kernel = shop.kernel()
    assert unreadable_row(row(kernel), {}, RULES) is not None
    with pytest.raises(ValueError, match="reject its row"):
        criterion_print(shop.kernel(ttgir=None), shop.prints, RULES)


def test_what_differs_from_itself_is_unstable_and_not_changed(shop: Workshop) -> None:
    before, again, after = (row(shop.kernel(ttgir=digest, cubin=digest)) for digest in "abc")
    unstable = self_differences(before, again, shop.prints, RULES)
    found = pair_rows(before, after, shop.prints, RULES, unstable)
    assert not found.changed
    assert found.launches[0].unstable
    assert found.machine_code == "-"


def test_instability_below_the_criterion_hides_no_change_at_it(shop: Workshop) -> None:
    before, again = row(shop.kernel(ttgir="a", cubin="1")), row(shop.kernel(ttgir="a", cubin="2"))
    after = row(shop.kernel(ttgir="b", cubin="3"))
    found = pair_rows(before, after, shop.prints, RULES, self_differences(before, again, shop.prints, RULES))
    assert found.changed
    assert found.launches[0].changed_stages == ("ttgir",)
    assert found.launches[0].unstable


def test_an_unstable_sequence_is_no_change(shop: Workshop) -> None:
    before, again, after = row(shop.kernel("a")), row(shop.kernel("b")), row(shop.kernel("c"))
    found = pair_rows(before, after, shop.prints, RULES, self_differences(before, again, shop.prints, RULES))
    assert (found.changed, found.sequence, found.first_stage) == (False, "unstable", "-")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [((), "-"), (("same",), "same"), (("same", "-"), "-"), (("same", "-", "differs"), "differs"), (("-",), "-")],
)
def test_machine_code_of_many(parts: tuple[str, ...], expected: str) -> None:
    assert summary_machine_code(parts) == expected  # type: ignore[arg-type]


names = st.lists(st.sampled_from("abc"), max_size=6)


@given(names, names)
def test_matching_loses_and_invents_no_launch(before: list[str], after: list[str]) -> None:
    shop = Workshop()
    left, right = [shop.kernel(name) for name in before], [shop.kernel(name) for name in after]
    matches = match_launches(left, right)
    assert [kernel for kernel, _ in matches if kernel is not None] == left
    assert sorted(id(kernel) for _, kernel in matches if kernel is not None) == sorted(map(id, right))
    assert all(a is None or b is None or a.identity == b.identity for a, b in matches)
    unmatched_before = {a.identity for a, b in matches if a is not None and b is None}
    assert unmatched_before.isdisjoint(b.identity for a, b in matches if a is None and b is not None)


digests = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz")), max_size=5)


@given(digests, digests)
def test_a_row_is_unchanged_only_if_its_sequences_of_fingerprints_are_equal(
    before: list[tuple[str, str]], after: list[tuple[str, str]]
) -> None:
    shop = Workshop()
    left = row(*(shop.kernel(name, ttgir=digest) for name, digest in before))
    right = row(*(shop.kernel(name, ttgir=digest) for name, digest in after))
    assert pair_rows(left, right, shop.prints, RULES).changed == (before != after)


@given(digests, digests)
def test_mirrored_sides_mirror_the_comparison(before: list[tuple[str, str]], after: list[tuple[str, str]]) -> None:
    shop = Workshop()
    left = row(*(shop.kernel(name, ttgir=digest, cubin=digest, converts=1) for name, digest in before))
    right = row(*(shop.kernel(name, ttgir=digest, cubin=digest, converts=2) for name, digest in after))
    there, back = pair_rows(left, right, shop.prints, RULES), pair_rows(right, left, shop.prints, RULES)
    assert (there.changed, there.first_stage, there.machine_code, there.sequence) == (
        back.changed,
        back.first_stage,
        back.machine_code,
        back.sequence,
    )
    assert sum(x.converts_before for x in there.launches) == sum(x.converts_after for x in back.launches)


def test_rows_of_very_many_launches_are_paired_one_by_one(shop: Workshop) -> None:
    """A loop of the host over small kernels makes 100,000 launches of a row; hours, if each looked at all others."""
    kernels = [shop.kernel(name) for name in "abc"] * 20_000
    pairs = match_launches(kernels, [*kernels[1:], shop.kernel("d")])
    assert len(pairs) == len(kernels) + 1
    assert [left.identity.name for left, right in pairs if left is not None and right is None] == ["a"]
    assert [right.identity.name for left, right in pairs if right is not None and left is None] == ["d"]
