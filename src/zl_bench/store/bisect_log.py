"""The log of a bisection: what was asked, then each step with what came of it, so that it can be gone on with.

JSON, one object a line: first `{"asked": {…}}`, then `{"on": [parts], "digest": … | null, "failure": …, "seconds": …}`, or,
where parts are timed, the fields of `Timed` instead of digest and failure. A line that a kill cut short is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from zl_bench.errors import EnvironmentUnfit, UsageError
from zl_bench.model import RowKey


@dataclass(frozen=True)
class Outcome:
    """What a compile came to: the fingerprint of the stage that is judged, None if it was not made, and how it failed."""

    digest: str | None
    failure: str = ""


@dataclass(frozen=True)
class Timed:
    """What the rounds say of one row with some parts on. Without rounds the code was that of the before side."""

    verdict: str
    """A word of `analysis.judgement.SpeedVerdict`; IDENTICAL was not timed."""
    row: RowKey | None = None
    """None where the word is on all rows."""
    rounds: int = 0
    speedup: float | None = None
    ci_low: float | None = None
    ci_high: float | None = None
    mde: float | None = None
    numerics_differ: bool = False


class BisectLog:
    """The log in that file, which need not be there yet."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def steps(self, asked: Mapping[str, Any]) -> dict[tuple[str, ...], Outcome]:
        """What earlier steps of the same question came to, by the parts that were on.

        Raises UsageError if the log is another question's, EnvironmentUnfit if it can not be read or begun.
        """
        return {
            on: Outcome(record.get("digest"), str(record.get("failure") or ""))
            for on, record in self._steps(asked).items()
        }

    def timed_steps(self, asked: Mapping[str, Any]) -> dict[tuple[str, ...], Timed]:
        """The same of a question for which parts are timed."""
        return {on: _timed(record) for on, record in self._steps(asked).items()}

    def add(self, parts: tuple[str, ...], outcome: Outcome | Timed, seconds: float) -> None:
        """Write a step down. Raises EnvironmentUnfit if the disk refuses."""
        self._append({"on": list(parts), **asdict(outcome), "seconds": round(seconds, 2)})

    def _steps(self, asked: Mapping[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines() if self._path.exists() else []
        except OSError as error:
            raise EnvironmentUnfit(f"{self._path} can not be read: {error.strerror or error}.") from error
        records = [record for record in map(_read, lines) if record is not None]
        if not records:
            self._append({"asked": dict(asked)})
            return {}
        if records[0].get("asked") != json.loads(json.dumps(asked)):
            raise UsageError(
                f"{self._path} is the log of another question, of another kernel, goal or compiler. Nothing was run. "
                "Name another file with --log, or remove that one."
            )
        return {tuple(record["on"]): record for record in records[1:] if "on" in record}

    def _append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(record).encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as stream:
                end = stream.seek(0, 2)
                stream.seek(max(0, end - 1))
                cut = stream.read(1) not in (b"", b"\n")
                stream.write((b"\n" if cut else b"") + line + b"\n")
        except OSError as error:
            raise EnvironmentUnfit(
                f"{self._path} can not be written: {error.strerror or error}. The steps before it are kept. Name a file "
                "with --log that can be, or mend this and run the same command again."
            ) from error


def _timed(record: Mapping[str, Any]) -> Timed:
    known = {field.name: record[field.name] for field in fields(Timed) if field.name in record}
    row = known.get("row")
    return Timed(**{**known, "row": None if row is None else RowKey(**row)})


def _read(line: str) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None
