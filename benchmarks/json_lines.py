"""Results kept as one JSON object a line, appended as they come, so that a kill costs at most the one under way."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

PACKED = ".xz"


def read(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a file's whole lines; a last line that a kill cut short is none. Packed files are unpacked."""
    data = path.read_bytes()
    if path.suffix == PACKED:
        data = lzma.decompress(data)
    for line in data[: data.rfind(b"\n") + 1].decode("utf-8").split("\n"):
        if line.strip():
            yield json.loads(line)


def read_all(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The objects of several files, in their order; a file that is not there has none."""
    return [record for path in paths if path.exists() for record in read(path)]


def append(path: Path, record: dict[str, Any]) -> None:
    """Put one object on disk, on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as stream:
        stream.seek(0)
        stream.truncate(stream.read().rfind(b"\n") + 1)
        stream.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        stream.flush()
        os.fsync(stream.fileno())
