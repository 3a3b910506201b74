from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from tests.ir.made_ttgir import NARROW, WIDE, ttgir
from tests.reports.html.made_report import kernel, launch, operator, report, row
from zl_bench.ir.side_by_side import SideBySide
from zl_bench.reports.html import pair_of
from zl_bench.reports.html.payload import pack
from zl_bench.reports.report_view import KernelView, ReportView, StageView
from zl_bench.workflow import report_comparing
from zl_bench.workflow.report_comparing import Comparison, StagePair, compare
from zl_bench.workflow.report_differences import read_differences


def stored(root: Path, number: int, name: str, contents: dict[str, bytes]) -> KernelView:
    """A kernel whose stages lie under the root."""
    stages = []
    for stage, content in contents.items():
        sha256 = hashlib.sha256(content).hexdigest()
        (root / f"{sha256[:12]}.{stage}").write_bytes(content)
        stages.append(StageView(stage, f"{sha256[:12]}.{stage}", sha256, True))
    return replace(kernel(number, "before", "", name), stages=tuple(stages))


def pair(root: Path, first: int, name: str, size: int) -> tuple[KernelView, KernelView]:
    """A kernel before and after, whose ttgir and ptx differ."""
    ptx = ".version 8.4\n.visible .entry k()\n{{\nmov.b32 %r1, {};\nret;\n}}\n"
    return (
        stored(root, first, name, {"ttgir": ttgir(WIDE, size=size), "ptx": ptx.format(size).encode()}),
        stored(root, first + 1, name, {"ttgir": ttgir(NARROW, size=size), "ptx": ptx.format(size + 1).encode()}),
    )


def view_of(*kernels: KernelView, operators: tuple[tuple[int, ...], ...]) -> ReportView:
    """Operators of one row each, whose launches begin at those kernels."""
    made = []
    for place, firsts in enumerate(operators):
        launches = tuple(
            replace(launch(first, first + 1, name=kernels[first].name), changed_stages=("ttgir", "ptx"))
            for first in firsts
        )
        made.append(operator(f"op{place}", rows=(row(place + 1, launches=launches),)))
    return report(*made, kernels=kernels)


def names(view: ReportView, found: dict[tuple[str, str, str], object]) -> list[str]:
    """The stage and the kernel of each pair, in order."""
    known = {
        pair_of(*stages): f"{stages[0].name} {view.kernels[first].name}"
        for first in range(0, len(view.kernels), 2)
        for stages in zip(view.kernels[first].stages, view.kernels[first + 1].stages, strict=True)
    }
    return [known[one] for one in found]


def test_each_pair_is_compared_once_and_the_deciding_stage_comes_first(tmp_path: Path) -> None:
    kernels = (*pair(tmp_path, 0, "a", 16), *pair(tmp_path, 2, "b", 32))
    view = view_of(*kernels, operators=((0, 2), (0,)))
    found = read_differences(tmp_path, view)
    assert names(view, dict(found.found)) == ["ttgir a", "ttgir b", "ptx a", "ptx b"]
    assert all(isinstance(one, SideBySide) and one.differing for one in found.found.values())
    assert found.note == ""


def test_further_variants_of_a_kernel_come_after_every_operators_first(tmp_path: Path) -> None:
    kernels = (*pair(tmp_path, 0, "a", 16), *pair(tmp_path, 2, "a", 32), *pair(tmp_path, 4, "b", 64))
    view = view_of(*kernels, operators=((0, 2), (4,)))
    found = read_differences(tmp_path, view, most_lines=1)
    assert names(view, dict(found.found))[:3] == ["ttgir a", "ttgir b", "ttgir a"]


def test_what_is_past_the_limits_says_so(tmp_path: Path) -> None:
    view = view_of(*pair(tmp_path, 0, "a", 16), *pair(tmp_path, 2, "b", 32), operators=((0,), (2,)))
    for found in (read_differences(tmp_path, view, most_lines=1), read_differences(tmp_path, view, most_shown=1)):
        first, *others = found.found.values()
        assert isinstance(first, SideBySide)
        assert others == ["the page would become too large"] * 3
        assert found.note == (
            "Of 4 pairs of stages that differ, 3 are not in this page, which would become too large: "
            "`zl-bench show ENTRY --row N --stage STAGE` prints them."
        )


def test_files_that_are_gone_changed_or_unreadable_are_named(tmp_path: Path) -> None:
    kernels = pair(tmp_path, 0, "a", 16)
    view = view_of(*kernels, operators=((0,),))
    path = tmp_path / kernels[0].stages[0].path
    path.write_bytes(b"something else")
    ttgir_pair, ptx_pair = (pair_of(*stages) for stages in zip(kernels[0].stages, kernels[1].stages, strict=True))
    found = read_differences(tmp_path, view).found
    assert found[ttgir_pair] == f"{path.name} is not the file that the run recorded (SHA-256 differs)"
    assert isinstance(found[ptx_pair], SideBySide)
    path.unlink()
    assert str(read_differences(tmp_path, view).found[ttgir_pair]).startswith(f"{path.name} can not be read: ")
    torn = stored(tmp_path, 0, "a", {"ttgir": b"module {\n", "ptx": b""})
    torn_view = view_of(torn, kernels[1], operators=((0,),))
    reasons = list(read_differences(tmp_path, torn_view).found.values())
    assert all(isinstance(reason, str) and "can not be compared" in reason for reason in reasons)


def test_several_processes_find_the_same_in_the_same_order(tmp_path: Path) -> None:
    kernels = [one for place in range(20) for one in pair(tmp_path, 2 * place, f"k{place}", 16 + place)]
    view = view_of(*kernels, operators=tuple((2 * place,) for place in range(20)))
    (tmp_path / kernels[6].stages[0].path).unlink()
    alone = read_differences(tmp_path, view, processes=1)
    assert len(alone.found) == 40
    assert "can not be read" in str(list(alone.found.values())[3])
    together = read_differences(tmp_path, view, processes=2)
    assert list(together.found.items()) == list(alone.found.items())
    some = read_differences(tmp_path, view, most_lines=40, processes=2)
    assert some == read_differences(tmp_path, view, most_lines=40, processes=1)
    assert 0 < list(some.found.values()).index("the page would become too large") < 39


def test_a_process_that_dies_costs_no_comparison(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(root: Path, pairs: Sequence[StagePair], processes: int) -> Iterator[Comparison]:
        yield compare(root, pairs[0])
        raise BrokenProcessPool

    monkeypatch.setattr(report_comparing, "_beside", dies)
    view = view_of(*pair(tmp_path, 0, "a", 16), *pair(tmp_path, 2, "b", 32), operators=((0,), (2,)))
    assert read_differences(tmp_path, view, processes=2) == read_differences(tmp_path, view, processes=1)


def test_equal_comparisons_are_kept_once(tmp_path: Path) -> None:
    """Two files of a kernel that part in a location alone differ from their other sides in the same way."""
    located = ttgir(WIDE) + b'#loc = loc("elsewhere.py":1:2)\n'
    first = stored(tmp_path, 0, "a", {"ttgir": ttgir(WIDE)}), stored(tmp_path, 1, "a", {"ttgir": ttgir(NARROW)})
    second = stored(tmp_path, 2, "b", {"ttgir": located}), stored(tmp_path, 3, "b", {"ttgir": ttgir(NARROW)})
    view = view_of(*first, *second, operators=((0,), (2,)))
    one, other = read_differences(tmp_path, view).found.values()
    assert isinstance(one, SideBySide) and one.differing
    assert one is other
    (piece,) = json.loads(pack(view, read_differences(tmp_path, view)).differences)
    assert len(json.loads(zlib.decompress(base64.b64decode(piece), -zlib.MAX_WBITS))) == 1


def test_without_a_changed_kernel_there_is_nothing(tmp_path: Path) -> None:
    view = report(operator("add", "NO_IR_DIFF", rows=(row(1, launches=(launch(0, 0, changed=False),)),)))
    assert read_differences(tmp_path, view).found == {}
