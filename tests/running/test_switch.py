"""How a switch is written on the command line, and what each side gets of it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.errors import UsageError
from zl_bench.running.switch import FORMS, OWN_VARIABLES, Switch, is_interpreter, parse_switch, with_vendor


def values(switch: Switch) -> tuple[str | None, str | None]:
    return switch.before, switch.after


def make_interpreter(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_bare_name_is_0_against_1() -> None:
    switch = parse_switch("TRITON_F32_DEFAULT")
    assert (switch.kind, switch.name, switch.axis) == ("variable", "TRITON_F32_DEFAULT", "TRITON_F32_DEFAULT")
    assert switch.variables("before") == {"TRITON_F32_DEFAULT": "0"}
    assert switch.variables("after") == {"TRITON_F32_DEFAULT": "1"}
    assert switch.dropped_pass("after") is None
    assert switch.interpreter("after") is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("X=ieee..tf32", ("ieee", "tf32")),
        ("X=..1", (None, "1")),
        ("X=0..", ("0", None)),
        ("X=..", (None, None)),
        ("X=a=b..c=d", ("a=b", "c=d")),
        ("X= ..a b", (" ", "a b")),
        ("X=pass:y..build:z", ("pass:y", "build:z")),
        ("X=0...5", ("0", ".5")),
        ("X=/a..b..c", ("/a", "b..c")),
    ],
)
def test_two_values(text: str, expected: tuple[str | None, str | None]) -> None:
    """The first `..` divides them, so a value that holds `..` itself can stand behind it."""
    assert values(parse_switch(text)) == expected


def test_an_empty_value_means_unset() -> None:
    assert parse_switch("X=..1").variables("before") == {"X": None}
    assert parse_switch("X=1..").variables("after") == {"X": None}


@pytest.mark.parametrize(
    ("text", "null"), [("X=a..a", True), ("X=..", True), ("X=a..b", False), ("X", False), ("pass:x", False)]
)
def test_a_null_control_is_the_same_value_twice(text: str, null: bool) -> None:
    assert parse_switch(text).is_null_control is null


def test_a_pass_is_left_out_after_only() -> None:
    switch = parse_switch("pass:pipeline")
    assert (switch.kind, switch.axis) == ("pass", "pass:pipeline")
    assert switch.dropped_pass("before") is None
    assert switch.dropped_pass("after") == {"name": "pipeline", "occurrence": None}
    assert switch.variables("before") == switch.variables("after") == {}


def test_one_occurrence_of_a_pass() -> None:
    switch = parse_switch("pass:remove_layout_conversions@2")
    assert switch.axis == "pass:remove_layout_conversions@2"
    assert switch.dropped_pass("after") == {"name": "remove_layout_conversions", "occurrence": 2}


def test_several_occurrences_of_a_pass() -> None:
    switch = parse_switch("pass:pipeline@1,3")
    assert switch.axis == "pass:pipeline@1,3"
    assert switch.dropped_pass("before") is None
    assert switch.dropped_pass("after") == {"name": "pipeline", "occurrence": [1, 3]}


@pytest.mark.parametrize(
    "text",
    [
        "pass:",
        "pass:@2",
        "pass:x@",
        "pass:x@0",
        "pass:x@-1",
        "pass:x@two",
        "pass:x@1,",
        "pass:x@1,0",
        "pass:x@,1",
        "pass:x y",
        "pass:x\n",
        "pass:x@" + "9" * 5000,
    ],
)
def test_no_pass(text: str) -> None:
    with pytest.raises(UsageError, match="names no pass"):
        parse_switch(text)


@pytest.mark.parametrize("text", ["", "=", "=a..b", "1X", "A-B", "A B=0..1", "X\n", "é", "X@2", "PASS:x", "X=a..\0"])
def test_no_switch(text: str) -> None:
    with pytest.raises(UsageError, match="is no switch") as error:
        parse_switch(text)
    assert FORMS in str(error.value)


@pytest.mark.parametrize(("text", "hint"), [("X=", "X=0..1"), ("X=5", "X=5..1"), ("X=a.b", "X=a.b..1")])
def test_one_value_is_not_two(text: str, hint: str) -> None:
    with pytest.raises(UsageError, match="has one value") as error:
        parse_switch(text)
    assert hint in str(error.value)


@pytest.mark.parametrize("name", sorted(OWN_VARIABLES))
def test_what_the_tool_sets_is_no_switch(name: str) -> None:
    for text in (name, f"{name}=a..b"):
        with pytest.raises(UsageError, match="set by zl-bench"):
            parse_switch(text)


@pytest.mark.parametrize(
    ("segment", "text", "expected"),
    [
        ("", "FLAGTREE_{VENDOR}_RLC_ENHANCE", "FLAGTREE_RLC_ENHANCE"),
        ("MUSA", "FLAGTREE_{VENDOR}_RLC_ENHANCE", "FLAGTREE_MUSA_RLC_ENHANCE"),
        ("", "{VENDOR}_RLC", "RLC"),
        ("", "FLAGTREE_{VENDOR}", "FLAGTREE"),
        ("", "A__{VENDOR}__B", "A___B"),
        ("", "A{VENDOR}B", "AB"),
        ("X", "{VENDOR}_{VENDOR}", "X_X"),
        ("X", "NOTHING=a..b", "NOTHING=a..b"),
        (None, "NOTHING", "NOTHING"),
    ],
)
def test_the_vendor_s_segment(segment: str | None, text: str, expected: str) -> None:
    assert with_vendor(text, segment) == expected


def test_the_segment_is_put_in_before_the_switch_is_read() -> None:
    switch = parse_switch("FLAGTREE_{VENDOR}_RLC_ENHANCE=off..on", "MUSA")
    assert (switch.text, switch.name) == ("FLAGTREE_MUSA_RLC_ENHANCE=off..on", "FLAGTREE_MUSA_RLC_ENHANCE")


def test_an_unknown_segment_is_refused() -> None:
    with pytest.raises(UsageError, match="--vendor-segment"):
        parse_switch("FLAGTREE_{VENDOR}_RLC_ENHANCE")


def test_a_segment_that_makes_no_name_is_refused() -> None:
    with pytest.raises(UsageError, match="is no switch"):
        parse_switch("FLAGTREE_{VENDOR}_RLC", "A B")


def test_two_builds(tmp_path: Path) -> None:
    a, b = make_interpreter(tmp_path / "a" / "python"), make_interpreter(tmp_path / "b" / "python")
    switch = parse_switch(f"build:{a}..{b}")
    assert (switch.kind, switch.axis, switch.is_null_control) == ("build", "build", False)
    assert (switch.interpreter("before"), switch.interpreter("after")) == (a, b)
    assert switch.variables("before") == {}
    assert switch.dropped_pass("after") is None


def test_paths_of_builds_may_hold_dots(tmp_path: Path) -> None:
    a, b = make_interpreter(tmp_path / "a..b" / "py"), make_interpreter(tmp_path / "c" / "py..3")
    detour = tmp_path / "c" / ".." / "a..b" / "py"
    assert parse_switch(f"build:{a}..{b}").interpreter("after") == b
    assert parse_switch(f"build:{detour}..{b}").interpreter("before") == detour
    assert parse_switch(f"build:{b}..{detour}").interpreter("after") == detour


def test_relative_paths_of_builds_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_interpreter(tmp_path / "a" / "python")
    make_interpreter(tmp_path / "b" / "python")
    monkeypatch.chdir(tmp_path / "a")
    switch = parse_switch("build:python..../b/python")
    assert switch.interpreter("before") == tmp_path / "a" / "python"
    assert str(switch.interpreter("after")) == f"{tmp_path}/a/../b/python"


@pytest.mark.parametrize(
    "text", ["build:", "build:..", "build:{good}", "build:{good}..", "build:{good}..{good}x", "build:{plain}..{good}",
             "build:{folder}..{good}", "build:" + "a" * 5000 + "..{good}", "build:a\0..{good}", "build:\ud800..{good}"],
)  # fmt: skip
def test_what_is_no_interpreter_is_refused(tmp_path: Path, text: str) -> None:
    good = make_interpreter(tmp_path / "python")
    plain = tmp_path / "plain"
    plain.write_text("")
    with pytest.raises(UsageError, match="two Python interpreters that exist"):
        parse_switch(text.format(good=good, plain=plain, folder=tmp_path))


def test_an_interpreter() -> None:
    assert is_interpreter(sys.executable)
    assert not is_interpreter("/")
    assert not is_interpreter("")
    assert not is_interpreter("a" * 5000)


@given(
    st.one_of(
        st.text(),
        st.from_regex(r"(pass:|build:|[A-Z_{}]*=?)[^\n]{0,20}(\.\.)?.{0,20}", fullmatch=True),
        st.builds("pass:{}@{}".format, st.text(max_size=3), st.integers()),
        st.builds("build:{}..{}".format, st.text(max_size=300), st.sampled_from([sys.executable, "x", ""])),
    ),
    st.one_of(st.none(), st.text(max_size=5)),
)
def test_every_text_is_a_switch_or_a_usage_error(text: str, segment: str | None) -> None:
    try:
        switch = parse_switch(text, segment)
    except UsageError as error:
        assert str(error)
    else:
        assert isinstance(switch, Switch)
        assert switch.axis
        assert set(switch.variables("before")) == set(switch.variables("after"))


VALUE = st.characters(exclude_characters="{\0", exclude_categories=["Cs"])


@given(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True).filter(lambda name: name not in OWN_VARIABLES),
    st.text(VALUE, max_size=6).filter(lambda value: ".." not in value and not value.endswith(".")),
    st.text(VALUE, max_size=6),
)
def test_what_is_written_is_what_is_read(name: str, before: str, after: str) -> None:
    switch = parse_switch(f"{name}={before}..{after}")
    assert (switch.name, *values(switch)) == (name, before or None, after or None)
