"""The page in a real Chromium. Without one these are skipped: `apt-get install chromium`, or name one in ZL_BENCH_CHROMIUM."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.reports.html.browser import Browser, find_chromium
from tests.reports.html.made_report import large, operator, report, row, small, timing
from zl_bench.reports.html import render
from zl_bench.reports.html.differences import Differences
from zl_bench.reports.report_view import ReportView
from zl_bench.workflow.report import read_report
from zl_bench.workflow.report_differences import read_differences

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine (ZL_BENCH_CHROMIUM names one)")

DATA = Path(__file__).parents[1] / "data"
RECORDED, FLAGGEMS, MEASURED = (DATA / f"recorded_{name}" for name in ("screen", "flaggems", "measure"))
ENTRIES = "[...document.querySelectorAll('#list .line .open')].map((one) => one.textContent)"


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    with Browser(CHROMIUM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """A browser that must not have complained, nor asked for anything but the page itself."""
    chromium.complaints.clear()
    chromium.requests.clear()
    chromium.size(1280, 900)
    chromium.media()
    yield chromium
    assert chromium.complaints == []
    assert all(url.startswith(("file://", "data:")) for url in chromium.requests)
    assert sum(url.startswith("file://") for url in chromium.requests) == 1


def shown(browser: Browser, path: Path, made: tuple[ReportView, Differences]) -> float:
    page = path / "report.html"
    page.write_text(render(*made), encoding="utf-8")
    seconds = browser.open(page)
    assert browser.run("document.documentElement.dataset.ready") == "yes"
    return seconds


def choose(browser: Browser, name: str, value: str) -> None:
    browser.run(
        f"(() => {{ const one = document.querySelector('.controls [name={name}]'); one.value = '{value}'; "
        "one.dispatchEvent(new Event(one.tagName === 'INPUT' ? 'input' : 'change')); })()"
    )


def test_the_answer_and_the_picture_come_first(browser: Browser, tmp_path: Path) -> None:
    view, differences = small()
    shown(browser, tmp_path, (view, differences))
    assert browser.run("document.querySelector('h1').textContent") == view.answer
    legend = browser.run("[...document.querySelectorAll('.bar:first-child .legend li')].map((one) => one.textContent)")
    assert [text.split()[-1] for text in legend] == ["BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS"]
    assert browser.run("document.querySelector('canvas').getBoundingClientRect().bottom < innerHeight")
    assert browser.run("document.querySelector('canvas').width > 400")


@pytest.mark.parametrize("width", [1280, 380])
def test_the_list_says_in_one_line_why_an_operator_is_broken(browser: Browser, tmp_path: Path, width: int) -> None:
    browser.size(width, 900, mobile=width < 500)
    view = read_report(RECORDED)
    shown(browser, tmp_path, (view, Differences()))
    failure = "document.querySelector('.line.failing .c-failure')"
    assert browser.run("document.querySelectorAll('.c-failure').length") == 1
    assert browser.run(f"{failure}.textContent") == view.operators[0].first_failure
    assert browser.run(f"{failure}.title") == view.operators[0].reason
    assert browser.run(f"{failure}.scrollWidth > {failure}.clientWidth"), "clipped"
    assert browser.run(f"{failure}.clientHeight") < 25
    boxes = "[...document.querySelectorAll('.line')].map((one) => one.getBoundingClientRect())"
    assert browser.run(f"{boxes}.every((box, place, all) => !place || Math.abs(box.top - all[place - 1].bottom) < 1)")
    assert browser.run(f"{boxes}[0].bottom >= {failure}.getBoundingClientRect().bottom")
    assert browser.run("document.documentElement.scrollWidth") == width
    cells = browser.run("['changed', 'converts'].map((key) => document.querySelector(`.line .c-${key}`).textContent)")
    assert cells == ["-", "-"], "no row of it was compared"


def test_a_screen_of_flaggems_with_every_verdict(browser: Browser, tmp_path: Path) -> None:
    view = read_report(FLAGGEMS)
    shown(browser, tmp_path, (view, read_differences(FLAGGEMS, view)))
    assert browser.run(ENTRIES) == [
        "linear:float16", "benchmark/test_mm.py::test_mm_self_transpose_benchmark:float32", "relu:float16",
        "alias:float16", "abs:float64",
    ]  # fmt: skip
    badges = "[...document.querySelectorAll('#list .line .badge')].map((one) => one.textContent.slice(1))"
    assert browser.run(badges) == ["BROKEN", "IR_CHANGED", "NO_IR_DIFF", "NO_KERNEL", "NO_ROWS"]


def test_commands_in_own_sentences_are_code(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, (read_report(RECORDED), Differences()))
    assert browser.run("[...document.querySelectorAll('.words code')].map((one) => one.textContent)") == [
        "zl-bench show", "zl-bench ops",
    ]  # fmt: skip
    assert "`" not in browser.run("document.querySelector('.words').textContent")
    browser.run(
        "document.querySelector('.line:nth-child(2) .badge').dispatchEvent(new Event('mouseover', {bubbles: true}))"
    )
    assert browser.run("document.querySelector('#tooltip code').textContent") == "zl-bench show"


def test_filters(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    assert browser.run(ENTRIES) == ["mm", "copy", "add", "view", "fft"]
    choose(browser, "verdict", "NO_IR_DIFF")
    assert browser.run(ENTRIES) == ["add"]
    assert browser.run("document.querySelector('.count').textContent") == "1 of 5 operators"
    choose(browser, "verdict", "")
    choose(browser, "dtype", "bfloat16")
    assert browser.run(ENTRIES) == ["copy"]
    choose(browser, "dtype", "")
    choose(browser, "find", "F")
    assert browser.run(ENTRIES) == ["fft"]
    choose(browser, "find", "nothing like it")
    assert browser.run("document.querySelector('.lines').textContent") == "Nothing fits these filters."
    choose(browser, "find", "")
    browser.click("[data-mode=rows]")
    choose(browser, "speed", "SLOWER")
    assert browser.run("[...document.querySelectorAll('.line .c-dtype')].map((one) => one.textContent)") == ["float32"]


def test_a_verdict_of_the_picture_filters_the_list(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    browser.click(".bar .legend li:nth-child(2) button")
    assert browser.run(ENTRIES) == ["copy"]
    assert browser.run("document.querySelector('[name=verdict]').value") == "IR_CHANGED"


def test_sorting(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    browser.click(".c-name button")
    assert browser.run(ENTRIES) == ["add", "copy", "fft", "mm", "view"]
    assert browser.run("document.querySelector('[aria-sort=ascending]').textContent") == "operator ↑"
    browser.click(".c-name button")
    assert browser.run(ENTRIES) == ["view", "mm", "fft", "copy", "add"]
    browser.click(".c-name button")
    assert browser.run(ENTRIES) == ["mm", "copy", "add", "view", "fft"]
    browser.click("[data-mode=rows]")
    browser.click(".c-speed button")
    ratios = browser.run("[...document.querySelectorAll('.line .ratio')].map((one) => parseFloat(one.textContent))")
    assert ratios == [1.08, 1.001, 1.0007, 0.93]  # and the row without a latency last
    assert browser.run("document.querySelectorAll('.line').length") == 5


def test_an_operator_opens_to_rows_rounds_kernels_and_the_difference(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    browser.click(".line:nth-child(2) .open")
    browser.wait("document.querySelectorAll('dialog .row').length === 3")
    assert browser.run("location.hash") == "#copy"
    assert browser.run("document.querySelectorAll('dialog .row:first-of-type .round').length") == 6
    browser.click("dialog .row summary")
    browser.wait("document.querySelector('dialog .launch')")
    assert browser.run("document.querySelector('dialog .launch .stages').textContent") == "= ttir≠ ttgir≠ cubin"
    assert "4096 → 8192" in browser.run("document.querySelector('dialog .launch').textContent")
    browser.click("dialog [data-stage=ttgir]")
    browser.wait("document.querySelector('.comparison')")
    assert browser.run("document.querySelectorAll('.pair.new').length") == 1
    assert "convert_layout" in browser.run("document.querySelector('.pair.new .text.after').textContent")
    assert browser.run("document.querySelector('.pair.new .text.before').textContent") == ""
    assert browser.run("document.querySelector('.layouts').textContent").endswith(": #blocked #blocked1 ")
    assert not browser.run("/\\[object|undefined|NaN/.test(document.body.innerText)")
    marked = browser.run("document.querySelector('.pair.differs .marked').textContent")
    assert marked == "#blocked"
    browser.hover(".pair.differs .layout")
    browser.wait("!document.querySelector('#tooltip').hidden")
    said = browser.run("document.querySelector('#tooltip').textContent")
    assert said.startswith("#ttg.blocked<{sizePerThread = [1, 4]") and "1 × 4 per thread" in said
    browser.click("dialog [data-stage=cubin]")
    browser.wait("!document.querySelector('.comparison')")
    assert "it is not shown: the page would become too large." in browser.run(
        "document.querySelector('.comparisons').textContent"
    )
    browser.click("dialog .close")
    assert browser.run("document.querySelector('dialog').open") is False
    browser.wait("location.hash === ''")


def test_a_recorded_screen_down_to_its_code(browser: Browser, tmp_path: Path) -> None:
    view = read_report(RECORDED)
    shown(browser, tmp_path, (view, read_differences(RECORDED, view)))
    assert browser.run(ENTRIES) == [
        "matmul:float16",
        "matmul:float32",
        "vector_add",
        "aten_addcmul",
        "vector_add:complex64",
    ]
    browser.click(".line:nth-child(1) .open")
    browser.wait("document.querySelector('dialog').innerText.includes('ConvertTritonGPUToLLVM')")
    browser.click("dialog .close")
    browser.click(".line:nth-child(2) .open")
    browser.wait("document.querySelector('dialog .row summary')")
    browser.click("dialog .row summary")
    browser.wait("document.querySelector('dialog [data-stage=ttgir]')")
    browser.click("dialog [data-stage=ttgir]")
    browser.wait("document.querySelector('.comparison')")
    before = browser.run("[...document.querySelectorAll('.text.before')].map((one) => one.textContent).join('\\n')")
    after = browser.run("[...document.querySelectorAll('.text.after')].map((one) => one.textContent).join('\\n')")
    assert ("warp_group_dot" in before, "warp_group_dot" in after) == (True, False), "the tensor cores are gone"


def test_an_operator_has_an_address(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    entry = "fft:complex64 %<é>"
    page.write_text(render(report(operator("add", "NO_IR_DIFF"), operator(entry, "NO_ROWS"))), encoding="utf-8")
    browser.open(page, "#fft%3Acomplex64%20%25%3C%C3%A9%3E")
    browser.wait("document.querySelector('dialog h2')")
    assert browser.run("document.querySelector('#operator-name').textContent") == entry


def test_the_next_operator_is_the_next_of_the_list(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    browser.click(".line:nth-child(1) .open")
    browser.wait("document.querySelector('dialog .problems')")
    assert "PassManager::run failed" in browser.run("document.querySelector('dialog .problems').textContent")
    browser.click("dialog [aria-label='next operator']")
    assert browser.run("document.querySelector('#operator-name').textContent") == "copy"


def test_dark(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, small())
    paper = "getComputedStyle(document.body).backgroundColor"
    light = browser.run(paper)
    browser.media(scheme="dark")
    dark = browser.run(paper)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(20, 23, 27)")
    browser.click(".theme [data-theme=light]")
    assert browser.run(paper) == light
    browser.click(".theme [data-theme=dark]")
    browser.media(scheme="light")
    assert browser.run(paper) == dark


def test_a_phone(browser: Browser, tmp_path: Path) -> None:
    browser.size(380, 780, mobile=True)
    shown(browser, tmp_path, small())
    wide = "document.documentElement.scrollWidth"
    assert browser.run(wide) == 380
    overlap = """[...document.querySelectorAll('.line')].some((line) => {
      const boxes = [...line.querySelectorAll(':scope > .c-verdict, :scope > .c-changed, :scope > .c-failure, .ratio')]
        .map((one) => one.getBoundingClientRect()).filter((box) => box.width);
      return boxes.some((one, place) => boxes.slice(place + 1).some((other) =>
        one.left < other.right - 1 && other.left < one.right - 1 && one.top < other.bottom - 1 && other.top < one.bottom - 1));
    })"""
    assert not browser.run(overlap)
    browser.click(".line:nth-child(2) .open")
    browser.wait("document.querySelector('dialog .row')")
    browser.click("dialog .row summary")
    browser.wait("document.querySelector('dialog .launch')")
    browser.click("dialog [data-stage=ttgir]")
    browser.wait("document.querySelector('.comparison')")
    assert browser.run(wide) == 380
    assert browser.run("document.querySelector('dialog').scrollWidth") <= 380
    sides = browser.run(
        "['before', 'after'].map((side) => document.querySelector(`.pair.differs .text.${side}`).getBoundingClientRect().top)"
    )
    assert sides[0] < sides[1]


def test_a_phone_shows_long_names_whole(browser: Browser, tmp_path: Path) -> None:
    """FlagGems' names are long, and part in their ends."""
    view, differences = small(measured=False)
    name = "scaled_dot_product_efficient_attention_backward"
    longer = [replace(one, name=f"_{name}_kernel_{one.name}") for one in view.kernels]
    copy = next(one for one in view.operators if one.entry == "copy")
    (first, *others) = copy.rows
    launches = tuple(replace(launch, name=longer[0].name) for launch in first.launches)
    operators = (replace(copy, entry=name, rows=(replace(first, launches=launches), *others)),)
    browser.size(380, 780, mobile=True)
    shown(browser, tmp_path, (replace(view, operators=operators, kernels=tuple(longer)), differences))
    whole = "((one) => one.scrollWidth <= one.clientWidth)(document.querySelector('%s'))"
    assert browser.run(whole % ".line .c-name")
    browser.click(".line .open")
    browser.wait("document.querySelector('dialog .row summary')")
    browser.click("dialog .row summary")
    browser.wait("document.querySelector('dialog [data-stage=ttgir]')")
    browser.click("dialog [data-stage=ttgir]")
    browser.wait("document.querySelector('.comparison')")
    assert browser.run(whole % ".comparisons")
    assert browser.run("document.querySelector('dialog').scrollWidth") <= 380


def test_a_real_measure_of_placebos_hides_none_of_them(browser: Browser, tmp_path: Path) -> None:
    """One of them is 2 % off, which is no outlier to be drawn at the edge."""
    view = read_report(MEASURED)
    shown(browser, tmp_path, (view, read_differences(MEASURED, view)))
    assert browser.run("document.querySelector('h1').textContent") == view.answer
    assert browser.run("document.querySelector('.ranking .legend').textContent").strip() == "● placebo: identical code"
    browser.click(".line:nth-child(1) .open")
    browser.wait("document.querySelectorAll('dialog .row').length === 5")
    assert browser.run("document.querySelectorAll('dialog .row:nth-of-type(2) .round').length") == 2


def test_print_has_every_operator_in_light_colours(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, large(operators=120, rows=300, pairs=4))
    browser.click(".theme [data-theme=dark]")
    assert browser.run("document.querySelectorAll('.line').length < 100")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.media("print")
    assert browser.run("document.querySelectorAll('.line').length") == 120
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.run("dispatchEvent(new Event('afterprint'))")
    browser.media()
    assert browser.run("document.querySelectorAll('.line').length < 100")


def test_an_untrusted_run_says_so_first(browser: Browser, tmp_path: Path) -> None:
    timed = timing(1.2, "UNTRUSTED")
    shown(
        browser,
        tmp_path,
        (report(operator("add", rows=(row(1, timed=timed),)), measured=True, trusted=False), Differences()),
    )
    said = browser.run("document.querySelector('.warning').textContent")
    assert said == "! UNTRUSTED the placebos moved by 4 %. No speed-up of this measure can be believed."


@pytest.mark.parametrize(
    "view", [replace(report(), screen=None), report(operator("add", "NO_ROWS", reason="<b>&</b>"))]
)
def test_next_to_nothing(browser: Browser, tmp_path: Path, view: ReportView) -> None:
    shown(browser, tmp_path, (view, Differences()))
    assert browser.run("document.querySelectorAll('canvas').length") == 0
    assert browser.run("document.querySelector('#picture').textContent.length > 10")


def test_hostile_names_are_text(browser: Browser, tmp_path: Path) -> None:
    name = "</script><img src=http://127.0.0.1:9/x onerror=window.hurt=1>名前\u202e"
    entry = operator(name, "BROKEN", rows=(row(1, detail=name, operator=name),), reason=name)
    shown(browser, tmp_path, (report(entry, title=name), Differences()))
    assert browser.run(ENTRIES) == [name.replace("\u202e", "\\u202e")]
    browser.click(".line .open")
    browser.wait("document.querySelector('dialog .problems')")
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.run("window.hurt === undefined")


def test_eleven_hundred_operators_and_seven_thousand_rows_are_fluid(browser: Browser, tmp_path: Path) -> None:
    shown(browser, tmp_path, large())
    seconds = min(browser.open(tmp_path / "report.html") for _ in range(3))
    del browser.requests[1:]  # it was opened several times
    assert seconds < 2
    assert (tmp_path / "report.html").stat().st_size < 10_000_000
    assert browser.run("document.querySelector('.count').textContent") == "1,100 operators"
    took = "(() => { const start = performance.now(); %s; document.body.offsetHeight; return performance.now() - start; })()"
    assert browser.run(took % "document.querySelector('[data-mode=rows]').click()") < 300
    assert browser.run("document.querySelector('.count').textContent") == "7,000 rows"
    assert browser.run(took % "document.querySelector('.c-speed button').click()") < 300
    assert browser.run("document.querySelectorAll('.line').length") < 100
    assert browser.run(took % "scrollTo(0, 100000); dispatchEvent(new Event('scroll'))") < 200
