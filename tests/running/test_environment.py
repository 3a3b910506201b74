"""The environments of the two sides: equal but for the switch, clean, and safe to write down."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zl_bench.errors import UsageError
from zl_bench.running.environment import (
    PROBE_PATH,
    SET,
    UNSET,
    not_inherited,
    parse_assignments,
    recordable,
    side_environment,
)
from zl_bench.running.switch import OWN_VARIABLES, parse_switch

names = st.from_regex(r"[A-Z_][A-Z0-9_]{0,6}", fullmatch=True) | st.sampled_from([*UNSET, *SET, "PYTHONPATH"])
environments = st.dictionaries(names, st.text(max_size=5), max_size=8)


def test_assignments() -> None:
    assert parse_assignments([]) == {}
    assert parse_assignments(["A=1", "B=", "C=x=y", "A=2"]) == {"A": "2", "B": "", "C": "x=y"}


@pytest.mark.parametrize("text", ["A", "", "=", "=1"])
def test_no_assignment(text: str) -> None:
    with pytest.raises(UsageError, match="NAME=VALUE"):
        parse_assignments([text])


@pytest.mark.parametrize("name", sorted(OWN_VARIABLES))
def test_what_the_tool_sets_can_not_be_given(name: str) -> None:
    with pytest.raises(UsageError, match="set by zl-bench"):
        parse_assignments([f"{name}=x"])


@given(
    environments, environments, st.sampled_from(["SWITCH=a..b", "SWITCH", "SWITCH=..1", "SWITCH=1..", "SWITCH=x..x"])
)
def test_the_sides_differ_in_the_switch_and_in_nothing_else(
    inherited: dict[str, str], given: dict[str, str], text: str
) -> None:
    switch = parse_switch(text)
    before = side_environment(inherited, switch.variables("before"), given, ["MASK"])
    after = side_environment(inherited, switch.variables("after"), given, ["MASK"])
    assert before.pop("SWITCH", None) == switch.before
    assert after.pop("SWITCH", None) == switch.after
    assert before == after


@pytest.mark.parametrize("text", ["pass:pipeline"])
def test_the_sides_of_a_pass_have_the_same_environment(text: str) -> None:
    switch = parse_switch(text)
    sides = [side_environment({"A": "1"}, switch.variables(side), {"B": "2"}) for side in ("before", "after")]
    assert sides[0] == sides[1]


@pytest.mark.parametrize("name", UNSET)
def test_what_would_skip_or_share_work_is_unset_unless_given(name: str) -> None:
    assert name not in side_environment({name: "1"}, {}, {})
    assert side_environment({name: "1"}, {}, {name: "2"})[name] == "2"


@pytest.mark.parametrize(
    "name", ["TRITON_DEBUG", "TRITON_SOMETHING_NEW", "AMDGCN_USE_BUFFER_OPS", "FLAGTREE_MUSA_RLC_ENHANCE", "FLAGTUNE_X"]
)
def test_no_knob_is_inherited_and_none_that_is_given_is_lost(name: str) -> None:
    assert not_inherited([name, "HOME"]) == (name,)
    assert name not in side_environment({name: "1"}, {}, {})
    assert side_environment({name: "1"}, {}, {name: "2"})[name] == "2"
    assert side_environment({name: "1"}, {name: "3"}, {name: "2"})[name] == "3"


@pytest.mark.parametrize(
    "name",
    [
        "TRITON_PTXAS_PATH",
        "TRITON_HOME",
        "TRITON_PLUGIN_DIRS",
        "FLAGTREE_BACKEND",
        "MUSA_VISIBLE_DEVICES",
        "LD_PRELOAD",
    ],
)
def test_where_an_installation_has_its_parts_is_inherited(name: str) -> None:
    assert not_inherited([name]) == ()
    assert side_environment({name: "1"}, {}, {})[name] == "1"


@pytest.mark.parametrize("name", [name for name in SET if name not in OWN_VARIABLES])
def test_what_is_set_can_be_given_otherwise(name: str) -> None:
    assert side_environment({name: "inherited"}, {}, {})[name] == SET[name]
    assert side_environment({}, {}, {name: "given"})[name] == "given"


def test_hash_seeds_are_fixed() -> None:
    assert side_environment({"PYTHONHASHSEED": "random"}, {}, {})["PYTHONHASHSEED"] == "0"


def test_cards_are_hidden_unless_given() -> None:
    inherited = {"CUDA_VISIBLE_DEVICES": "3"}
    assert side_environment(inherited, {}, {}, ["CUDA_VISIBLE_DEVICES"])["CUDA_VISIBLE_DEVICES"] == ""
    assert side_environment(inherited, {}, {})["CUDA_VISIBLE_DEVICES"] == "3"
    given = {"CUDA_VISIBLE_DEVICES": "1"}
    assert side_environment(inherited, {}, given, ["CUDA_VISIBLE_DEVICES"])["CUDA_VISIBLE_DEVICES"] == "1"


def test_the_switch_is_stronger_than_everything() -> None:
    assert side_environment({"X": "i"}, {"X": "s"}, {"X": "g"})["X"] == "s"
    assert "X" not in side_environment({"X": "i"}, {"X": None}, {"X": "g"})
    assert side_environment({}, {"TRITON_ALWAYS_COMPILE": "1"}, {})["TRITON_ALWAYS_COMPILE"] == "1"


def test_an_unset_switch_that_is_not_there_is_no_error() -> None:
    assert "X" not in side_environment({}, {"X": None}, {})


def test_the_probe_comes_first_on_the_path() -> None:
    assert side_environment({}, {}, {})["PYTHONPATH"] == str(PROBE_PATH)
    assert side_environment({"PYTHONPATH": ""}, {}, {})["PYTHONPATH"] == str(PROBE_PATH)
    assert side_environment({"PYTHONPATH": "/a:/b"}, {}, {})["PYTHONPATH"] == f"{PROBE_PATH}:/a:/b"
    assert (PROBE_PATH / "zl_probe" / "server.py").is_file()


def test_the_inherited_environment_is_left_alone() -> None:
    inherited = {"PYTHONPATH": "/a", "TRITON_INTERPRET": "1"}
    side_environment(inherited, {"A": "1"}, {"B": "2"}, ["C"])
    assert inherited == {"PYTHONPATH": "/a", "TRITON_INTERPRET": "1"}


@pytest.mark.parametrize(
    "name", ["HF_TOKEN", "github_token", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "OPENAI_API_KEY", "APIKEY", "X_AUTH"]
)
def test_secrets_are_not_written_down(name: str) -> None:
    written = recordable({name: "hunter2", "HOME": "/root"})
    assert "hunter2" not in written[name]
    assert written[name].startswith("(secret, sha256 ")
    assert written["HOME"] == "/root"


def test_a_login_in_a_url_is_a_secret() -> None:
    written = recordable({"HTTPS_PROXY": "http://me:hunter2@proxy:3128", "PIP_INDEX_URL": "https://host/simple"})
    assert "hunter2" not in written["HTTPS_PROXY"]
    assert written["PIP_INDEX_URL"] == "https://host/simple"


def test_equal_secrets_can_be_told_from_different_ones() -> None:
    assert recordable({"TOKEN": "a"}) == recordable({"TOKEN": "a"}) != recordable({"TOKEN": "b"})


@given(st.dictionaries(st.text(max_size=8) | st.just("TOKEN"), st.text(st.characters(), max_size=8)))
def test_any_environment_can_be_written_down(environment: dict[str, str]) -> None:
    written = recordable(environment)
    assert list(written) == sorted(environment)


def test_bytes_that_are_no_text_can_be_secret() -> None:
    assert recordable({"TOKEN": b"\xff".decode(errors="surrogateescape")})["TOKEN"].startswith("(secret")
