"""The typed error family and the exit codes of every command.

The first code that applies wins, in the order INTERRUPTED, USAGE, ENVIRONMENT, DEAD_AXIS, VERDICT_FOUND, FAILED_RUN, OK.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means; the README repeats this table."""

    OK = 0
    FAILED_RUN = 1
    USAGE = 2
    ENVIRONMENT = 3
    DEAD_AXIS = 4
    VERDICT_FOUND = 10
    INTERRUPTED = 130


class ZlBenchError(Exception):
    """An error that a user can act on: what happened, what was kept, what to do next. Never shown as a traceback."""

    exit_code = ExitCode.FAILED_RUN


class UsageError(ZlBenchError):
    """The command line, a configuration file or a recorded root does not fit what was asked."""

    exit_code = ExitCode.USAGE


class EnvironmentUnfit(ZlBenchError):
    """This machine, interpreter or disk can not do what was asked."""

    exit_code = ExitCode.ENVIRONMENT


class DeadAxis(ZlBenchError):
    """The compiler under test does not know the switch."""

    exit_code = ExitCode.DEAD_AXIS
