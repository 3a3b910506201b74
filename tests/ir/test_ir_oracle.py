"""The fingerprint against Triton's own printer without debug information, over compiled kernels.

Two modules that Triton prints differently are DIFFERENT unless only names differ; those that it prints alike are SAME.
"""

from __future__ import annotations

import importlib.util
from itertools import combinations
from pathlib import Path

import pytest

from tests.ir.corpus import collect_flag_gems_ttgir, collect_suite_ttgir, fixtures, read_fixture
from tests.ir.mutations import INSIGNIFICANT, SIGNIFICANT
from tests.ir.oracle import only_names_differ, print_alike, print_all
from zl_bench.ir.fingerprint import fingerprint

pytestmark = pytest.mark.integration
pytest.importorskip("triton")

SUITE_TARGETS = ("cuda:90", "hip:gfx942")
KERNELS_OF_THE_SUITE = 80
GEMS_NEEDS = ("flag_gems", "yaml", "sqlalchemy")
GEMS_INSTALL = "pip install --no-deps flag-gems==5.0.2, and pip install pyyaml sqlalchemy"


def check_against_oracle(paths: list[Path], printed: dict[Path, str | None]) -> tuple[int, int]:
    """Every pair, both ways; the numbers of pairs that the oracle prints alike and differently."""
    digests = {path: fingerprint("ttgir", path.read_bytes()).digest for path in paths}
    alike = different = 0
    for first, second in combinations(paths, 2):
        text, other = printed[first], printed[second]
        assert text is not None and other is not None
        same = digests[first] == digests[second]
        if print_alike(text, other):
            alike += 1
            assert same, f"{first} and {second} print alike and have different fingerprints"
        else:
            different += 1
            assert not same, f"{first} and {second} print differently and have the same fingerprint"
    return alike, different


def check_folder(paths: list[Path], tmp_path: Path) -> tuple[int, int]:
    printed = print_all(paths)
    for number, (path, text) in enumerate(printed.items()):
        assert text is not None, f"Triton's parser refuses {path}"
        without_debug = tmp_path / f"{number}.ttgir"
        without_debug.write_text(text, encoding="utf-8")
        assert fingerprint("ttgir", path.read_bytes()) == fingerprint("ttgir", without_debug.read_bytes()), path
    return check_against_oracle(paths, printed)


def test_the_committed_fixtures(tmp_path: Path) -> None:
    check_folder(fixtures(), tmp_path)


@pytest.fixture(scope="session")
def suite_ttgir(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    return {target: collect_suite_ttgir(tmp_path_factory.mktemp("suite"), target) for target in SUITE_TARGETS}


def test_every_kernel_of_the_builtin_suite_with_and_without_a_pass(
    suite_ttgir: dict[str, list[Path]], tmp_path: Path
) -> None:
    """Two targets' kernels are compared with one another as well; each folder has a before and an after side."""
    paths = [path for files in suite_ttgir.values() for path in files]
    assert all(len(files) >= 2 * KERNELS_OF_THE_SUITE for files in suite_ttgir.values())
    alike, different = check_folder(paths, tmp_path)
    assert alike >= 10 and different >= 100, "a corpus in which nothing agrees or nothing differs shows nothing"


def test_flag_gems_kernels(tmp_path: Path) -> None:
    missing = [module for module in GEMS_NEEDS if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: {GEMS_INSTALL}")
    paths = collect_flag_gems_ttgir(tmp_path)
    assert len(paths) >= 100
    check_folder(paths, tmp_path)


def test_the_mutation_corpus_agrees_with_the_oracle(tmp_path: Path) -> None:
    """Mutations that Triton's verifier accepts: those that matter print differently, those that do not print alike."""
    paths: dict[str, Path] = {}
    for kind, mutations in (("matters", SIGNIFICANT), ("not", INSIGNIFICANT)):
        for number, mutation in enumerate(mutations):
            path = tmp_path / f"{kind}{number}.ttgir"
            path.write_text(mutation.change(read_fixture(mutation.fixture)), encoding="utf-8")
            paths[f"{kind} {mutation.name}"] = path
    originals = {path.name.removesuffix(".ttgir"): path for path in fixtures()}
    printed = print_all([*paths.values(), *originals.values()])
    judged = {"matters": 0, "not": 0}
    for kind, mutations in (("matters", SIGNIFICANT), ("not", INSIGNIFICANT)):
        for mutation in mutations:
            text = printed[paths[f"{kind} {mutation.name}"]]
            original = printed[originals[mutation.fixture]]
            if text is None or original is None:
                continue
            judged[kind] += 1
            assert only_names_differ(original, text) == (kind == "not"), mutation.name
    assert judged["matters"] >= 30
    assert judged["not"] >= 20
