"""What a screen was asked to do, kept in its root so that `--resume` can tell whether it is asked the same again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from zl_bench.errors import UsageError
from zl_bench.store.files import write_atomically
from zl_bench.store.layout import REQUEST_FILE

COMPARED_NOT = ("started", "cards", "commands", "revision")


@dataclass(frozen=True)
class ScreenRequest:
    """Everything that a screen's verdicts depend on, as the command line put it, and when it was first asked."""

    switch: str
    target: str | None
    suite: str
    stages: str
    configs: str
    env: Mapping[str, str]
    env_before: Mapping[str, str]
    env_after: Mapping[str, str]
    operators: tuple[str, ...]
    """Operator entries, `name` or `name:dtype`, in the order asked; empty for the whole suite."""
    tool_version: str
    started: str
    """ISO 8601, with the offset from UTC."""
    pins: str | None = None
    self_check: bool = False
    criterion: str = "ttgir"
    shapes: Mapping[str, str] = field(default_factory=dict)
    """The shapes asked for, by the key under which the suite looks for them."""
    shape_file: str | None = None
    """SHA-256 of the file given by --shape-file; what the suite was given to read lies in the root."""
    cards: tuple[Mapping[str, str], ...] = ()
    """Those that were asked for, with `index`, `name`, `uuid` and `pci`; another of the same name may go on."""
    timing: str | None = None
    """The method by which rows are timed, None where nothing is."""
    l2: str | None = None
    """The state of the L2 before each timed call, `cold` or `warm`."""
    side: str | None = None
    """Of runs of one side, which; then `switch` is empty where no switch was named."""
    commands: tuple[str, ...] = ()
    """The command lines that asked for it, with which it was gone on included, as a shell takes them; secrets are hashed."""
    revision: str | None = None
    """The commit that the suite's folder had checked out; its files have a hash of their own, which must be the same."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """More that must be the same on resuming, by the word that a message should use: versions, library hashes."""


def write_request(root: Path, request: ScreenRequest, file: str = REQUEST_FILE) -> None:
    """Write screen.json, or another request of that name. Raises EnvironmentUnfit if the disk refuses."""
    write_atomically(root / file, json.dumps(asdict(request), indent=2) + "\n", kept="nothing was started")


def read_request(root: Path, file: str = REQUEST_FILE) -> ScreenRequest | None:
    """The request of a root, None if it has none. Raises UsageError for one that can not be read."""
    path = root / file
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        known = {entry.name for entry in fields(ScreenRequest)}
        record = {name: value for name, value in record.items() if name in known}
        listed = {
            "operators": tuple(record["operators"]),
            **{name: tuple(record.get(name, ())) for name in ("cards", "commands")},
        }
        return ScreenRequest(**{**record, **listed})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(f"{path} is no request of a screen ({error}). Name another folder with --root.") from error


def differences(recorded: ScreenRequest, asked: ScreenRequest) -> list[str]:
    """What two requests differ in, one sentence each; when they were asked does not matter."""
    sentences: list[str] = []
    for entry in fields(ScreenRequest):
        old, new = getattr(recorded, entry.name), getattr(asked, entry.name)
        if entry.name in COMPARED_NOT or old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            names = [name for name in (*old, *new) if old.get(name) != new.get(name)]
            word = "" if entry.name == "extra" else f"{_word(entry.name)} "
            sentences.extend(
                f"{word}{name} was {_shown(old.get(name))}, now {_shown(new.get(name))}"
                for name in dict.fromkeys(names)
            )
        else:
            sentences.append(f"{_word(entry.name)} was {_shown(old)}, now {_shown(new)}")
    return sentences


def require_same(root: Path, recorded: ScreenRequest, asked: ScreenRequest) -> None:
    """Raise UsageError naming what differs, if resuming `root` would mix answers to two questions."""
    found = differences(recorded, asked)
    if found:
        raise UsageError(
            f"{root} was screened with other settings: {'; '.join(found)}. Nothing was changed. "
            "Ask the same as before to resume, or name another folder with --root."
        )


def _word(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: object) -> str:
    if value is None or value == ():
        return "not given"
    return " ".join(value) if isinstance(value, tuple) else str(value)
