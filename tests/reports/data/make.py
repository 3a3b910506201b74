r"""Makes the root `recorded_screen` that the tests of reports read out of a real one, small and without the machine's names.

    python tests/reports/data/make.py ROOT

ROOT is what this leaves, with Triton 3.6, whose compiler then fails on the operands of matmul:float16:

    zl-bench screen --switch pass:accelerate_matmul --target cuda:90 --root ROOT \
        matmul:float16 matmul:float32 vector_add aten_addcmul vector_add:complex64

Of the stage files those of vector_add's first kernel are kept, and the TTGIR of matmul's, with a path of the same length in the
place of the checkout's. Times and seconds, which are of one day and one machine, become 0 and 1.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MADE = HERE / "recorded_screen"
FOLDERS = ("matmul.float16", "matmul.float32", "vector_add", "aten_addcmul", "vector_add.complex64")
STAGES = {"vector_add": ("ttir", "ttgir", "llir", "ptx", "cubin"), "matmul.float32": ("ttgir",)}
"""Of the first kernel of each folder."""
KEPT = ("input.json", "events.jsonl", "env.json", "outcome.json")
ENVIRONMENT = ("PYTHONHASHSEED", "TRITON", "USE_")
FIXED = {"t": 0.0, "pid": 1, "started": "2026-12-02T12:00:00+00:00", "platform": "Linux-x86_64"}


def main(root: Path) -> None:
    """Replace what is there by what can be made of `root`."""
    shutil.rmtree(MADE, ignore_errors=True)
    MADE.mkdir()
    request = json.loads((root / "screen.json").read_text(encoding="utf-8"))
    suite = Path(request["extra"]["suite folder"])
    (begin,) = _events(root / "aten_addcmul_before", "begin")
    environment, checkout = str(Path(begin["interpreter"]).parents[1]), str(suite.parents[3])
    # The environment may lie in the checkout, so it comes first.
    places = {
        str(root): "/runs/recorded_screen",
        environment: _of_length("/opt/venv", len(environment)),
        checkout: _of_length("/opt/zl", len(checkout)),
    }
    _write(MADE / "screen.json", [request], places)
    _write(MADE / "axis.json", [json.loads((root / "axis.json").read_text(encoding="utf-8"))], places)
    judged = [json.loads(line) for line in (root / "screen.jsonl").read_text(encoding="utf-8").splitlines()]
    # Operators come in the order in which they ended, which is chance.
    _write(MADE / "screen.jsonl", sorted(judged, key=lambda one: request["operators"].index(_entry(one))), places)
    for name, side in ((name, side) for name in FOLDERS for side in ("before", "after")):
        source, target = root / f"{name}_{side}", MADE / f"{name}_{side}"
        target.mkdir()
        if name in STAGES:
            places |= _copy_stages(source, target, STAGES[name], places)
        for kept in KEPT:
            text = (source / kept).read_text(encoding="utf-8")
            _write(target / kept, map(json.loads, text.splitlines() if kept.endswith("l") else [text]), places)


def _copy_stages(source: Path, target: Path, stages: Sequence[str], places: Mapping[str, str]) -> dict[str, str]:
    """Copy stage files of the first kernel; return their hashes with those that they have now, and so their names."""
    first = next(iter(_events(source, "kernel")))
    (target / "ir").mkdir()
    renamed = {}
    for stage in stages:
        reference = first["stages"][stage]
        content = (source / reference["file"]).read_bytes()
        for place, name in places.items():
            if len(place) == len(name):
                content = content.replace(place.encode(), name.encode())
        digest = hashlib.sha256(content).hexdigest()
        (target / "ir" / f"{digest[:24]}.{stage}").write_bytes(content)
        renamed |= {reference["sha256"]: digest, reference["sha256"][:24]: digest[:24]}
    return renamed


def _events(folder: Path, kind: str) -> list[dict[str, Any]]:
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text(encoding="utf-8").splitlines()]
    return [event for event in events if event["event"] == kind]


def _of_length(name: str, length: int) -> str:
    """A name of so many characters: machine code has paths in it, and must stay as long as it was."""
    return name.ljust(length, "-")[:length]


def _entry(judged: dict[str, Any]) -> str:
    return judged["operator"] if judged["dtype"] == "-" else f"{judged['operator']}:{judged['dtype']}"


def _write(path: Path, records: Iterator[Any] | list[Any], places: dict[str, str]) -> None:
    lines = [json.dumps(_plain(record), separators=(",", ":")) for record in records]
    text = "\n".join(lines) + "\n"
    for place, name in places.items():
        text = text.replace(place, name)
    path.write_text(text, encoding="utf-8")


def _plain(value: Any, name: str = "") -> Any:
    """The value without what is of one day or one machine."""
    if name in FIXED:
        return FIXED[name]
    if name == "seconds" and value is not None:
        return 1.0
    if name == "environment" and isinstance(value, dict):
        return {key: text for key, text in value.items() if key.startswith(ENVIRONMENT)}
    if isinstance(value, dict):
        return {key: _plain(item, key) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
