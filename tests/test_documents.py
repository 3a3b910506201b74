"""Every command in the README and in docs/ is one that the command line takes, and every link leads somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from tests.documents import DOCUMENTS, PROJECT, commands, says
from zl_bench.cli.main import cli

SHOWN = [pytest.param(line, id=f"{path.name}: {line}") for path in DOCUMENTS for line in dict.fromkeys(commands(path))]


@pytest.mark.parametrize("line", SHOWN)
def test_the_command_line_takes_it(line: str) -> None:
    """Its options and values are parsed; tests/integration/test_document_commands.py and test_tutorial.py run it."""
    _, name, *arguments = shlex.split(line)
    command = cli.commands[name]
    with click.Context(cli, info_name="zl-bench") as context:
        parsed = command.make_context(name, list(arguments), parent=context)
    assert parsed.command is command


def test_a_command_that_is_no_more_would_be_found() -> None:
    with pytest.raises(click.UsageError):
        cli.commands["screen"].make_context("screen", ["--no-such-option"])


def test_there_are_commands_in_the_documents() -> None:
    assert len(SHOWN) > 30
    assert {"README.md", "tutorial.md"} <= {path.name for path in DOCUMENTS if commands(path)}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_to_other_documents_lead_somewhere(document: Path) -> None:
    places = re.findall(r"\]\((?!https?:|#)([^)#]+)", document.read_text(encoding="utf-8"))
    assert [place for place in places if not (document.parent / place).exists()] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_are_there(document: Path) -> None:
    named = re.findall(r"`((?:src|tests|benchmarks|docs)/[\w./-]+)`", document.read_text(encoding="utf-8"))
    assert [name for name in named if not (PROJECT / name).exists() and "acme" not in name] == []


def test_output_is_compared_line_by_line() -> None:
    assert says(("a", "…", "c …"), "a\nb\nb\nc and more") == ""
    assert says(("a", "c"), "a\nb\nc") == "c"
    assert says(("a",), "a\nb") != ""
    assert says(("a", "…"), "a\nb") == ""
    assert says(("…", "z"), "a\nb") == "z"
