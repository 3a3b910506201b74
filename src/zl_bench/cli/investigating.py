"""Options of commands that look into one kernel of a root: which it is, and what compiles it."""

from __future__ import annotations

from pathlib import Path

import click

from zl_bench.errors import UsageError

row_option = click.option(
    "--row",
    type=int,
    help="The row, by the number that `show` gives it; one that is broken or has changed unless given.",
)
kernel_option = click.option(
    "--kernel", help="The kernel of the row: its name, or its number as `show` lists the row's launches."
)
python_option = click.option(
    "--python", help="Python with the same Triton, where the one that the root names is not on this machine."
)
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    help="Seconds for each compile.",
)


def new_folder(out: Path) -> Path:
    """The folder that -o names, which must not be there already with anything in it."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"-o {out} is there already and not empty; name a new folder.")
    return out
