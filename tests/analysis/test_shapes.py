"""Shapes asked for against shapes emitted: outcomes, their words, and keys that nothing used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.analysis.shapes import (
    Emitted,
    KnownKeys,
    compare,
    describe_finding,
    emitted_by,
    key_of,
    note_shapes,
    shape_text,
    shapes_summary,
    shows,
    unused_keys,
)
from zl_bench.model import (
    Absence,
    AskedShapes,
    BenchmarkShapes,
    FailedRow,
    JudgedOperator,
    NodeVerdict,
    OperatorVerdict,
    Row,
    RowKey,
    Run,
    Status,
    Verdict,
)

CLASSES = ("SoftmaxBenchmark", "Benchmark")
sizes = st.lists(st.integers(0, 1 << 31), min_size=1, max_size=5)
shapes = st.lists(sizes.map(shape_text), min_size=1, max_size=5, unique=True)


def asked(keys: dict[str, tuple[str, ...]], *own: str, whole: bool = False) -> AskedShapes:
    """Shapes by key; `own` are the keys that the user asked for, all of them unless named."""
    return AskedShapes(keys, frozenset(own or keys), whole)


def emitted(*texts: str, details: tuple[str, ...] | None = None, file: str = "/r/shapes.yaml", complete: bool = True,
            operator: str = "softmax", failed: bool = False) -> Emitted:  # fmt: skip
    """A run of one benchmark with these shapes, and rows that show them unless other details are given.

    Where it failed, none of these rows was measured.
    """
    rows = tuple(f"[torch.Size([{text.strip('()')}])]" for text in texts) if details is None else details
    return Emitted(
        (BenchmarkShapes(operator, CLASSES, texts, file),),
        {operator: rows} if rows else {},
        measured=frozenset([operator] if rows and not failed else ()),
        complete=complete and not failed,
        failed=frozenset([operator] if failed else ()),
    )


def outcome(wanted: AskedShapes, seen: Emitted) -> tuple[str, str]:
    (finding,) = compare(wanted, seen)
    return finding.outcome, finding.told


def test_a_shape_is_text_whatever_holds_it() -> None:
    assert (
        shape_text((1024, [4, True], None, "x"))
        == shape_text([1024, (4, True), None, "x"])
        == "(1024, (4, True), None, x)"
    )
    assert shape_text([64]) == "(64)"


@given(shapes)
def test_shapes_that_were_taken_are_honoured(texts: list[str]) -> None:
    assert outcome(asked({"softmax": tuple(texts)}), emitted(*texts)) == ("honoured", "")


@given(shapes, st.randoms(use_true_random=False))
def test_order_and_repeats_do_not_matter(texts: list[str], random: object) -> None:
    shuffled = [*texts, texts[0]]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert outcome(asked({"softmax": tuple(texts)}), emitted(*shuffled))[0] == "honoured"


@given(shapes, shapes)
def test_other_shapes_are_never_honoured(wanted: list[str], other: list[str]) -> None:
    found, told = outcome(asked({"softmax": tuple(wanted)}), emitted(*other))
    assert (found == "honoured") == (set(wanted) == set(other))
    assert (told == "") == (found == "honoured")


def test_what_was_asked_and_what_was_emitted_are_named() -> None:
    assert outcome(asked({"softmax": ("(4096, 256)",)}), emitted("(64, 64)", "(8)")) == (
        "not honoured",
        "shapes not honoured: asked (4096, 256), emitted (64, 64), (8)",
    )


def test_a_vendor_s_own_file_is_named() -> None:
    _, told = outcome(asked({"softmax": ("(8)",)}), emitted("(64)", file="/x/_kunlunxin/core_shapes.yaml"))
    assert told.endswith("emitted (64) (FlagGems read /x/_kunlunxin/core_shapes.yaml instead)")


def test_the_key_is_the_name_then_the_nearest_class() -> None:
    assert key_of("softmax", CLASSES, {"Benchmark", "SoftmaxBenchmark", "softmax"}) == "softmax"
    assert key_of("softmax", CLASSES, {"Benchmark", "SoftmaxBenchmark"}) == "SoftmaxBenchmark"
    assert key_of("softmax", CLASSES, {"topk"}) is None
    (finding,) = compare(asked({"Benchmark": ("(8)",)}), emitted("(8)"))
    assert (finding.key, finding.outcome) == ("Benchmark", "honoured")


def test_a_nearer_key_of_the_suite_s_own_hides_the_one_asked_for() -> None:
    keys = {"Benchmark": ("(8)",), "softmax": ("(64)",)}
    assert compare(asked(keys, "Benchmark"), emitted("(64)")) == ()


def test_an_operator_without_a_key_is_named_where_the_file_is_replaced() -> None:
    assert outcome(asked({"sofmax": ("(8)",)}, whole=True), emitted("(64)", "(4096)")) == (
        "no key",
        "the shape file has no key for softmax: it ran its own, (64), (4096)",
    )
    assert compare(asked({"sofmax": ("(8)",)}), emitted("(64)")) == ()


def test_rows_that_have_nothing_to_do_with_the_shape_contradict_the_object() -> None:
    """A test may take shapes and then make inputs of sizes of its own."""
    found, told = outcome(asked({"softmax": ("(77, 99)",)}), emitted("(77, 99)", details=("[torch.Size([4, 3])]",)))
    assert found == "not seen"
    assert told == "shapes not seen: asked (77, 99), which no row shows; the rows have [torch.Size([4, 3])]"


def test_rows_of_other_sizes_beside_those_asked_for_are_named() -> None:
    """A shape that a test of its own mind happens to run too is not taken for an answer."""
    sizes = ("[torch.Size([64, 64])]", "[torch.Size([4, 3, 32, 32])]")
    assert outcome(asked({"softmax": ("(64, 64)",)}), emitted("(64, 64)", details=sizes)) == (
        "not seen",
        "shapes not seen in every row: asked (64, 64); there are also rows of [torch.Size([4, 3, 32, 32])]",
    )


def test_without_rows_or_after_a_failure_nothing_is_claimed() -> None:
    wanted = asked({"softmax": ("(77, 99)", "(5, 6)")})
    assert outcome(wanted, emitted("(77, 99)", "(5, 6)", details=())) == ("not reached", "")
    late = emitted("(77, 99)", "(5, 6)", details=("[torch.Size([77, 99])]",), complete=False)
    assert outcome(wanted, late) == ("not reached", "")


def test_rows_of_a_test_without_a_benchmark_object() -> None:
    alone = Emitted((), {"softmax": ("[torch.Size([4])]",)}, measured=frozenset(["softmax"]))
    for key in ("softmax", "Benchmark"):
        found, told = outcome(asked({key: ("(8)",)}), alone)
        assert found == "not honoured"
        assert "asked (8), but the test takes none" in told
        assert "[torch.Size([4])]" in told
    assert compare(asked({"topk": ("(8)",)}), alone) == ()
    assert (
        compare(asked({"softmax": ("(8)",)}), replace(alone, measured=frozenset())) == ()
    )  # it may not have got there


@pytest.mark.parametrize(
    ("detail", "shape", "expected"),
    [
        ("[torch.Size([64, 512]), 1]", "(64, 512)", True),
        ("[torch.Size([384, 128]), torch.Size([128, 256])]", "(2, 384, 256, 128)", True),  # B, M, N, K
        ("[torch.Size([32768])]", "(64, 512)", True),  # flattened
        ("[torch.Size([4, 3, 224, 224])]", "(64, 512)", False),
        ("[torch.float16, 'k64', 51.2]", "(64, 512)", False),
        ("[torch.Size([7])]", "(1, 1)", True),  # nothing to tell it by
        ("", "(64)", False),
    ],
)
def test_rows_show_a_shape(detail: str, shape: str, expected: bool) -> None:
    assert shows(detail, shape) is expected


def run(side: str, *rows: str, failed: tuple[str, ...] = (), texts: tuple[str, ...] = ("(8, 9)",)) -> Run:
    keys = [RowKey("n", "softmax", "float16", 0, detail) for detail in rows]
    bad = tuple(FailedRow(RowKey("n", "softmax", "float16", 0, detail), "run", "no") for detail in failed)
    benchmark = BenchmarkShapes("softmax", CLASSES, texts, "/r/shapes.yaml")
    return Run("n", side, Path(), tuple(Row(key, ()) for key in keys), bad, (), (), 0, None, shapes=(benchmark,))  # type: ignore[arg-type]


def test_both_sides_are_taken_together() -> None:
    seen = emitted_by(run("before", "a", "b"), run("after", "b", failed=("c",)))
    assert seen.details == {"softmax": ("a", "b", "c")}
    assert (len(seen.benchmarks), seen.complete) == (1, False)
    assert seen.measured == seen.failed == {"softmax"}


def test_a_run_that_was_ended_is_laid_to_the_benchmark_that_ran_last() -> None:
    first = run("before")
    second = replace(first.shapes[0], operator="topk")
    ended = replace(first, shapes=(*first.shapes, second), absence=Absence("timeout", "after 9 s"))
    assert emitted_by(ended).failed == {"topk"}
    assert emitted_by(replace(ended, absence=Absence("skipped", "no", clean=True))).failed == set()


@pytest.mark.parametrize("shape", ["(64)", "(1, x)", "(1, 2.5)", "(-1, 0)"])
def test_shapes_that_a_benchmark_failed_on_did_not_run_as_asked(shape: str) -> None:
    assert outcome(asked({"softmax": (shape,)}), emitted(shape, details=("",), failed=True)) == (
        "not reached",
        f"the shapes asked for, {shape}, were given to softmax, which failed on them",
    )


def test_a_shape_without_a_telling_number_is_not_seen_in_rows_of_a_run_that_failed() -> None:
    details = ("[torch.Size([64, 64])]", "")
    seen = emitted("(64, 64)", "(1, x)", details=details, complete=False)
    assert outcome(asked({"softmax": ("(64, 64)", "(1, x)")}), seen) == ("not reached", "")


def test_failed_rows_of_other_sizes_are_not_laid_to_the_shapes_asked_for() -> None:
    seen = emitted("(64)", details=("[torch.Size([5, 7])]",), failed=True)
    assert outcome(asked({"softmax": ("(64)",)}), seen) == ("not reached", "")


def test_nothing_is_said_of_own_shapes_where_no_row_ran() -> None:
    own = emitted("(1073741824)", details=("",), failed=True)
    (finding,) = compare(asked({"mm": ("(64)",)}, whole=True), own)
    assert (finding.outcome, finding.emitted) == ("no key", ())
    assert finding.told == "the shape file has no key for softmax, of which no row was measured"
    assert outcome(asked({"softmax": ("(64)",)}), own) == (
        "not honoured",
        "shapes not honoured: asked (64), emitted none",
    )
    sized = emitted("(128, 8)", failed=True)  # its rows had these sizes, and failed
    assert outcome(asked({"softmax": ("(64)",)}), sized)[1] == "shapes not honoured: asked (64), emitted (128, 8)"


def test_benchmarks_that_failed_on_the_same_shapes_take_one_sentence() -> None:
    failing = run("before", failed=("",), texts=("(64)",))
    rows = tuple(replace(row, key=replace(row.key, operator="topk")) for row in failing.failed_rows)
    both = replace(
        failing,
        shapes=(*failing.shapes, replace(failing.shapes[0], operator="topk")),
        failed_rows=(*failing.failed_rows, *rows),
    )
    judged = JudgedOperator(VERDICT, (NodeVerdict("n", VERDICT, (), (), (), (), (), ()),))
    found = note_shapes(judged, [(both, both)], asked({"Benchmark": ("(64)",)}))
    assert found.verdict.reason == "the shapes asked for, (64), were given to softmax, topk, which failed on them"


def test_benchmarks_without_a_key_and_without_a_row_take_one_sentence() -> None:
    """`mm` runs tests that print other names too; the key was given to one of them, and the others have none."""
    failing = run("before", failed=("",), texts=("(64)",))
    others = tuple(replace(failing.shapes[0], operator=name, shapes=("(1073741824)",)) for name in ("addmm", "bmm"))
    pair = (replace(failing, shapes=(*others, *failing.shapes)), failing)
    own = replace(VERDICT, verdict=Verdict.NO_ROWS, rows=0, reason="ValueError: no", failed_runs=2)
    judged = JudgedOperator(own, (NodeVerdict("n", own, (), (), (), (), (), ()),))
    found = note_shapes(judged, [pair], asked({"softmax": ("(64)",)}, whole=True)).verdict
    assert found.reason == (
        "ValueError: no; the shape file has no key for addmm, bmm, of which no row was measured; "
        "the shapes asked for, (64), were given to softmax, which failed on them"
    )
    assert (found.shapes, found.shape_keys) == ("not reached", ("softmax",))
    assert shapes_summary([found]) == (
        "shapes: as asked in 0 operators; given as asked to softmax, but a benchmark failed (the reason says how)"
    )


VERDICT = OperatorVerdict("softmax", "-", Verdict.NO_IR_DIFF, 1, 0, 1, 0, 0, "-", "-", "none", "", 1.0, Status.COMPLETE)


def test_a_note_changes_no_verdict() -> None:
    pair = (run("before", "[torch.Size([8, 9])]"), run("after", "[torch.Size([8, 9])]"))
    for verdict in Verdict:
        own = replace(VERDICT, verdict=verdict, reason="why")
        judged = JudgedOperator(own, (NodeVerdict("n", own, (), (), (), (), (), ()),))
        ignored = note_shapes(judged, [pair], asked({"softmax": ("(1024)",)}))
        told = "why; shapes not honoured: asked (1024), emitted (8, 9)"
        assert ignored.verdict == replace(own, reason=told, shapes="not honoured", shape_keys=("softmax",))
        assert ignored.nodes[0].summary.reason == told
        taken = note_shapes(judged, [pair], asked({"softmax": ("(8, 9)",)}))
        assert taken.verdict == replace(own, shapes="honoured", shape_keys=("softmax",))
        assert [describe_finding(finding) for finding in taken.nodes[0].shapes] == ["shapes honoured: (8, 9)"]


def test_the_summary_counts_and_names() -> None:
    entries = [
        replace(VERDICT, shapes="honoured"),
        replace(VERDICT, operator="topk", shapes="not honoured"),
        replace(VERDICT, operator="conv", shapes="not seen"),
        replace(VERDICT, operator="add", shapes="no key"),
        replace(VERDICT, operator="sort", shapes="not reached"),
        replace(VERDICT, operator="mm", shapes="not reached", failed_runs=1),
        replace(VERDICT, operator="bmm", shapes="no key", shape_keys=("bmm",)),
        replace(VERDICT, operator="other"),
    ]
    assert shapes_summary(entries) == (
        "shapes: as asked in 1 operator; not honoured by topk; not seen in rows of conv; no key in the file for add; "
        "not reached by sort; given as asked to mm, but a benchmark failed (the reason says how); "
        "no key in the file for some benchmarks of bmm"
    )


KNOWN = KnownKeys({"softmax", "flatten.using_ints"}, {"softmax": ("softmax",), "flatten": ("flatten.using_ints",)},
                  {"softmax", "flatten", "topk", "mm", "BlasBenchmark"})  # fmt: skip


def test_a_key_that_matched_nothing_is_named_with_the_nearest() -> None:
    assert unused_keys(["sofmax", "softmax"], {"softmax"}, KNOWN) == (
        "no operator of this screen uses the key 'sofmax'; nearest: softmax",
    )
    assert unused_keys(["flaten"], set(), KNOWN) == (
        "no operator of this screen uses the key 'flaten'; nearest: flatten.using_ints",
    )
    assert unused_keys(["zzzzzzzz"], set(), KNOWN) == ("no operator of this screen uses the key 'zzzzzzzz'",)


def test_a_mark_is_no_key() -> None:
    assert unused_keys(["flatten"], set(), KNOWN) == (
        "no operator of this screen uses the key 'flatten': it is a mark, and FlagGems looks for the printed name, "
        "flatten.using_ints",
    )


def test_keys_of_other_operators_take_one_line() -> None:
    assert unused_keys(["topk", "mm", "BlasBenchmark"], set(), KNOWN) == (
        "keys for operators that are not in this screen: topk, mm, BlasBenchmark",
    )


def test_the_key_for_every_operator_is_not_named() -> None:
    """Who asks for a shape without an operator has not written that key."""
    told = ("no benchmark took the shapes that were asked for every operator",)
    assert unused_keys(["Benchmark"], set(), replace(KNOWN, suite={"Benchmark"})) == told
    assert unused_keys(["Benchmark"], set(), KNOWN) == told
    assert unused_keys(["Benchmark"], {"Benchmark"}, KNOWN) == ()


def test_a_key_of_a_test_that_got_nowhere() -> None:
    (sentence,) = unused_keys(["softmax"], set(), KNOWN)
    assert "looks for the key softmax, though a test of that name is here" in sentence


@given(st.lists(st.text("abc", min_size=1), unique=True), st.sets(st.text("abc", min_size=1)))
def test_every_unused_key_is_told_and_no_used_one(keys: list[str], used: set[str]) -> None:
    sentences = unused_keys(keys, used, KnownKeys(set(), {}, set()))
    unused = [key for key in keys if key not in used]
    assert all(any(repr(key) in sentence for sentence in sentences) for key in unused[:8])
    assert len(sentences) == min(len(unused), 8) + (len(unused) > 8)
