"""--shape and --shape-file: what they ask for, and the file that FlagGems is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.suites.flaggems_tree import make_checkout
from zl_bench.errors import UsageError
from zl_bench.suites import flaggems
from zl_bench.suites.base import Suite, select
from zl_bench.suites.shape_file import ShapePlan, keys_for, known_keys, parse_shape, plan_shapes, read_asked

CORE = """\
softmax:
  shapes:
    - [64, 64]
  shape_desc: "M, N"
topk:
  shapes: [[[4, 128], 5], [8, 256]]
Benchmark:
  shapes:
    - [1024]
"""
TESTS = """
class Own(base.UnaryBenchmark):
    pass

@pytest.mark.softmax
def test_softmax():
    base.UnaryBenchmark(op_name="softmax", torch_op=torch.softmax).run()

@pytest.mark.flatten
def test_flatten():
    base.UnaryBenchmark(op_name="flatten.using_ints", torch_op=torch.flatten).run()

@pytest.mark.both
def test_both():
    for name in ["both", "both_backward", "other"]:
        base.UnaryBenchmark(op_name=name, torch_op=torch.flatten).run()

@pytest.mark.unreadable
def test_unreadable():
    base.UnaryBenchmark(op_name=find_out(), torch_op=torch.flatten).run()
"""


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    root = make_checkout(tmp_path / "checkout", test_some=TESTS)
    (root / "benchmark" / "core_shapes.yaml").write_text(CORE)
    return flaggems.load(root)


def planned(suite: Suite, file: Path | None = None, *texts: str) -> ShapePlan:
    found = plan_shapes(suite, file, texts)
    assert found is not None
    return found


def test_nothing_asked(suite: Suite) -> None:
    assert plan_shapes(suite, None, ()) is None


def test_one_operator_s_shapes_replace_its_own_and_no_others(suite: Suite) -> None:
    plan = planned(suite, None, "softmax=4096,256", "softmax=8")
    assert yaml.safe_load(plan.content) == {
        "softmax": {"shapes": [[4096, 256], [8]], "shape_desc": "M, N"},
        "topk": {"shapes": [[[4, 128], 5], [8, 256]]},
        "Benchmark": {"shapes": [[1024]]},
    }
    assert plan.asked.keys == {"softmax"}
    assert plan.asked.by_key["softmax"] == ("(4096, 256)", "(8)")
    assert plan.asked.by_key["topk"] == ("((4, 128), 5)", "(8, 256)")
    assert (plan.asked.whole_file, plan.given) == (False, None)


def test_a_shape_without_an_operator_leaves_no_other_key_in_force(suite: Suite) -> None:
    plan = planned(suite, None, "1024,1024", "softmax=8")
    assert yaml.safe_load(plan.content) == {"Benchmark": {"shapes": [[1024, 1024]]}, "softmax": {"shapes": [[8]]}}
    assert plan.asked.keys == {"Benchmark", "softmax"}


def test_a_file_is_given_as_it_is(suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("# mine\nsoftmax: {shapes: [[7, 7]]}\n")
    plan = planned(suite, file)
    assert plan.content == file.read_text()
    assert plan.asked.by_key == {"softmax": ("(7, 7)",)}
    assert plan.asked.whole_file
    assert plan.given is not None


def test_single_shapes_override_the_file(suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("common: &c {shapes: [[7, 7]]}\nsoftmax: *c\ntopk: *c\n")
    plan = planned(suite, file, "softmax=5")
    assert plan.asked.by_key == {"common": ("(7, 7)",), "softmax": ("(5)",), "topk": ("(7, 7)",)}
    assert plan.asked.keys == {"common", "softmax", "topk"}
    assert plan.content.startswith("# Written by zl-bench from --shape and mine.yaml.")


def test_a_shape_for_every_operator_contradicts_a_file(suite: Suite, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("softmax: {shapes: [[7, 7]]}\n")
    with pytest.raises(UsageError, match="would replace the whole of --shape-file"):
        plan_shapes(suite, file, ["64,64"])


def test_a_mark_stands_for_the_names_that_are_printed(suite: Suite) -> None:
    plan = planned(suite, None, "flatten=8,9")
    assert plan.asked.keys == {"flatten.using_ints"}
    assert plan.notes == ("--shape flatten=8,9: FlagGems knows flatten as flatten.using_ints",)
    assert keys_for(suite, "softmax") == ("softmax",)
    assert keys_for(suite, "both") == ("both",)
    assert keys_for(suite, "unreadable") == ("unreadable",)
    assert keys_for(suite, "SomeBenchmark") == ("SomeBenchmark",)


def test_a_suite_without_shape_files(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match="--shape and --shape-file are for --suite flaggems; the suite asked for is mine"
    ):
        plan_shapes(Suite("mine", tmp_path, ()), None, ["64"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must be a mapping"),
        ("- [1]\n", "must be a mapping"),
        ("softmax: [1\n", "is not YAML"),
        ("softmax: !!python/object:os.system {}\n", "is not YAML"),
        ("a: 2020-99-99\n", "is not YAML"),
        ("softmax: {shapes: [[1]]}\nsoftmax: {shapes: [[2]]}\n", "the key 'softmax' twice"),
        ("on: {shapes: [[1]]}\n", "the key True is no text to YAML"),
        ("softmax: 3\n", "softmax needs `shapes:`"),
        ("softmax: {shape: [[1]]}\n", "softmax needs `shapes:`"),
        ("softmax: {shapes: []}\n", "softmax needs `shapes:`"),
        ("softmax: {shapes: [1, 2]}\n", "softmax has 1 among its shapes"),
        ("softmax: {shapes: [[1], null]}\n", "softmax has None among its shapes"),
        ("softmax: {shapes: [[]]}\n", "softmax has"),
        ("softmax: {shapes: [[{a: 1}]]}\n", "softmax has"),
        ("softmax: {shapes: [&b [*b]]}\n", "softmax has"),
        ("\x00", "is not YAML"),
    ],
)
def test_a_malformed_file_is_refused(suite: Suite, tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=message):
        plan_shapes(suite, file, ())


def test_a_file_that_is_none(suite: Suite, tmp_path: Path) -> None:
    for file in (tmp_path / "nowhere.yaml", tmp_path):
        with pytest.raises(UsageError, match="can not be read"):
            plan_shapes(suite, file, ())
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="can not be read"):
        plan_shapes(suite, tmp_path / "binary", ())


def test_what_may_have_no_end_is_not_read(suite: Suite, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for file in (tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(UsageError, match=f"--shape-file {file} can not be read: it is no regular file"):
            plan_shapes(suite, file, ())


def test_a_file_of_more_than_a_mebibyte_is_refused(suite: Suite, tmp_path: Path) -> None:
    file, head = tmp_path / "mine.yaml", "softmax: {shapes: [[7, 7]]}\n#"
    file.write_text(head.ljust((1 << 20) + 1, "x"))
    with pytest.raises(UsageError, match=f"--shape-file {file} is larger than 1 MiB"):
        plan_shapes(suite, file, ())
    file.write_text(head.ljust(1 << 20, "x"))
    assert planned(suite, file).asked.by_key == {"softmax": ("(7, 7)",)}


@given(
    st.none() | st.from_regex(r"[A-Za-z_][A-Za-z0-9_.]*", fullmatch=True), st.lists(st.integers(1, 1 << 40), min_size=1)
)
def test_every_shape_can_be_written(operator: str | None, numbers: list[int]) -> None:
    sizes = ",".join(map(str, numbers))
    assert parse_shape(sizes if operator is None else f"{operator}={sizes}") == (operator, sizes)


@given(st.text())
def test_no_text_is_taken_for_something_else(text: str) -> None:
    try:
        operator, sizes = parse_shape(text)
    except UsageError:
        return
    assert all(int(part) > 0 for part in sizes.split(","))
    assert operator is None or operator.strip()


@pytest.mark.parametrize(
    "text",
    [
        *("", "=4", "softmax=", "softmax", "64x64", "0", "-1", "64,", "1.5", "softmax=(1,2)", "a=1=b"),
        *("abs=64=64", "abs=64;softmax=3", "abs;softmax=3", "abs,softmax=3", "abs softmax=3"),
    ],
)
def test_what_is_no_shape(text: str) -> None:
    with pytest.raises(UsageError, match=r"write \[OPERATOR=\]N,N,… with whole numbers"):
        parse_shape(text)


def test_the_recorded_file_says_what_was_asked(suite: Suite, tmp_path: Path) -> None:
    plan = planned(suite, None, "softmax=4096,256", "new=3")
    (tmp_path / "shapes.yaml").write_text(plan.content)
    assert read_asked(tmp_path / "shapes.yaml", sorted(plan.asked.keys), whole_file=False) == plan.asked


def test_what_could_be_a_key(suite: Suite) -> None:
    known = known_keys(suite, select(suite, ["flatten"]))
    assert known.names == {"flatten.using_ints"}
    assert known.marks == {"flatten": ("flatten.using_ints",)}
    assert {"softmax", "flatten", "UnaryBenchmark", "Benchmark", "Own"} <= set(known.suite)
