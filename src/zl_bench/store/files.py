"""Writing files so that a reader, and a process killed at any moment, sees the old text or the new one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from zl_bench.errors import EnvironmentUnfit


def write_atomically(path: Path, text: str, *, kept: str) -> None:
    """Replace `path` by `text`. Raises EnvironmentUnfit, which says what was `kept`; the old file then still stands."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with temporary.open("w", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # The disk that refused the file may refuse this too; that error is told.
            temporary.unlink(missing_ok=True)
        raise unwritable(path, error, kept) from error


def append_durably(path: Path, line: str, *, kept: str) -> None:
    """Append one line (without its newline) and wait until it is on disk; a line that does not fit is taken back.

    Raises EnvironmentUnfit, which says what was `kept`.
    """
    try:
        # Unbuffered, because a buffer would write its rest when it is closed, after the line was taken back.
        with path.open("ab", buffering=0) as stream:
            end = stream.seek(0, os.SEEK_END)
            rest = line.encode("utf-8", "backslashreplace") + b"\n"
            try:
                while rest:
                    rest = rest[stream.write(rest) :]
                os.fsync(stream.fileno())
            except OSError:
                os.ftruncate(stream.fileno(), end)
                raise
    except OSError as error:
        raise unwritable(path, error, kept) from error


def unwritable(path: Path, error: OSError, kept: str) -> EnvironmentUnfit:
    """The error for a file that could not be written."""
    return EnvironmentUnfit(
        f"can not write {path}: {error.strerror or error}; {kept}. Make room, or check the permissions, "
        "and run the same command again with --resume."
    )
