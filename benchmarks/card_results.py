"""What the visits to a card have left: one object per operator and part, and one per sitting that produced some.

Parts: `null` and `rlc` are pairs on the card, `offline null` and `offline rlc` the same without it, `plain` the plain pytest
runs, `timing` a pair with timing. Of an operator that was done twice the last line counts.
"""

from __future__ import annotations

import io
import json
import lzma
import tarfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import json_lines

SWITCHES = {"null": "DISABLE_LLVM_OPT=0..0", "rlc": "pass:remove_layout_conversions"}
RESULTS, PACKED, LOGS = "results.jsonl", "flaggems_card.jsonl.xz", "logs.tar.xz"
LOG_BYTES, LOGS_BYTES = 100_000, 8_000_000
"""The end of each log that is kept, and of all of them together, before they are compressed."""
Line = dict[str, Any]


class Results:
    """The lines of all visits, read once."""

    def __init__(self, lines: Iterable[Mapping[str, Any]]):
        self.lines = [dict(line) for line in lines]
        self.sittings: dict[str, Line] = {}
        self._done: dict[tuple[str, str], Line] = {}
        for line in self.lines:
            if line["kind"] == "sitting":
                self.sittings[line["sitting"]] = line
            else:
                self._done[line["part"], line["name"]] = line

    def of(self, part: str, name: str) -> Line | None:
        """An operator's line of a part, None where it was not done."""
        return self._done.get((part, name))

    def done(self, part: str) -> list[Line]:
        """The lines of a part, one an operator."""
        return [line for (of, _), line in self._done.items() if of == part]

    def names(self) -> list[str]:
        """The operators that have any line, in the order of their first."""
        return list(dict.fromkeys(name for _, name in self._done))

    def sittings_of(self, part: str) -> list[Line]:
        return [line for line in self.sittings.values() if line["part"] == part]

    def dtype_of(self, name: str) -> str | None:
        """The one dtype that the operator's rows on the card had, None where that is not known or they had several."""
        for part in SWITCHES:
            line = self.of(part, name)
            found = {row["key"][2] for row in line["before"]["rows"]} if line is not None else set()
            if len(found) == 1:
                return str(found.pop())
        return None


def load(paths: Iterable[Path]) -> Results:
    """Of files in their order; one that is named twice or not there counts once or not at all."""
    return Results(json_lines.read_all(dict.fromkeys(paths)))


def pack(work: Path, have: Iterable[Path], out: Path) -> list[Path]:
    """Put two files into `out`: everything that `have` and `work` hold, and the logs of runs that did not end well."""
    results = load([*have, work / RESULTS])
    out.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in results.lines)
    (out / PACKED).write_bytes(lzma.compress(text.encode()))
    kept = 0
    with tarfile.open(out / LOGS, "w:xz") as archive:
        for log in _telling_logs(work):
            content = log.read_bytes()[-LOG_BYTES:]
            kept += len(content)
            if kept > LOGS_BYTES:
                break
            entry = tarfile.TarInfo(str(log.relative_to(work)))
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return [out / PACKED, out / LOGS]


def _telling_logs(work: Path) -> list[Path]:
    """The logs of servers, and of runs that did not end with status 0."""
    runs = []
    for log in sorted(work.glob("roots/*/*/run.log")):
        outcome = log.with_name("outcome.json")
        told = json.loads(outcome.read_text(encoding="utf-8")) if outcome.exists() else {}
        if told.get("kind") != "exited" or told.get("code") != 0:
            runs.append(log)
    return [*sorted(work.glob("roots/*/*.log")), *runs]
