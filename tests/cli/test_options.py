"""Options that several commands share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from zl_bench.backends.vendors import backend_named
from zl_bench.cli.options import choose_backend, choose_interpreter, choose_switch, choose_target
from zl_bench.errors import EnvironmentUnfit, UsageError


def test_the_vendor_is_the_target_s_unless_named() -> None:
    assert choose_backend(None, "hip:gfx942").name == "amd"
    assert choose_backend("mthreads", "cuda:90").name == "mthreads"
    with pytest.raises(UsageError):
        choose_backend("nobody", "cuda:90")
    with pytest.raises(UsageError):
        choose_backend(None, "nothing:1")


def test_without_a_target_the_flag_is_named() -> None:
    with pytest.raises(EnvironmentUnfit, match="--target cuda:90"):
        choose_target(None)


def test_a_segment_that_is_given_is_stronger_than_the_vendor_s() -> None:
    text = "FLAGTREE_{VENDOR}_RLC"
    assert choose_switch(text, backend_named("nvidia"), None).name == "FLAGTREE_RLC"
    assert choose_switch(text, backend_named("nvidia"), "NV").name == "FLAGTREE_NV_RLC"
    assert choose_switch(text, backend_named("mthreads"), "").name == "FLAGTREE_RLC"
    assert choose_switch(text, backend_named("amd"), "AMD").name == "FLAGTREE_AMD_RLC"
    with pytest.raises(UsageError, match="--vendor-segment"):
        choose_switch(text, backend_named("amd"), None)


def test_the_interpreter_is_this_one_unless_named() -> None:
    assert choose_interpreter(None) == Path(sys.executable)
    assert choose_interpreter(sys.executable) == Path(sys.executable)


def test_a_relative_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "py").write_text("#!/bin/sh\n")
    (tmp_path / "py").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert choose_interpreter("py") == tmp_path / "py"


@pytest.mark.parametrize("name", ["absent", "", "plain", "a" * 5000, "/"])
def test_what_is_no_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    (tmp_path / "plain").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match="no interpreter that can be executed"):
        choose_interpreter(name)
