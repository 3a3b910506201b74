"""The fingerprint against Triton's own printer without debug information, over compiled kernels.

The printer knows nothing of our normaliser, and the comparison of its texts below uses none of it: a consistent renaming
of values, blocks and aliases, found token by token.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from tests.ir.corpus import collect_flag_gems_ttgir, collect_suite_ttgir, fixtures, read_fixture
from tests.ir.mutations import INSIGNIFICANT, SIGNIFICANT
from zl_bench.ir.fingerprint import fingerprint

pytestmark = pytest.mark.integration
pytest.importorskip("triton")

PRINTER = Path(__file__).with_name("oracle_printer.py")
TOKEN = re.compile(r'"[^"\n]*"|%[\w$.-]+|\^\w+|[#!][A-Za-z_]\w*(?![\w.])|[#!]?[\w.$]+|\S')


def print_all(paths: list[Path]) -> dict[Path, str | None]:
    command = [sys.executable, str(PRINTER), *map(str, paths)]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout
    return {Path(path): text for path, text in json.loads(output).items()}


def only_names_differ(first: str, second: str) -> bool:
    """Whether some one-to-one renaming of values, blocks and aliases, function by function, makes the texts equal."""
    forward: dict[str, str] = {}
    backward: dict[str, str] = {}
    lines, others = token_lines(first), token_lines(second)
    if len(lines) != len(others):
        return False
    for words, other_words in zip(lines, others, strict=True):
        if "tt.func" in words:
            forward = {name: new for name, new in forward.items() if name[0] != "%"}
            backward = {name: new for name, new in backward.items() if name[0] != "%"}
        if len(words) != len(other_words):
            return False
        for word, other_word in zip(words, other_words, strict=True):
            if word[0] in "%^#!" and len(word) > 1 and "." not in word:
                if forward.setdefault(word, other_word) != other_word or backward.setdefault(other_word, word) != word:
                    return False
            elif word != other_word:
                return False
    return True


@cache
def token_lines(text: str) -> list[list[str]]:
    """The tokens of each line, alias definitions ordered by what they define."""
    lines = text.split("\n")
    definitions = sorted((line for line in lines if line[:1] in ("#", "!")), key=lambda line: line.partition(" = ")[2])
    return [TOKEN.findall(line) for line in definitions + [line for line in lines if line[:1] not in ("#", "!")]]


def check_against_oracle(paths: list[Path], printed: dict[Path, str | None]) -> tuple[int, int]:
    """Every pair, both ways; the numbers of pairs that the oracle prints alike and differently."""
    digests = {path: fingerprint("ttgir", path.read_bytes()).digest for path in paths}
    alike = different = 0
    for first, second in combinations(paths, 2):
        text, other = printed[first], printed[second]
        assert text is not None and other is not None
        same = digests[first] == digests[second]
        if text == other or only_names_differ(text, other):
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


def test_freshly_compiled_kernels_with_and_without_passes(tmp_path: Path) -> None:
    paths = collect_suite_ttgir(tmp_path)
    alike, different = check_folder(paths, tmp_path)
    assert alike >= 10 and different >= 100, "a corpus in which nothing agrees or nothing differs shows nothing"


def test_flag_gems_kernels(tmp_path: Path) -> None:
    if importlib.util.find_spec("flag_gems") is None:
        pytest.skip("flag_gems is not installed")
    paths = collect_flag_gems_ttgir(tmp_path)
    assert len(paths) >= 50
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
