"""The files of a report: one page, one text to paste, or two tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from zl_bench.errors import EnvironmentUnfit
from zl_bench.reports import csv_files, html, markdown
from zl_bench.reports.report_view import ReportView
from zl_bench.workflow.report_differences import read_differences

Form = Literal["html", "markdown", "csv"]
FORMS: tuple[Form, ...] = get_args(Form)
FILES: Mapping[Form, tuple[str, ...]] = {
    "html": ("report.html",),
    "markdown": ("report.md",),
    "csv": (csv_files.PERFORMANCE_FILE, csv_files.KERNELS_FILE),
}


def render(root: Path, view: ReportView, form: Form) -> dict[str, str]:
    """The texts of a report by the names of their files."""
    match form:
        case "html":
            texts = (html.render(view, read_differences(root, view)),)
        case "markdown":
            texts = (markdown.render(view),)
        case "csv":
            return dict(zip(FILES[form], (csv_files.performance_csv(view), csv_files.kernels_csv(view)), strict=True))
    return dict(zip(FILES[form], texts, strict=True))


def write(texts: Mapping[Path, str]) -> None:
    """Write each file, making its folder. Raises EnvironmentUnfit where that fails."""
    for path, text in texts.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        except OSError as error:
            raise EnvironmentUnfit(
                f"can not write {path}: {error.strerror or error}. The root is as it was; name another place with -o."
            ) from error
