"""The `zl-bench` command: the table of its sub-commands, and the edge where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from zl_bench import __version__
from zl_bench.cli.bisect import bisect_command
from zl_bench.cli.compare import compare
from zl_bench.cli.doctor import doctor
from zl_bench.cli.export import export
from zl_bench.cli.irdiff import irdiff
from zl_bench.cli.judge import judge
from zl_bench.cli.measure import measure
from zl_bench.cli.ops import ops
from zl_bench.cli.report import report
from zl_bench.cli.repro import repro
from zl_bench.cli.run import run
from zl_bench.cli.screen import screen
from zl_bench.cli.session import TYPED
from zl_bench.cli.show import show
from zl_bench.cli.summary import summary
from zl_bench.cli.trace import trace
from zl_bench.errors import ExitCode, ZlBenchError


class ReaderGone(Exception):
    """Nobody reads our output any more (`| head`)."""


class Commands(click.Group):
    """The group of all commands. Click would end with 1 when the reader is gone, which means something else here."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Keep what was typed: a screen writes it down, so that its report can say how to repeat it."""
        context.meta[TYPED] = tuple(arguments)
        return super().parse_args(context, arguments)

    def invoke(self, context: click.Context) -> Any:
        """Run the command that was asked for."""
        try:
            return super().invoke(context)
        except BrokenPipeError:
            raise ReaderGone from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="zl-bench")
def cli() -> None:
    """Tell which operators a Triton compiler change really touches."""


for command in (
    screen,
    measure,
    run,
    report,
    compare,
    summary,
    judge,
    export,
    show,
    irdiff,
    trace,
    bisect_command,
    repro,
    ops,
    doctor,
):
    cli.add_command(command)


def main() -> None:
    """Entry point of the console command."""
    try:
        sys.exit(cli.main(prog_name="zl-bench", standalone_mode=False) or ExitCode.OK)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except ZlBenchError as error:
        click.echo(f"zl-bench: {error}", err=True)
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        click.echo("zl-bench: interrupted.", err=True)
        sys.exit(ExitCode.INTERRUPTED)
    except ReaderGone:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still buffered goes nowhere
        sys.exit(ExitCode.INTERRUPTED)
    except OSError as error:
        click.echo(f"zl-bench: {error}. Mend this and run the command again; a screen goes on with --resume.", err=True)
        sys.exit(ExitCode.ENVIRONMENT)
