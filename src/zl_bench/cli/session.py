"""Around a command that starts processes: its root, its memory, its end by a signal, and nothing left behind."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click
from rich.console import Console

from zl_bench.errors import EnvironmentUnfit, ExitCode, UsageError
from zl_bench.inside.zl_probe import processes
from zl_bench.inside.zl_probe.wire import INPUT_FILE
from zl_bench.reports.progress import ProgressReporter
from zl_bench.running.environment import recordable_command
from zl_bench.running.memory import gib
from zl_bench.store.layout import new_default_root

Result = TypeVar("Result")

NOTHING_STARTED = "Nothing had been started, so nothing is kept; the same command starts it."
TYPED = "zl_bench.typed"
"""Under which the command's context keeps the arguments as they were typed."""


class PatientConsole(Console):
    """Goes on when its reader has gone (`| head`): the answer of a screen is in its files."""

    def on_broken_pipe(self) -> None:
        """Say nothing more."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def typed_command() -> str:
    """The command line that is being obeyed, for a file that may be shared; empty where there was none."""
    arguments = click.get_current_context().meta.get(TYPED, ())
    return recordable_command(("zl-bench", *arguments)) if arguments else ""


def make_root(root: Path | None, axis: str | None) -> Path:
    """The folder named by --root, or a new one below runs/ that is named after the axis; made, and absolute."""
    if root is None:
        return new_default_root(Path("runs").absolute(), axis, datetime.now())
    if root.resolve() == Path.cwd().resolve():
        raise UsageError("--root would be the working directory itself; name a folder of its own.")
    for folder in (root, *root.absolute().parents):
        if (folder / INPUT_FILE).is_file():
            raise UsageError(
                f"--root {root} would lie in a run's folder, {folder}, which its next run clears. Name another."
            )
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = "it is a link to nothing" if root.is_symlink() and not root.exists() else error.strerror or error
        raise EnvironmentUnfit(f"--root {root} can not be created: {why}. Name a folder that can.") from error
    return root.absolute()


def warn_of_memory(at_a_time: int, share: int, available: int) -> None:
    """Say so when the runs that go on at a time may take more than there is. Sizes are in bytes."""
    if at_a_time * share > available:
        click.echo(
            f"{at_a_time} runs of up to {gib(share)} may take more than the {gib(available)} of memory available; "
            "lower --jobs or --memory to be safe.",
            err=True,
        )


def run_to_the_end(
    work: Callable[[ProgressReporter], Awaitable[Result]],
    total: int,
    console: Console,
    kept: Path,
    request: Path,
    unit: str = "operator",
    again: str = "",
    otherwise: Callable[[], str] = lambda: NOTHING_STARTED,
) -> Result:
    """Do the work on `total` operators; Ctrl-C and a polite kill end it with everything finished kept, in `kept`.

    `request` is written into the root before anything is started: without it there is nothing to go on with. `unit` is what is
    finished one by one, and `again` are the words that go on, which name the root unless given. `otherwise` says what is kept
    before there is a request.
    """

    async def interruptible() -> Result:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        with ProgressReporter(total, console) as progress:
            return await work(progress)

    try:
        return asyncio.run(interruptible())
    except (KeyboardInterrupt, asyncio.CancelledError):
        advice = (
            f"Every finished {unit} is kept in {kept}; go on with {again or f'--resume --root {request.parent}'}."
            if request.exists()
            else otherwise()
        )
        click.echo(f"zl-bench: interrupted. {advice}", err=True)
        raise SystemExit(ExitCode.INTERRUPTED) from None


@contextlib.contextmanager
def no_stray_processes() -> Iterator[None]:
    """Adopt what a killed side server might leave behind, and end it."""
    processes.adopt_orphans()
    try:
        yield
    finally:
        processes.end_strays(())
