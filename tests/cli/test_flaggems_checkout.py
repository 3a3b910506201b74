"""`ops` and `doctor` on a FlagGems checkout, named by flag, variable or file."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.suites.flaggems_tree import make_checkout
from zl_bench.backends.vendors import backend_named
from zl_bench.cli import doctor as doctor_command
from zl_bench.cli.doctor import doctor
from zl_bench.cli.ops import ops
from zl_bench.errors import UsageError
from zl_bench.inside.zl_probe.compat.mthreads import OVERRIDES
from zl_bench.workflow.doctor_suite import examine_flaggems

ABS = '@pytest.mark.abs\ndef test_abs():\n    base.UnaryBenchmark(op_name="abs.out", torch_op=1, dtypes=[torch.bool]).run()\n'
GUARD = "@pytest.mark.skipif(not torch.cuda.is_available(), reason={!r})\ndef test_x():\n    pass\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return make_checkout(tmp_path / "FlagGems", test_abs=ABS, test_bare="def test_bare():\n    pass\n")


def run_ops(*arguments: str) -> Result:
    return CliRunner().invoke(ops, ["--suite", "flaggems", *arguments])


LISTING = (
    "node\tmarks\tnames\tdtypes\n"
    "benchmark/test_abs.py::test_abs\tabs\tabs.out\tbool\n"
    "benchmark/test_bare.py::test_bare\t-\t-\t-\n"
)


def test_a_line_per_test_with_node_marks_names_and_dtypes(checkout: Path) -> None:
    assert run_ops("--checkout", str(checkout)).output == LISTING


def test_the_checkout_by_variable_and_by_file(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZL_FLAGGEMS", str(checkout))
    assert run_ops().output == LISTING
    monkeypatch.delenv("ZL_FLAGGEMS")
    with pytest.raises(UsageError, match="Where is the FlagGems checkout"):
        raise run_ops().exception or AssertionError("no error")
    (tmp_path / "zl-bench.toml").write_text('[flaggems]\ncheckout = "FlagGems"\n')
    assert run_ops().output == LISTING
    assert run_ops("--names").output == "abs\nbare\n"


def test_a_checkout_for_another_suite_is_a_mistake(checkout: Path) -> None:
    result = CliRunner().invoke(ops, ["--checkout", str(checkout)])
    assert isinstance(result.exception, UsageError)
    assert "--checkout is for --suite flaggems" in str(result.exception)


def guarded(root: Path, reasons: dict[str, str]) -> Path:
    """A checkout with these files, each guarded for its reason."""
    return make_checkout(root, **{Path(file).stem: GUARD.format(reason) for file, reason in reasons.items()})


FITTING = {override.file: override.reason for override in OVERRIDES}
CHANGED = {**FITTING, OVERRIDES[0].file: "Something else"}


def test_overrides_that_match_are_well(tmp_path: Path) -> None:
    listed, guards = examine_flaggems(guarded(tmp_path, FITTING), backend_named("mthreads"))
    assert (listed.good, guards.good) == (True, True)
    assert "all 3 overrides" in guards.text
    assert "0 of them were tried on a card" in guards.text


@pytest.mark.parametrize(("vendor", "good"), [("mthreads", False), ("nvidia", True)])
def test_a_stale_override_is_bad_where_it_is_relied_on(tmp_path: Path, vendor: str, good: bool) -> None:
    _, stale = examine_flaggems(guarded(tmp_path, CHANGED), backend_named(vendor))
    assert stale.good is good
    assert stale.subject == "skip guards of mthreads"
    assert "stale override: benchmark/test_fft.py, 'CUDA is not available'" in stale.text
    assert "'Something else'" in stale.text
    assert bool(stale.remedy) is not good


def test_a_folder_that_is_no_checkout_is_a_finding(tmp_path: Path) -> None:
    (finding,) = examine_flaggems(tmp_path, backend_named("nvidia"))
    assert not finding.good
    assert "no FlagGems checkout" in finding.text


async def nothing(*_: object) -> tuple[()]:
    return ()


@pytest.mark.parametrize(("vendor", "code"), [("mthreads", 3), ("nvidia", 0)])
def test_the_doctor_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vendor: str, code: int) -> None:
    monkeypatch.setattr(doctor_command, "diagnose", nothing)
    root = guarded(tmp_path, CHANGED)
    result = CliRunner().invoke(doctor, ["--vendor", vendor, "--suite", "flaggems", "--checkout", str(root)])
    assert result.exit_code == code
    assert "stale override: benchmark/test_fft.py" in result.output
