"""One operator's root on the machine: screened, measured, read, and ready to be measured again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import card_roots
import json_lines

from zl_bench.analysis.wording import one_line
from zl_bench.inside.zl_probe.wire import EVENTS_FILE, read_events
from zl_bench.model import SIDES
from zl_bench.store.layout import MEASURE_FOLDER, MEASURE_RECORD_FILE, MEASURE_TABLE_FILE, RECORD_FILE

NOT_IMPORTED = "each process imports the suite's library for itself, which takes longer:"
"""How the tool says that its sides could not import it once for all."""
LAST_WORDS = 1500


@dataclass(frozen=True)
class Root:
    """`folder` is the root that the tool writes; what is noted about it lies beside it."""

    folder: Path

    @property
    def locks(self) -> Path:
        """Screens of several operators are on one card at once, each with locks of its own."""
        return self.folder.with_name(f"{self.folder.name}.locks")

    def log(self, command: str) -> Path:
        return self.folder.with_name(f"{self.folder.name}.{command}.log")

    @property
    def screened(self) -> dict[str, Any] | None:
        """What was noted of the screen when it had ended, None if it has not."""
        noted = self._noted
        return json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else None

    def note_screened(self, code: int, seconds: float, at_once: int) -> None:
        """The screen has ended: keep how, and what it found."""
        lines = json_lines.read_all([self.folder / RECORD_FILE])
        verdict = {name: value for name, value in (lines[-1] if lines else {}).items() if name != "nodes"}
        told = {"exit": code, "seconds": round(seconds, 1), "at_once": at_once, "verdict": verdict}
        self._noted.write_text(json.dumps(told), encoding="utf-8")

    def clear(self) -> None:
        """Remove what an interrupted screen has left."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.parent.mkdir(parents=True, exist_ok=True)

    def begun(self, *, mirrored: bool) -> bool:
        """Whether it has rounds in that order to go on with; rounds in the other order are removed."""
        record = self.folder / MEASURE_RECORD_FILE
        lines = list(json_lines.read(record)) if record.exists() else []
        if lines and lines[0].get("mirrored", False) == mirrored:
            return True
        self.put_away()
        return False

    def put_away(self) -> None:
        """Make room for another measurement of the same screen. What was measured is in the results."""
        for name in (MEASURE_RECORD_FILE, MEASURE_TABLE_FILE):
            (self.folder / name).unlink(missing_ok=True)
        shutil.rmtree(self.folder / MEASURE_FOLDER, ignore_errors=True)

    def record(self) -> list[dict[str, Any]]:
        """The lines of the measurement."""
        return json_lines.read_all([self.folder / MEASURE_RECORD_FILE])

    def rows(self) -> int | None:
        """How many rows the screen found."""
        rows = (self.screened or {}).get("verdict", {}).get("rows")
        return None if rows is None else int(rows)

    def entered(self) -> list[list[Any]]:
        """Of each process that was measured: round, side, how long it waited, and from being let in to its first latency."""
        return list(self._entered())

    def said(self, command: str) -> str:
        """The last words of a command."""
        return self._logged(command)[-LAST_WORDS:]

    def not_imported(self) -> str:
        """Why the sides could not import the suite's library once, empty if they could."""
        said = self._logged("measure").splitlines()
        return next((one_line(line.partition(NOT_IMPORTED)[2]) for line in said if NOT_IMPORTED in line), "")

    def about(self) -> dict[str, Any]:
        """Cards, versions and the suite's files."""
        return card_roots.about(self.folder)

    @property
    def _noted(self) -> Path:
        return self.folder.with_name(f"{self.folder.name}.json")

    def _logged(self, command: str) -> str:
        log = self.log(command)
        return log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""

    def _entered(self) -> Iterator[list[Any]]:
        for path in sorted(self.folder.glob(f"{MEASURE_FOLDER}/round_*/**/{EVENTS_FILE}")):
            number = int(path.relative_to(self.folder / MEASURE_FOLDER).parts[0].removeprefix("round_"))
            side = next((side for side in SIDES if path.parent.name.endswith(side)), path.parent.name)
            first: dict[str, dict[str, Any]] = {}
            for event in read_events(str(path)):
                first.setdefault(event["event"], event)
            if "entered" in first and "latency" in first:
                gap = first["latency"]["t"] - first["entered"]["t"]
                yield [number, side, first["entered"]["waited_s"], round(gap, 3)]
