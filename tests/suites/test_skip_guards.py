"""Overrides that match nothing in a checkout are found out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from zl_bench.backends.vendors import all_backends
from zl_bench.inside.zl_probe.compat.guards import SkipOverride
from zl_bench.suites.skip_guards import stale_overrides

OVERRIDE = SkipOverride("benchmark/test_x.py", "no CUDA", "not torch.cuda.is_available()", "neutral")


def finding(tmp_path: Path, text: str | None) -> str:
    """What is found of the override where its file has that text; empty when it stands."""
    if text is not None:
        (tmp_path / "benchmark").mkdir()
        (tmp_path / "benchmark" / "test_x.py").write_text(text)
    found = stale_overrides(tmp_path, [OVERRIDE])
    assert len(found) <= 1
    assert all(stale.override is OVERRIDE for stale in found)
    return found[0].finding if found else ""


@pytest.mark.parametrize(
    "text",
    [
        '@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")\ndef test_x(): pass\n',
        "@pytest.mark.skipif(\n    (not torch.cuda.is_available())\n    or other, reason='no CUDA',\n)\ndef test_x(): pass\n",
        'class TestX:\n    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")\n    def test_x(self): pass\n',
    ],
)
def test_an_override_that_fits_is_not_stale(tmp_path: Path, text: str) -> None:
    assert finding(tmp_path, text) == ""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, "the file is gone"),
        ("def test_(:\n", "can not be read as Python"),
        ("def test_x(): pass\n", "reasons there: none"),
        (
            '@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA at all")\ndef test_x(): pass\n',
            "reasons there: 'no CUDA at all'",
        ),
        (
            '@pytest.mark.skipif(flag_gems.device != "cuda", reason="no CUDA")\ndef test_x(): pass\n',
            """its condition is now "flag_gems.device != 'cuda'\"""",
        ),
        (
            'pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")\ndef test_x(): pass\n',
            "none",
        ),
        ('@pytest.mark.skip(reason="no CUDA")\ndef test_x(): pass\n', "none"),
        ('@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")\ndef helper(): pass\n', "none"),
    ],
)
def test_an_override_that_matches_nothing_is_stale(tmp_path: Path, text: str | None, expected: str) -> None:
    assert expected in finding(tmp_path, text)


CHECKOUT = os.environ.get("ZL_FLAGGEMS")


@pytest.mark.skipif(not CHECKOUT, reason="ZL_FLAGGEMS names no FlagGems checkout")
@pytest.mark.parametrize("backend", [b for b in all_backends() if b.skip_overrides], ids=lambda backend: backend.name)
def test_no_override_is_stale_in_a_full_checkout(backend) -> None:
    assert stale_overrides(Path(str(CHECKOUT)), backend.skip_overrides) == ()
