"""Puts the page together: its frame, its style, its scripts and the data that they show."""

from __future__ import annotations

from html import escape
from importlib.resources import files
from string import Template

from zl_bench.reports.html.differences import Differences
from zl_bench.reports.html.payload import pack, visible
from zl_bench.reports.report_view import ReportView

SCRIPTS = (
    "elements", "words", "scale", "picture", "tooltip", "list", "strip", "comparison", "launch", "operator",
    "provenance", "start",
)  # fmt: skip
"""In the order in which they build on each other; the page has them as one."""
NOTHING = Differences(note="The code itself is not in this page.")


def render(view: ReportView, differences: Differences = NOTHING) -> str:
    """The page, to be written as UTF-8. It loads nothing: its own policy forbids the browser to ask any host."""
    here = files("zl_bench.reports.html")
    data = pack(view, differences)
    scripts = "\n".join((here / "scripts" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    texts = {"title": view.title, "question": view.question.sentence, "answer": view.answer}
    return Template((here / "page.html").read_text("utf-8")).substitute(
        {name: escape(visible(text)) for name, text in texts.items()},
        style=(here / "page.css").read_text("utf-8"),
        script=f'"use strict";\n(() => {{\n{scripts}\n}})();',
        report=data.report,
        operators=data.operators,
        differences=data.differences,
    )
