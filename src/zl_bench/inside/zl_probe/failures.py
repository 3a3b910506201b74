"""What is recorded of an exception: the fields of a `row_failed` event, and which row it came out of."""

from collections.abc import Iterator
from typing import Any

import pytest

from .compiling import compile_failure
from .offline.errors import NeedsDevice

MESSAGE_LIMIT = 4_000
RECORD_ATTRIBUTE = "_zl_failed_row"
REFUSAL_ATTRIBUTE = "_zl_dtype_refused"


def fields(error: BaseException) -> dict[str, Any]:
    """phase, message, kernel and stage of a `row_failed` event."""
    error = _reported(error)
    compiler = compile_failure(error)
    message = f"{type(error).__name__}: {str(error)[:MESSAGE_LIMIT]}{_where(error)}"
    if compiler and compiler["cause"]:
        message = f"{message}: {compiler['cause'][:MESSAGE_LIMIT]}"
    return {
        "phase": "compile" if compiler else "run",
        "message": message,
        "kernel": compiler["kernel"] if compiler else "",
        "stage": _place(compiler) if compiler else "",
    }


def mark(error: BaseException, record: dict[str, Any]) -> None:
    """Remember on the exception itself which failed row was recorded for it."""
    vars(error)[RECORD_ATTRIBUTE] = record  # not setattr: an exception may be a frozen dataclass


def row_record(error: BaseException) -> dict[str, Any] | None:
    """The failed row that was recorded for this exception or for one behind it, if any was."""
    return next((dict(vars(one)[RECORD_ATTRIBUTE]) for one in _chain(error) if RECORD_ATTRIBUTE in vars(one)), None)


def mark_refusal(error: BaseException) -> None:
    """Remember on the exception itself that it only says that a dtype is not the operator's."""
    vars(error)[REFUSAL_ATTRIBUTE] = True


def is_refusal(error: BaseException) -> bool:
    """Whether a suite refused the asked dtype by this exception or by one behind it."""
    return any(REFUSAL_ATTRIBUTE in vars(one) for one in _chain(error))


def needed_device(error: BaseException) -> NeedsDevice | None:
    """The stand-in's refusal behind an exception, however often it was caught and raised anew."""
    return next((one for one in _chain(error) if isinstance(one, NeedsDevice)), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The exception and those that it was raised from or while handling, from the last to the first."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _place(compiler: dict[str, Any]) -> str:
    """The stage that failed and, where MLIR named it, the pass."""
    return f"{compiler['stage']} ({compiler['pass']})" if compiler["pass"] else str(compiler["stage"])


def _reported(error: BaseException) -> BaseException:
    """The exception that a suite's `pytest.fail(str(error))` was called for, where it was called for one."""
    while isinstance(error, pytest.fail.Exception) and error.__context__ is not None:
        error = error.__context__
    return error


def _where(error: BaseException) -> str:
    """` (file.py:line)` of the innermost frame; of an assertion of pytest's own nothing is hidden either."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return " ({}:{})".format(trace.tb_frame.f_code.co_filename.rsplit("/", 1)[-1], trace.tb_lineno)
