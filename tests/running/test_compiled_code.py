"""A measurement's runs get the code of their own side's screen run, whole and once."""

from __future__ import annotations

from pathlib import Path

import pytest

from zl_bench.errors import EnvironmentUnfit
from zl_bench.running.compiled_code import seed_code


def cached(run: Path, name: str, content: str) -> None:
    file = run / "cache" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


def test_the_caches_of_all_processes_of_a_run_come_together(tmp_path: Path) -> None:
    run = tmp_path / "mm_before"
    cached(run, "triton/a/k.cubin", "one")
    cached(run, "triton.2/b/k.cubin", "two")
    cached(run, "triton.2/a/k.cubin", "other")
    cached(run, "flaggems/code.py", "no compiled code")
    cache = seed_code(run, tmp_path / "code")
    assert {file.relative_to(cache).as_posix(): file.read_text() for file in cache.rglob("*") if file.is_file()} == {
        "a/k.cubin": "one",
        "b/k.cubin": "two",
    }


def test_what_a_measurement_compiles_stays_and_the_screens_cache_does_not_change(tmp_path: Path) -> None:
    run = tmp_path / "mm_before"
    cached(run, "triton/a/k.cubin", "one")
    cache = seed_code(run, tmp_path / "code")
    (cache / "a" / "new.cubin").write_text("new")
    replaced = cache / "a" / "k.cubin.tmp"
    replaced.write_text("replaced, as Triton does it")
    replaced.replace(cache / "a" / "k.cubin")
    assert seed_code(run, tmp_path / "code") == cache
    assert (cache / "a" / "new.cubin").exists()
    assert [file.name for file in (run / "cache" / "triton" / "a").iterdir()] == ["k.cubin"]
    assert (run / "cache" / "triton" / "a" / "k.cubin").read_text() == "one"


def test_an_interrupted_copy_is_made_again(tmp_path: Path) -> None:
    run = tmp_path / "mm_before"
    cached(run, "triton/a/k.cubin", "one")
    (tmp_path / "code" / ".triton.1").mkdir(parents=True)
    assert (seed_code(run, tmp_path / "code") / "a" / "k.cubin").read_text() == "one"


def test_a_run_that_compiled_nothing_gives_an_empty_cache(tmp_path: Path) -> None:
    assert list(seed_code(tmp_path / "mm_before", tmp_path / "code").iterdir()) == []


def test_a_disk_that_refuses_is_an_error_that_says_what_is_kept(tmp_path: Path) -> None:
    (tmp_path / "code").write_text("a file")
    with pytest.raises(EnvironmentUnfit, match="Every finished round is kept"):
        seed_code(tmp_path / "mm_before", tmp_path / "code")
