"""zl-bench.toml: what is read, where it is found, and what it is weaker than."""

from __future__ import annotations

from pathlib import Path

import pytest

from zl_bench.backends.vendors import BACKENDS
from zl_bench.config import SHIPPED_AXES, Axis, Config, find_config, load_config
from zl_bench.errors import UsageError
from zl_bench.running.switch import parse_switch


def config_of(tmp_path: Path, text: str) -> Config:
    file = tmp_path / "zl-bench.toml"
    file.write_text(text)
    return load_config(file)


def test_everything_that_can_be_said(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        'python = "env/bin/python"\nvendor = "mthreads"\n'
        '[flaggems]\ncheckout = "../FlagGems"\n'
        '[axis.tf32]\nswitch = "TRITON_F32_DEFAULT=ieee..tf32"\nnote = "how dots are rounded"\n',
    )
    assert config.python == str(tmp_path / "env/bin/python")
    assert config.vendor == "mthreads"
    assert config.flaggems.checkout == tmp_path / "../FlagGems"
    assert config.axis("tf32") == Axis("tf32", "TRITON_F32_DEFAULT=ieee..tf32", "how dots are rounded")


def test_three_lines_make_an_axis(tmp_path: Path) -> None:
    axis = config_of(tmp_path, '[axis.mine]\nswitch = "pass:pipeline"\nnote = "ours"\n').axis("mine")
    assert parse_switch(axis.switch).kind == "pass"


def test_absolute_paths_stay(tmp_path: Path) -> None:
    config = config_of(tmp_path, 'python = "/opt/bin/python"\n[flaggems]\ncheckout = "/srv/FlagGems"\n')
    assert (config.python, config.flaggems.checkout) == ("/opt/bin/python", Path("/srv/FlagGems"))


def test_no_file_means_the_defaults() -> None:
    config = load_config(None)
    assert (config.path, config.python, config.vendor, config.flaggems.checkout) == (None, None, None, None)
    assert set(config.axes) == {"rlc"}


@pytest.mark.parametrize(
    "backend", [backend for backend in BACKENDS if backend.segment is not None], ids=lambda b: b.name
)
def test_rlc_ships_with_the_tool_and_takes_the_vendor_s_segment(backend) -> None:
    name = parse_switch(SHIPPED_AXES["rlc"].switch, backend.segment).name
    assert name == "_".join(filter(None, ("FLAGTREE", backend.segment, "RLC_ENHANCE")))


def test_the_file_s_own_rlc_is_stronger(tmp_path: Path) -> None:
    config = config_of(tmp_path, '[axis.rlc]\nswitch = "MY_RLC"\n')
    assert config.axis("rlc").switch == "MY_RLC"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('vendro = "x"', r"no key 'vendro'\. Did you mean vendor\?"),
        ('[flaggem]\ncheckout = "x"', r"no key 'flaggem'\. Did you mean flaggems\?"),
        ('[flaggems]\ncheckuot = "x"', r"no key 'flaggems\.checkuot'\. Did you mean flaggems\.checkout\?"),
        ('[axis.a]\nswitch = "A"\nnotes = "x"', r"no key 'axis\.a\.notes'\. Did you mean axis\.a\.note\?"),
        ("[zzz]", r"no key 'zzz'\. Known here: python, vendor, flaggems, axis\."),
        ('[axis.a]\nnote = "x"', r"\[axis\.a\] needs its switch"),
        ("[axis.a]\nswitch = 1", r"axis\.a\.switch must be a text"),
        ('[axis.a]\nswitch = ""', r"axis\.a\.switch must be a text"),
        ('[axis."a/b"]\nswitch = "A"', r"'a/b' can not name an axis"),
        ('axis = "rlc"', r"axis must be a table"),
        ('[axis]\nrlc = "A"', r"axis\.rlc must be a table"),
        ("flaggems = 1", r"flaggems must be a table"),
        ("python = 3.11", r"python must be a text"),
        ("vendor = [", "is not TOML"),
    ],
)
def test_what_it_does_not_understand_is_said(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as error:
        config_of(tmp_path, text + "\n")
    assert str(tmp_path / "zl-bench.toml") in str(error.value)


def test_a_file_that_can_not_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be read"):
        load_config(tmp_path)
    (tmp_path / "zl-bench.toml").write_bytes(b'vendor = "\xff"\n')
    with pytest.raises(UsageError, match="can not be read"):
        load_config(tmp_path / "zl-bench.toml")


def test_an_unknown_axis_gets_a_suggestion() -> None:
    with pytest.raises(UsageError, match=r"no axis 'rcl'\. Did you mean rlc\?.*\[axis\.rcl\]"):
        load_config(None).axis("rcl")


def test_the_nearest_file_upwards_counts(tmp_path: Path) -> None:
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    assert find_config(deep) is None
    (tmp_path / "zl-bench.toml").write_text("")
    assert find_config(deep) == tmp_path / "zl-bench.toml"
    (deep / "zl-bench.toml").mkdir()
    assert find_config(deep) == tmp_path / "zl-bench.toml", "a folder is no file"
    (tmp_path / "a" / "zl-bench.toml").write_text("")
    assert find_config(deep) == tmp_path / "a" / "zl-bench.toml"


def test_where_the_checkout_is_said(tmp_path: Path) -> None:
    config = config_of(tmp_path, '[flaggems]\ncheckout = "/by/file"\n')
    assert config.checkout(Path("/by/flag"), {"ZL_FLAGGEMS": "/by/variable"}) == Path("/by/flag")
    assert config.checkout(None, {"ZL_FLAGGEMS": "/by/variable"}) == Path("/by/variable")
    assert config.checkout(None, {"ZL_FLAGGEMS": ""}) == Path("/by/file")
    with pytest.raises(UsageError, match=r"--checkout DIR, ZL_FLAGGEMS=DIR, or in zl-bench\.toml"):
        Config().checkout(None, {})
