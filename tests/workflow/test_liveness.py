"""Whether the compiler knows the switch: the search in its files, and the list of its passes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.workflow.simulated import SimulatedServers, plan_for, versions
from zl_bench.errors import EnvironmentUnfit
from zl_bench.model import Side
from zl_bench.running.switch import parse_switch
from zl_bench.workflow.liveness import Liveness, examine, variable_is_mentioned
from zl_bench.workflow.screen import side_plans

NAME = "TRITON_F32_DEFAULT"


def mentioned(triton: Path, content: bytes, file: str = "knobs.py") -> bool:
    path = triton / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return variable_is_mentioned(NAME, triton).known


@pytest.mark.parametrize(
    "content",
    [b"%s", b"x%s".replace(b"x", b" "), b"env('%s')\n", b"\0%s\0", b"-%s-", b"x = %s", b"%s=1", b"\xff%s\xff",
     b"X_%s, %s", b"%s" * 2 + b" %s"],
)  # fmt: skip
def test_a_whole_word(tmp_path: Path, content: bytes) -> None:
    assert mentioned(tmp_path, content.replace(b"%s", NAME.encode()))


@pytest.mark.parametrize(
    "content",
    [b"", b" ", b"MY_%s", b"%s_2", b"x%sx", b"1%s", b"%s9", b"_%s", b"%s%s", b"TRITON_F32", b"triton_f32_default"],
)
def test_no_whole_word(tmp_path: Path, content: bytes) -> None:
    assert not mentioned(tmp_path, content.replace(b"%s", NAME.encode()))


@pytest.mark.parametrize("border", [4096, 1 << 16, 1 << 20, 3 << 20])
@pytest.mark.parametrize("cut", [0, 1, len(NAME) // 2, len(NAME) - 1, len(NAME)])
def test_in_a_library_wherever_it_stands(tmp_path: Path, border: int, cut: int) -> None:
    """Across the borders of pages and of any block that a search might read."""
    before = b"\0" * (border - cut)
    assert mentioned(tmp_path, before + NAME.encode() + b"\0" * 10, "_C/libtriton.so")
    assert not mentioned(tmp_path, before[:-1] + b"A" + NAME.encode() + b"\0" * 10, "_C/libtriton.so")
    assert not mentioned(tmp_path, before + NAME.encode() + b"A" + b"\0" * 10, "_C/libtriton.so")


def test_many_longer_words_do_not_hide_the_word(tmp_path: Path) -> None:
    longer = (NAME + "_X ").encode() * 10_000
    assert not mentioned(tmp_path, longer)
    assert mentioned(tmp_path, longer + NAME.encode())


@pytest.mark.parametrize(
    "file", ["a.py", "a/b/c.py", "_C/libtriton.so", "lib/libx.so.1.2", "_C/libtriton.pyd", ".x.so"]
)
def test_where_is_looked(tmp_path: Path, file: str) -> None:
    assert mentioned(tmp_path, NAME.encode(), file)


@pytest.mark.parametrize(
    "file", ["a.txt", "a.pyc", "__pycache__/a.cpython-311.pyc", "py", "so", "README.md", "a.sorted"]
)
def test_where_is_not_looked(tmp_path: Path, file: str) -> None:
    assert not mentioned(tmp_path, NAME.encode(), file)


def test_a_folder_named_like_a_source_and_a_link_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "dangling.py").symlink_to("nowhere")
    assert mentioned(tmp_path, NAME.encode())


def test_an_editable_installation_has_its_backends_behind_links(tmp_path: Path) -> None:
    backend = tmp_path / "third_party" / "amd" / "backend"
    backend.mkdir(parents=True)
    (backend / "compiler.py").write_text(f"os.environ['{NAME}']")
    triton = tmp_path / "python" / "triton"
    (triton / "backends").mkdir(parents=True)
    (triton / "backends" / "amd").symlink_to(backend, target_is_directory=True)
    (triton / "backends" / "round").symlink_to(triton, target_is_directory=True)  # and round in circles
    found = variable_is_mentioned(NAME, triton)
    assert found == Liveness(True, f"{NAME} is mentioned in backends/amd/compiler.py of {triton}")


def test_the_finding_names_three_places_sources_first(tmp_path: Path) -> None:
    for name in ("a.so", "z.py", "b.so", "c.so"):
        (tmp_path / name).write_text(NAME)
    finding = variable_is_mentioned(NAME, tmp_path).finding
    assert "mentioned in z.py, a.so, b.so of" in finding


def test_looked_for_in_vain(tmp_path: Path) -> None:
    found = variable_is_mentioned(NAME, tmp_path)
    assert not found.known
    assert "neither in the Python sources nor in the native libraries" in found.finding
    assert "put together at run time" in found.finding


def examined(tmp_path: Path, switch: str, **simulated: object) -> Liveness:
    parsed = parse_switch(switch)
    servers = SimulatedServers(side_plans(plan_for(tmp_path, "X")), **simulated)  # type: ignore[arg-type]
    return asyncio.run(examine(parsed, servers, "cuda:90", tmp_path))  # type: ignore[arg-type]


def test_a_variable_is_looked_for_in_the_compiler_that_was_found(tmp_path: Path) -> None:
    triton = tmp_path / "triton"
    triton.mkdir()
    (triton / "knobs.py").write_text(NAME)
    found: dict[Side, object] = {"before": versions(triton), "after": versions(triton)}
    assert examined(tmp_path, NAME, found=found).known
    assert not examined(tmp_path, "OTHER", found=found).known


def test_a_null_control_needs_no_life(tmp_path: Path) -> None:
    found = examined(tmp_path, "INVENTED=a..a")
    assert found.known
    assert "null control" in found.finding


@pytest.mark.parametrize(
    ("switch", "known", "words"),
    [
        ("pass:pipeline", True, "adds pipeline 2 times"),
        ("pass:pipeline@2", True, "adds pipeline 2 times"),
        ("pass:pipeline@3", False, "adds pipeline 2 times, not 3"),
        ("pass:pipeline@1,2", True, "adds pipeline 2 times"),
        ("pass:pipeline@1,3", False, "adds pipeline 2 times, not 3"),
        ("pass:invented", False, "never adds invented; it adds add_coalesce, pipeline"),
    ],
)
def test_a_pass_is_looked_for_in_the_target_s_pipeline(tmp_path: Path, switch: str, known: bool, words: str) -> None:
    found = examined(tmp_path, switch)
    assert found.known is known
    assert words in found.finding
    assert "cuda:90" in found.finding


def test_a_pipeline_that_can_not_be_listed(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentUnfit, match=r"cuda:90 could not be listed \(exited 70 \); see .*\.log"):
        examined(tmp_path, "pass:pipeline", pipeline=None)


def test_two_builds_differ_by_their_library(tmp_path: Path) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    for path in (a, b):
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    one, two = versions(tmp_path, "a" * 64), versions(tmp_path, "b" * 64)
    other: dict[Side, object] = {"before": one, "after": two}
    same: dict[Side, object] = {"before": one, "after": one}
    found = examined(tmp_path, f"build:{a}..{b}", found=other)
    assert found.known
    assert "a" * 16 in found.finding
    assert "b" * 16 in found.finding
    found = examined(tmp_path, f"build:{a}..{b}", found=same)
    assert not found.known
    assert "same native library" in found.finding
    assert "/lib/libtriton.so" in found.finding
