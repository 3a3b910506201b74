from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from tests.reports.html.made_report import (
    group,
    kernel,
    large,
    launch,
    operator,
    report,
    row,
    small,
    timing,
    without_clocks,
)
from zl_bench.reports.html import Differences, render
from zl_bench.reports.html.payload import ROW_FIELDS, script_json, visible

HOSTILE = "</script><img src=x onerror=alert(1)>&amp;\"'`${1}\u2028\u2029 名前 \U0001f525"
TURNED = "name\u202egnp.exe\x1b[31m\x00\ud800"


class Outline(HTMLParser):
    """Elements, what they load, and the text of scripts by id."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.loads: list[str] = []
        self.scripts: dict[str, str] = {}
        self._script: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        found = dict(attrs)
        self.loads += [value or "" for key, value in attrs if key in ("src", "href", "srcset", "data", "action")]
        self._script = found.get("id") or "code" if tag == "script" else None

    def handle_endtag(self, tag: str) -> None:
        self._script = None

    def handle_data(self, data: str) -> None:
        if self._script:
            self.scripts[self._script] = self.scripts.get(self._script, "") + data


def outline(page: str) -> Outline:
    found = Outline()
    found.feed(page)
    return found


def told(page: str) -> dict[str, Any]:
    return dict(json.loads(outline(page).scripts["report"]))


def pieces(page: str, name: str) -> list[Any]:
    inflate = lambda piece: zlib.decompress(base64.b64decode(piece), -zlib.MAX_WBITS)  # noqa: E731
    return [json.loads(inflate(piece)) for piece in json.loads(outline(page).scripts[name])]


def test_one_file_that_loads_nothing() -> None:
    view, differences = small()
    page = render(view, differences)
    found = outline(page)
    assert found.loads == ["data:,"]
    assert set(found.scripts) == {"report", "operators", "differences", "code"}
    assert "default-src 'none'" in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    assert "@import" not in page and "url(" not in page


def test_the_first_screen_needs_no_script() -> None:
    view, _ = small()
    page = render(view)
    assert f"<h1>{view.answer}</h1>" in page
    assert view.question.sentence in page


def test_all_of_the_view_is_in_the_page() -> None:
    view, differences = small()
    page = render(view, differences)
    data = told(page)
    assert [entry["entry"] for entry in data["operators"]] == ["mm", "copy", "add", "view", "fft"]
    assert data["operators"][1]["dtypes"] == ["float16", "float32", "bfloat16"]
    rows = [dict(zip(data["row_fields"], values, strict=True)) for values in data["rows"]]
    assert [one["verdict"] for one in rows] == ["FASTER", "SLOWER", "NO_CHANGE", "IDENTICAL", ""]
    assert rows[0] == {
        "operator": 1, "place": 0, "dtype": "float16", "detail": "[(256, 1024)]", "changed": True, "first_stage": "ttgir",
        "source": "measure", "kind": "changed", "verdict": "FASTER", "before_ms": 0.0214, "after_ms": 0.0214 / 1.08,
        "speedup": 1.08, "low": view.operators[1].rows[0].timing.low, "high": view.operators[1].rows[0].timing.high,
        "basis": "6 rounds",
    }  # fmt: skip
    copy = pieces(page, "operators")[1]
    assert set(copy["kernels"]) == {"0", "1"}
    assert len(copy["rows"][0]["timing"]["rounds"]) == 6
    assert data["provenance"]["sides"][0]["library_sha256"] == "ab" * 32


def test_a_stage_that_differs_leads_to_its_comparison_or_says_why_not() -> None:
    view, differences = small()
    page = render(view, differences)
    shown = pieces(page, "operators")[1]["rows"][0]["launches"][0]["differences"]
    assert shown == {"ttgir": [0, 0], "cubin": "the page would become too large"}
    ((comparison,),) = pieces(page, "differences")
    assert [layout[0] for layout in comparison["layouts"]] == ["#blocked", "#blocked1"]
    assert comparison["differing"] == 7
    assert any(line[0] == 1 and line[2] is None and "convert_layout" in line[4] for line in comparison["lines"])


def test_comparisons_that_were_not_gathered_are_said_to_be_missing() -> None:
    view, _ = small()
    page = render(view)
    assert pieces(page, "differences") == []
    shown = pieces(page, "operators")[1]["rows"][0]["launches"][0]["differences"]
    assert shown["ttgir"] == "its difference was not gathered"
    assert told(page)["differences_note"] == "The code itself is not in this page."


def test_files_that_are_gone_are_said_to_be() -> None:
    lost = replace(launch(0, 1), before=None, after=None)
    page = render(report(operator("copy", rows=(row(1, launches=(lost,)),))))
    shown = pieces(page, "operators")[0]["rows"][0]["launches"][0]["differences"]
    assert shown == dict.fromkeys(("ttgir", "cubin"), "its files are not there any more")


def test_names_and_reasons_stay_text() -> None:
    entry = operator(HOSTILE, "BROKEN", rows=(row(1, detail=HOSTILE, operator=HOSTILE),), reason=HOSTILE)
    view = report(entry, title=HOSTILE, kernels=(kernel(0, "before", "a" * 64, HOSTILE),))
    page = render(replace(view, answer=HOSTILE, notes=(HOSTILE,)), Differences(note=HOSTILE))
    found = outline(page)
    assert "img" not in found.elements
    assert found.elements.count("script") == 4
    assert "\u2028" not in found.scripts["report"]
    seen = visible(HOSTILE)
    data = told(page)
    assert data["operators"][0]["entry"] == seen
    assert data["operators"][0]["reason"] == seen
    assert data["notes"] == [seen]
    assert pieces(page, "operators")[0]["rows"][0]["detail"] == seen
    assert "&lt;/script&gt;&lt;img src=x" in page


def test_what_can_not_be_seen_is_written_out_and_the_page_is_utf8() -> None:
    page = render(report(operator(TURNED), title=TURNED))
    assert told(page)["operators"][0]["entry"] == "name\\u202egnp.exe\\x1b[31m\\x00\\ud800"
    assert "\u202e" not in page
    page.encode("utf-8")


def test_lines_of_a_message_stay_lines() -> None:
    assert visible("one\n\ttwo\r") == "one\n\ttwo\\r"


def test_json_in_a_script_can_not_end_it_and_reads_back() -> None:
    text = script_json([HOSTILE])
    assert "<" not in text and text.isascii()
    assert json.loads(text) == [HOSTILE]


def test_nothing_changed() -> None:
    view = report(operator("add", "NO_IR_DIFF", rows=(row(1, changed=False),)), operator("view", "NO_KERNEL"))
    data = told(render(view))
    assert data["measure"] is None
    assert [count["verdict"] for count in data["screen"]["counts"]] == ["NO_IR_DIFF", "NO_KERNEL"]


def test_nothing_measured() -> None:
    empty = replace(report(), screen=None)
    data = told(render(empty))
    assert (data["operators"], data["rows"], data["screen"], data["measure"]) == ([], [], None, None)
    assert "<h1>Nothing was measured.</h1>" in render(empty)


def test_a_single_row_of_one_round_has_no_interval() -> None:
    timed = timing(1.05, "INCONCLUSIVE", rounds=1)
    view = report(operator("add", rows=(row(1, timed=timed),), speed=group(1.05, "add", rounds=1)), measured=True)
    (values,) = told(render(view))["rows"]
    only = dict(zip(ROW_FIELDS, values, strict=True))
    assert (only["low"], only["high"], only["basis"]) == (None, None, "one round: no interval")


def test_missing_clocks_are_said_to_be_missing() -> None:
    view, differences = small()
    page = render(without_clocks(view), differences)
    assert pieces(page, "operators")[1]["rows"][0]["timing"]["clocks"] == "not recorded"


def test_rows_that_were_not_timed_or_not_screened() -> None:
    unknown = replace(row(1), changed=None, number=None, timing=None, first_stage="-")
    (values,) = told(render(report(operator("add", rows=(unknown,)))))["rows"]
    assert dict(zip(ROW_FIELDS, values, strict=True))["changed"] is None
    assert values[-1] == ""


def test_the_same_view_is_the_same_page() -> None:
    view, differences = small()
    assert render(view, differences) == render(view, differences)


@pytest.mark.parametrize("measured", [True, False])
def test_a_screen_alone_and_a_screen_with_a_measure(measured: bool) -> None:
    view, differences = small(measured=measured)
    data = told(render(view, differences))
    assert (data["measure"] is not None) is measured


def test_eleven_hundred_operators_stay_small() -> None:
    view, differences = large()
    page = render(view, differences)
    data = told(page)
    assert (len(data["operators"]), len(data["rows"])) == (1100, 7000)
    assert len(page.encode()) < 10_000_000
