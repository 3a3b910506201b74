from __future__ import annotations

from dataclasses import replace
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.hand_made import Workshop, failed, row, run
from zl_bench.analysis.nodes import OTHER
from zl_bench.analysis.reasons import one_line
from zl_bench.model import Absence, MissingPin, Run, Status, Verdict

DTYPE = Absence("dtype", "dtype complex64 is not one of op's: float16, float32", clean=True)
SKIP = Absence("skipped", "skipped: needs two cards", clean=True)
FAILED = Absence("failed", "AssertionError: wrong, t.py:12")
CRASHED = Absence("crashed", "killed by SIGSEGV, after 1 row")
TIMEOUT = Absence("timeout", "ran out of time, 60 s")
MEMORY = Absence("memory", "crashed: out of memory (limit 1 GiB, --memory)")
NEEDS_DEVICE = Absence("needs a device", "needs a device: aten::item")
NOT_STARTED = Absence("not started", "no space left")


@pytest.fixture
def shop() -> Workshop:
    return Workshop()


def test_no_difference(shop: Workshop) -> None:
    found = shop.judge(
        (run("before", row(shop.kernel(converts=2))), run("after", row(shop.kernel(converts=2))))
    ).verdict
    assert (found.verdict, found.status, found.reason) == (Verdict.NO_IR_DIFF, Status.COMPLETE, "")
    assert (found.rows, found.changed_rows, found.kernels) == (1, 0, 1)
    assert (found.converts_before, found.converts_after) == (2, 2)
    assert (found.first_stage, found.machine_code, found.pins, found.dtype) == ("-", "same", "none", "-")
    assert found.seconds == 1.5
    assert found.failed_runs == 0


def test_a_change_names_its_kernels(shop: Workshop) -> None:
    before = run("before", row(shop.kernel("mm", ttgir="a", converts=1)), row(shop.kernel("add"), detail="65"))
    after = run("after", row(shop.kernel("mm", ttgir="b", converts=11)), row(shop.kernel("add"), detail="65"))
    found = shop.judge((before, after)).verdict
    assert found.verdict is Verdict.IR_CHANGED
    assert (found.rows, found.changed_rows, found.kernels, found.first_stage) == (2, 1, 2, "ttgir")
    assert (found.converts_before, found.converts_after) == (1, 11)
    assert found.reason == "ttgir differs: mm"


def test_attributes_only_is_a_change_of_its_own_kind(shop: Workshop) -> None:
    before, after = shop.kernel(ttgir="a", body="z"), shop.kernel(ttgir="b", body="z")
    found = shop.judge((run("before", row(before)), run("after", row(after)))).verdict
    assert found.verdict is Verdict.IR_CHANGED
    assert "attributes only" in found.reason


def test_a_kernel_without_partner_is_a_change_and_is_named(shop: Workshop) -> None:
    found = shop.judge((run("before", row(shop.kernel("k"))), run("after", row(shop.kernel("other"))))).verdict
    assert found.verdict is Verdict.IR_CHANGED
    assert found.first_stage == "ttir"
    assert "launched on before only" in found.reason
    assert "launched on after only" in found.reason
    assert found.kernels == 2


def test_machine_code_below_the_criterion_is_told(shop: Workshop) -> None:
    before, after = shop.kernel(ttgir="g", cubin="m"), shop.kernel(ttgir="g", cubin="n")
    found = shop.judge((run("before", row(before)), run("after", row(after)))).verdict
    assert (found.verdict, found.machine_code, found.first_stage) == (Verdict.NO_IR_DIFF, "differs", "cubin")
    assert found.reason == "ttgir is the same, cubin differs: k"


def test_rows_without_kernels_do_not_blur_the_machine_code(shop: Workshop) -> None:
    before = run("before", row(shop.kernel()), row(detail="empty"))
    after = run("after", row(shop.kernel()), row(detail="empty"))
    assert shop.judge((before, after)).verdict.machine_code == "same"


def test_no_kernel(shop: Workshop) -> None:
    found = shop.judge((run("before", row()), run("after", row()))).verdict
    assert (found.verdict, found.status, found.rows, found.kernels) == (Verdict.NO_KERNEL, Status.COMPLETE, 1, 0)
    assert found.machine_code == "-"


@pytest.mark.parametrize(
    ("ran", "said"),
    [
        (None, "no row launched a Triton kernel"),
        ({}, "no row launched a Triton kernel: the timed calls ran nothing on the device"),
        (
            {"aten::flatten": "library", "aten::view": "view", "aten::geometric_": "native"},
            "no row launched a Triton kernel: the vendor's own aten::geometric_, the library's function without a launch for "
            "aten::flatten, views by aten::view",
        ),
    ],
)
def test_no_kernel_says_what_ran_instead(shop: Workshop, ran: dict[str, str] | None, said: str) -> None:
    quiet = replace(row(), ran=ran)
    assert shop.judge((run("before", quiet), run("after", quiet))).verdict.reason == said


def test_kernels_in_the_cache_without_a_captured_launch_are_a_failed_run(shop: Workshop) -> None:
    found = shop.judge((run("before", row(), compiles=2), run("after", row(), compiles=2))).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.FAILED)
    assert "2 kernels compiled in 1 row" in found.reason
    one_side = shop.judge((run("before", row(shop.kernel()), compiles=1), run("after", row(), compiles=1))).verdict
    assert (one_side.verdict, one_side.status) == (Verdict.NO_ROWS, Status.FAILED)


def test_a_cache_that_holds_kernels_which_nobody_was_seen_to_compile_is_a_failed_run(shop: Workshop) -> None:
    forked = replace(run("before", row()), cached_kernels=1)
    found = shop.judge((forked, replace(forked, side="after"))).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.FAILED)
    assert "1 kernel compiled in 1 row, but no launch was captured" in found.reason


def test_code_from_a_cache_that_is_not_the_run_s_is_never_compared(shop: Workshop) -> None:
    after = replace(run("after", row(shop.kernel("k"))), foreign_kernels=("k",))
    found = shop.judge((run("before", row(shop.kernel("k"))), after)).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.FAILED)
    assert "k came out of a cache that this run had not filled" in found.reason


def test_compiles_of_a_failed_row_explain_themselves(shop: Workshop) -> None:
    rows = {"failed_rows": (failed("65"),), "compiles": 1}
    found = shop.judge((run("before", row(), **rows), run("after", row(), **rows))).verdict  # type: ignore[arg-type]
    assert (found.verdict, found.status) == (Verdict.NO_KERNEL, Status.PARTIAL)
    assert "1 row measured on neither side (PassManager::run failed)" in found.reason


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_row_that_fails_on_one_side_is_broken(shop: Workshop, side: Literal["before", "after"]) -> None:
    good = run("before", row(shop.kernel("mm")), row(shop.kernel("x", ttgir="a"), detail="65"))
    bad = run("after", row(shop.kernel("x", ttgir="b"), detail="65"), failed_rows=(failed(kernel="mm"),))
    pair = (good, bad) if side == "after" else (replace(bad, side="before"), replace(good, side="after"))
    judged = shop.judge(pair)
    found = judged.verdict
    assert (found.verdict, found.status) == (Verdict.BROKEN, Status.PARTIAL)
    assert found.reason == f"{side}: mm failed to compile at ttgir (row float16 64): PassManager::run failed"
    assert (found.rows, found.changed_rows, found.broken_compiles, found.failed_runs) == (1, 1, 1, 1)
    assert judged.nodes[0].broken[0].side == side


def test_a_side_where_every_row_breaks_is_broken_and_failed(shop: Workshop) -> None:
    after = run("after", failed_rows=(failed(),), absence=Absence("failed", "PassManager::run failed"))
    found = shop.judge((run("before", row(shop.kernel())), after)).verdict
    assert (found.verdict, found.status, found.rows) == (Verdict.BROKEN, Status.FAILED, 0)


def test_a_long_message_keeps_its_beginning_and_its_end(shop: Workshop) -> None:
    message = "CompilationError: at 37:22:\n" + "    source\n" * 100 + "input_precision must be one of tf32, ieee"
    after = run("after", failed_rows=(failed(message=message),))
    reason = shop.judge((run("before", row(shop.kernel())), after)).verdict.reason
    assert "after: k failed to compile at ttgir (row float16 64): CompilationError: at 37:22: source" in reason
    assert reason.endswith("source input_precision must be one of tf32, ieee")
    assert len(reason) < 400


@given(st.text(), st.integers(10, 50))
def test_one_line_is_one_bounded_line(text: str, longest: int) -> None:
    line = one_line(text, longest)
    assert len(line) <= longest
    assert len(f"{line}x".splitlines()) == 1
    if len(" ".join(text.split())) <= longest:
        assert line.split() == text.split()


def test_many_broken_rows_are_counted(shop: Workshop) -> None:
    sizes = ["1", "2", "3"]
    before = run("before", *(row(shop.kernel(f"k{size}"), detail=size) for size in sizes))
    after = run("after", failed_rows=tuple(failed(size, kernel=f"k{size}") for size in sizes))
    reason = shop.judge((before, after)).verdict.reason
    assert "3 rows broken in all (3 on after)" in reason
    assert "also k2, k3" in reason


@pytest.mark.parametrize(
    ("absence", "word"),
    [
        (CRASHED, "crashed"),
        (MEMORY, "ran out of memory"),
        (FAILED, "failed to run"),
    ],
)
def test_an_early_end_breaks_the_first_row_not_reached(shop: Workshop, absence: Absence, word: str) -> None:
    before = run("before", *(row(shop.kernel(), detail=size) for size in "123"))
    after = run("after", row(shop.kernel(), detail="1"), absence=absence)
    judged = shop.judge((before, after))
    assert judged.verdict.verdict is Verdict.BROKEN
    assert f"after: {word} (row float16 2)" in judged.verdict.reason.replace("  ", " ")
    assert absence.reason in judged.verdict.reason
    assert [alone.key.detail for alone in judged.nodes[0].one_sided] == ["3"]
    assert judged.verdict.status is (Status.PARTIAL if absence is FAILED else Status.FAILED)
    assert judged.verdict.broken_compiles == 0


def test_processes_left_behind_are_told_unless_the_run_was_cut_short(shop: Workshop) -> None:
    kernel = shop.kernel()
    tidy, untidy = run("before", row(kernel)), replace(run("after", row(kernel)), left_processes=2)
    assert shop.judge((tidy, untidy)).verdict.reason == "2 processes were left behind and ended"
    assert shop.judge((tidy, untidy)).verdict.status is Status.COMPLETE
    assert "left behind" not in shop.judge((tidy, replace(untidy, absence=CRASHED))).verdict.reason


def test_a_test_that_fails_to_compile_outside_any_row_names_its_kernel(shop: Workshop) -> None:
    absence = Absence("failed", "RuntimeError: PassManager::run failed", kernel="warm", stage="ttgir")
    found = shop.judge((run("before", row(shop.kernel())), run("after", absence=absence))).verdict
    assert found.verdict is Verdict.BROKEN
    assert "after: warm failed to compile at ttgir" in found.reason
    assert found.broken_compiles == 1


def test_a_whole_test_failure_under_a_key_of_its_own_breaks_the_missing_row(shop: Workshop) -> None:
    before = run("before", row(shop.kernel(), detail="64"), row(shop.kernel(), detail="65"))
    after = run("after", failed_rows=(failed("?", whole_test=True),), absence=FAILED)
    judged = shop.judge((before, after))
    assert judged.verdict.verdict is Verdict.BROKEN
    assert judged.nodes[0].broken[0].key.detail == "64"
    assert "PassManager::run failed" in judged.nodes[0].one_sided[0].why


def test_a_whole_test_failure_leaves_the_later_rows_one_sided(shop: Workshop) -> None:
    before = run("before", *(row(shop.kernel(), detail=size) for size in "123"))
    after = run("after", row(shop.kernel(), detail="1"), failed_rows=(failed("2", whole_test=True),), absence=FAILED)
    judged = shop.judge((before, after))
    assert [broken.key.detail for broken in judged.nodes[0].broken] == ["2"]
    assert [alone.key.detail for alone in judged.nodes[0].one_sided] == ["3"]
    assert "1 row on before only (the test ended before it" in judged.verdict.reason


def test_a_failure_on_both_sides_is_not_the_switchs_doing(shop: Workshop) -> None:
    good = shop.kernel()
    before = run("before", row(good), failed_rows=(failed("65"),))
    after = run("after", row(good), failed_rows=(failed("65"),))
    found = shop.judge((before, after)).verdict
    assert (found.verdict, found.status, found.failed_runs) == (Verdict.NO_IR_DIFF, Status.PARTIAL, 2)
    assert "1 row measured on neither side" in found.reason


def test_every_row_failing_on_both_sides_is_no_rows_and_failed(shop: Workshop) -> None:
    found = shop.judge((run("before", failed_rows=(failed(),)), run("after", failed_rows=(failed(),)))).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.FAILED)
    assert found.reason == "every row failed: PassManager::run failed"


@pytest.mark.parametrize("absence", [DTYPE, SKIP])
def test_a_clean_absence_is_a_complete_no_rows_with_its_reason(shop: Workshop, absence: Absence) -> None:
    found = shop.judge((run("before", absence=absence), run("after", absence=absence))).verdict
    assert (found.verdict, found.status, found.reason) == (Verdict.NO_ROWS, Status.COMPLETE, absence.reason)
    assert found.failed_runs == 0


@pytest.mark.parametrize(
    ("other_row", "since_last_row", "limit", "verdict"),
    [
        (1.0, 110.0, 120.0, Verdict.BROKEN),  # stuck: it spent nearly all of its time in a row of a second
        (6.0, 4.0, 120.0, Verdict.NO_IR_DIFF),  # merely slow: it was well on its way
        (12.0, 110.0, 120.0, Verdict.NO_IR_DIFF),  # not ten times what the other side took
        (1.0, 15.0, 120.0, Verdict.NO_IR_DIFF),  # it may have been stuck, but not for long
        (None, 110.0, 120.0, Verdict.NO_IR_DIFF),  # nothing to compare with
        (1.0, None, None, Verdict.NO_IR_DIFF),
    ],
)
@pytest.mark.parametrize("slow", ["before", "after"])
def test_a_timeout_breaks_a_row_only_if_the_run_was_stuck_in_it(
    shop: Workshop,
    slow: Literal["before", "after"],
    other_row: float | None,
    since_last_row: float | None,
    limit: float | None,
    verdict: Verdict,
) -> None:
    """A limit that two runs of the same code just reach, one of them a row later, must not look like a broken switch."""
    first, second = row(shop.kernel(), detail="1"), replace(row(shop.kernel(), detail="2"), seconds=other_row)
    whole = run(OTHER[slow], first, second)
    late = replace(
        run(slow, row(shop.kernel(), detail="1"), absence=TIMEOUT),
        unfinished_seconds=since_last_row,
        limit_seconds=limit,
    )
    found = shop.judge((whole, late) if slow == "after" else (late, whole)).verdict
    assert (found.verdict, found.status) == (verdict, Status.FAILED)
    assert TIMEOUT.reason in found.reason
    if verdict is not Verdict.BROKEN:
        assert f"1 row on {OTHER[slow]} only" in found.reason


@pytest.mark.parametrize("absence", [FAILED, CRASHED, TIMEOUT, MEMORY, NEEDS_DEVICE, NOT_STARTED])
def test_an_unclean_absence_is_a_failed_no_rows(shop: Workshop, absence: Absence) -> None:
    found = shop.judge((run("before", absence=absence), run("after", absence=absence))).verdict
    assert (found.verdict, found.status, found.reason) == (Verdict.NO_ROWS, Status.FAILED, absence.reason)
    assert found.failed_runs == 2


@pytest.mark.parametrize("absence", [SKIP, NEEDS_DEVICE, NOT_STARTED])
def test_a_side_without_rows_for_another_reason_is_no_rows_with_its_side(shop: Workshop, absence: Absence) -> None:
    found = shop.judge((run("before", row(shop.kernel())), run("after", absence=absence))).verdict
    assert found.verdict is Verdict.NO_ROWS
    assert found.reason.startswith(f"after: {absence.reason}")
    assert "1 row on before only" in found.reason
    assert found.status is (Status.PARTIAL if absence is SKIP else Status.FAILED)


def test_silence_is_never_a_clean_absence(shop: Workshop) -> None:
    found = shop.judge((run("before"), run("after"))).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.FAILED)
    assert found.reason
    assert shop.judge().verdict.reason == "no node was run"


def test_rows_of_one_side_only_are_counted_and_partial(shop: Workshop) -> None:
    before = run("before", row(shop.kernel()), row(shop.kernel(), detail="65"))
    found = shop.judge((before, run("after", row(shop.kernel())))).verdict
    assert (found.verdict, found.status, found.rows) == (Verdict.NO_IR_DIFF, Status.PARTIAL, 1)
    assert "1 row on before only" in found.reason


def test_a_run_that_lost_its_server_is_repeated_by_resume(shop: Workshop) -> None:
    before = run("before", row(shop.kernel()), row(shop.kernel(), detail="65"))
    found = shop.judge((before, run("after", row(shop.kernel()), absence=NOT_STARTED))).verdict
    assert (found.verdict, found.status, found.rows) == (Verdict.NO_IR_DIFF, Status.FAILED, 1)


def test_different_rows_on_both_sides_do_not_pair(shop: Workshop) -> None:
    found = shop.judge(
        (run("before", row(shop.kernel(), detail="1")), run("after", row(shop.kernel(), detail="2")))
    ).verdict
    assert (found.verdict, found.status) == (Verdict.NO_ROWS, Status.PARTIAL)
    assert "the two sides measured different rows" in found.reason


def test_kernels_of_one_sided_rows_are_no_no_kernel(shop: Workshop) -> None:
    before = run("before", row(), row(shop.kernel(), detail="65"))
    found = shop.judge((before, run("after", row()))).verdict
    assert (found.verdict, found.status) == (Verdict.NO_IR_DIFF, Status.PARTIAL)
    assert "only rows of one side did" in found.reason


def test_an_unreadable_stage_fails_the_row_and_never_equals(shop: Workshop) -> None:
    one = shop.judge((run("before", row(shop.kernel())), run("after", row(shop.kernel(ttgir=None))))).verdict
    assert (one.verdict, one.rows) == (Verdict.NO_ROWS, 0)  # the switch did not break it, and nothing was compared
    assert one.status is not Status.COMPLETE
    assert one.failed_runs == 1
    assert one.reason
    both = shop.judge((run("before", row(shop.kernel(ttgir=None))), run("after", row(shop.kernel(ttgir=None))))).verdict
    assert (both.verdict, both.status) == (Verdict.NO_ROWS, Status.FAILED)


def test_guesses_are_counted(shop: Workshop) -> None:
    found = shop.judge((run("before", row(shop.kernel(), guesses=2)), run("after", row(shop.kernel())))).verdict
    assert (found.verdict, found.guessed_rows, found.status) == (Verdict.NO_IR_DIFF, 1, Status.COMPLETE)
    assert "1 row with guessed values" in found.reason


def test_missing_pins_are_counted_and_named(shop: Workshop) -> None:
    missing = (MissingPin("mm", "512", "configuration has gone"),)
    found = shop.judge((run("before", row(shop.kernel())), run("after", row(shop.kernel()), missing=missing))).verdict
    assert found.pins == "missing 1"
    assert "1 pin missing: after: mm 512: configuration has gone" in found.reason


def test_kernels_and_converts_count_distinct_kernels(shop: Workshop) -> None:
    def side(name: Literal["before", "after"]) -> Run:
        return run(
            name, row(shop.kernel(converts=2), shop.kernel(converts=2)), row(shop.kernel(converts=2), detail="65")
        )

    found = shop.judge((side("before"), side("after"))).verdict
    assert (found.kernels, found.converts_before, found.converts_after) == (1, 2, 2)


def test_nodes_are_aggregated(shop: Workshop) -> None:
    pairs = [
        (
            run("before", row(shop.kernel("a", ttgir="a"), node=node), node=node),
            run("after", row(shop.kernel("a", ttgir=after), node=node), node=node),
        )
        for node, after in (("x", "a"), ("y", "b"))
    ]
    skipped = (run("before", absence=DTYPE, node="z"), run("after", absence=DTYPE, node="z"))
    judged = shop.judge(*pairs, skipped)
    found = judged.verdict
    assert (found.verdict, found.rows, found.changed_rows, found.status) == (Verdict.IR_CHANGED, 2, 1, Status.COMPLETE)
    assert f"both sides, 1 of 3 nodes: {DTYPE.reason}" in found.reason
    assert [node.summary.verdict for node in judged.nodes] == [Verdict.NO_IR_DIFF, Verdict.IR_CHANGED, Verdict.NO_ROWS]


def test_a_broken_node_breaks_its_operator(shop: Workshop) -> None:
    good = (run("before", row(shop.kernel())), run("after", row(shop.kernel())))
    bad = (run("before", row(shop.kernel()), node="y"), run("after", failed_rows=(failed(),), node="y"))
    assert shop.judge(good, bad).verdict.verdict is Verdict.BROKEN


def test_self_check_reports_unstable_kernels_and_does_not_count_them(shop: Workshop) -> None:
    before, again, after = (run("before", row(shop.kernel("k", ttgir=digest))) for digest in "abc")
    found = shop.judge((before, replace(after, side="after")), again={"t.py::t": again}).verdict
    assert (found.verdict, found.changed_rows, found.unstable_kernels) == (Verdict.NO_IR_DIFF, 0, 1)
    assert "unstable, differing from itself when compiled twice, not counted as changed: k" in found.reason
    unchecked = shop.judge((before, replace(after, side="after")), again={"t.py::t": run("before")}).verdict
    assert unchecked.verdict is Verdict.IR_CHANGED
    assert "1 row without a repetition in the self-check" in unchecked.reason


def test_a_repeated_row_key_pairs_in_order(shop: Workshop) -> None:
    before = run("before", row(shop.kernel(ttgir="a")), row(shop.kernel(ttgir="b")))
    after = run("after", row(shop.kernel(ttgir="a")), row(shop.kernel(ttgir="b")))
    found = shop.judge((before, after)).verdict
    assert (found.rows, found.changed_rows) == (2, 0)


# One side of a row: absent, failed, or its launches as (kernel, ttgir digest, cubin digest).
launches = st.lists(st.tuples(st.sampled_from("kl"), st.sampled_from("ab"), st.sampled_from("mn")), max_size=3)
sides = st.one_of(st.none(), st.just("failed"), launches)
tables = st.lists(st.tuples(sides, sides), min_size=1, max_size=4)
absences = st.sampled_from([None, None, DTYPE, SKIP, FAILED, CRASHED, TIMEOUT, NEEDS_DEVICE])


def build(shop: Workshop, side: Literal["before", "after"], column: list[object], absence: Absence | None) -> Run:
    rows, failures = [], []
    for number, cell in enumerate(column):
        if cell == "failed":
            failures.append(failed(str(number)))
        elif cell is not None:
            kernels = [shop.kernel(name, ttgir=g, cubin=m, converts=1) for name, g, m in cell]  # type: ignore[attr-defined]
            rows.append(row(*kernels, detail=str(number)))
    return run(side, *rows, failed_rows=tuple(failures), absence=absence)


@given(tables, absences, absences)
def test_the_promises_of_the_words(
    table: list[tuple[object, object]], left: Absence | None, right: Absence | None
) -> None:
    shop = Workshop()
    before = build(shop, "before", [cell for cell, _ in table], left)
    after = build(shop, "after", [cell for _, cell in table], right)
    found = shop.judge((before, after)).verdict
    both = [(a, b) for a, b in table if isinstance(a, list) and isinstance(b, list)]
    differ = any([x[:2] for x in a] != [x[:2] for x in b] for a, b in both)
    one_failed = any(
        (a == "failed" and isinstance(b, list)) or (b == "failed" and isinstance(a, list)) for a, b in table
    )
    assert found.rows == len(both)
    if one_failed:
        assert found.verdict is Verdict.BROKEN
    if differ:
        assert found.verdict in (Verdict.BROKEN, Verdict.IR_CHANGED)
    if found.verdict is Verdict.NO_KERNEL:
        assert not any(a for a in (*before.rows, *after.rows) if a.launches)
    if found.verdict is Verdict.NO_ROWS:
        assert not both
        assert found.reason
    if found.machine_code == "same":
        assert all([x[2] for x in a] == [x[2] for x in b] for a, b in both)
    if any(a is None or b is None for a, b in table) and any(
        isinstance(a, list) != isinstance(b, list) for a, b in table
    ):
        assert found.status is not Status.COMPLETE
    assert (found.verdict is Verdict.IR_CHANGED) <= (found.changed_rows > 0)


@given(tables, absences, absences)
def test_mirrored_sides_have_the_same_verdict(
    table: list[tuple[object, object]], left: Absence | None, right: Absence | None
) -> None:
    shop = Workshop()
    there = shop.judge(
        (build(shop, "before", [a for a, _ in table], left), build(shop, "after", [b for _, b in table], right))
    ).verdict
    back = shop.judge(
        (build(shop, "before", [b for _, b in table], right), build(shop, "after", [a for a, _ in table], left))
    ).verdict
    for name in ("verdict", "status", "rows", "changed_rows", "kernels", "first_stage", "machine_code", "failed_runs"):
        assert getattr(there, name) == getattr(back, name)
    assert (there.converts_before, there.converts_after) == (back.converts_after, back.converts_before)


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(table: list[tuple[object, object]], random: object) -> None:
    shop = Workshop()
    before = build(shop, "before", [a for a, _ in table], None)
    after = build(shop, "after", [b for _, b in table], None)
    shuffled = list(after.rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one = shop.judge((before, after)).verdict
    other = shop.judge((before, replace(after, rows=tuple(shuffled)))).verdict
    for name in ("verdict", "status", "rows", "changed_rows", "kernels", "first_stage", "machine_code"):
        assert getattr(one, name) == getattr(other, name)
